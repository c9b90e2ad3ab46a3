-- Approvals are shown as messages (cards) in Slack. There is no separate outbox: a card is updated whenever it does not
-- show the present state of its approval.

-- The approvals whose message in Slack is missing or outdated. Each is reserved for one notifier until it has stored
-- the result, or the reservation expires.
-- Locks: the cards it takes; cards that another notifier holds are left out.
-- Idempotency: a reserved card is not returned again before its reservation expires.
-- Raises: SW001 when the channel is no channel id or a number is out of range; SW007 for another tenant.
create or replace function stepwell.fn_slack_cards_take(
    p_tenant_id int, p_channel text, p_limit int default 20, p_hold_seconds int default 120
) returns table (approval_id bigint, channel text, message_ts text, try_count int, face text, approval jsonb)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_channel is null or p_channel !~ '^[A-Z][A-Z0-9]{1,30}$' then
        raise exception using errcode = 'SW001', column = 'channel', message = 'channel: the id of a channel is required, not its name',
            hint = 'such as C0123456789; Slack shows it in the details of the channel';
    end if;
    if p_limit not between 1 and 100 or p_hold_seconds not between 1 and 3600 then
        raise exception using errcode = 'SW001', column = case when p_limit between 1 and 100 then 'hold_seconds' else 'limit' end,
            message = case when p_limit between 1 and 100 then 'hold_seconds: 1 to 3600 are accepted'
                else 'limit: 1 to 100 are accepted' end;
    end if;
    insert into stepwell.slack_card (tenant_id, approval_id, channel, next_try_at, created_at)
    select a.tenant_id, a.approval_id, p_channel, v_now, v_now
    from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.decided_at is null
        and not exists (select from stepwell.slack_card as c
            where c.tenant_id = a.tenant_id and c.approval_id = a.approval_id)
    order by a.approval_id
    limit p_limit
    on conflict do nothing;
    return query
    with due as materialized (
        select c.tenant_id, c.approval_id, stepwell._slack_card_face(c.tenant_id, c.approval_id) as face
        from stepwell.slack_card as c
        where c.tenant_id = p_tenant_id and not c.is_final and c.next_try_at <= v_now
            and c.face is distinct from stepwell._slack_card_face(c.tenant_id, c.approval_id)
        order by c.approval_id
        limit p_limit
        for update of c skip locked
    )
    update stepwell.slack_card as c set
        try_count = c.try_count + 1, next_try_at = v_now + make_interval(secs => p_hold_seconds)
    from due as d
    where c.tenant_id = d.tenant_id and c.approval_id = d.approval_id
    returning c.approval_id, c.channel, c.message_ts, c.try_count, d.face,
        stepwell._slack_card_approval(c.tenant_id, c.approval_id);
end
$$;

-- Stores the result of showing an approval in Slack: the message and what it shows, or why it could not be shown. Then
-- it is tried again, with a growing delay.
-- Locks: the card, then the histogram of its lag.
-- Idempotency: the same result again changes only its time.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_slack_card_note(
    p_tenant_id int, p_approval_id bigint, p_message_ts text default null, p_face text default null,
    p_is_final boolean default false, p_error text default null, p_retry_seconds int default null
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_lag interval;
begin
    p_error := stepwell._redact_text(p_error);
    perform stepwell._tenant_bound(p_tenant_id);
    -- How long Slack was behind: since the approval was requested, had its last vote, or was decided.
    select stepwell.now() - greatest(a.requested_at, a.decided_at, (
        select max(v.voted_at) from stepwell.approval_vote as v where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id))
    into v_lag
    from stepwell.slack_card as c
    inner join stepwell.approval_detail as a on c.tenant_id = a.tenant_id and c.approval_id = a.approval_id
    where c.tenant_id = p_tenant_id and c.approval_id = p_approval_id and p_error is null and c.face is distinct from p_face and p_face is not null;
    update stepwell.slack_card as c set
        message_ts = coalesce(p_message_ts, c.message_ts),
        face = coalesce(p_face, c.face),
        is_final = c.is_final or p_is_final,
        last_error = left(p_error, 2000),
        try_count = case when p_error is null then 0 else c.try_count end,
        next_try_at = case when p_error is null then stepwell.now() else stepwell.now() + make_interval(secs => greatest(
            coalesce(p_retry_seconds, 0), least(2 ^ least(c.try_count, 20), stepwell._limit('slack.card_retry_seconds')))) end,
        noted_at = stepwell.now()
    where c.tenant_id = p_tenant_id and c.approval_id = p_approval_id;
    if v_lag is not null then
        perform stepwell._lag_note(p_tenant_id, 'approvals', 'slack', array[v_lag]);
    end if;
end
$$;

-- An approval with the names that a message needs: its workflow, and its step or job.
create or replace function stepwell._slack_card_approval(p_tenant_id int, p_approval_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select to_jsonb(a) || jsonb_build_object(
        'expires_epoch', extract(epoch from a.expires_at)::bigint,
        'decided_epoch', extract(epoch from a.decided_at)::bigint,
        'subject', (select stepwell._unit_name(u) from stepwell.work_unit as u
            where u.tenant_id = a.tenant_id and u.unit_id = a.subject_unit_id),
        'workflow', (select w.workflow_name from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = a.tenant_id and r.run_id = a.run_id))
    from stepwell.v_approval as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
$$;

-- What a message about an approval should show, in short: its state, how many have decided, and the digest of the question.
create or replace function stepwell._slack_card_face(p_tenant_id int, p_approval_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select u.state_code || ':' || (select count(*) from stepwell.approval_vote as v
        where v.tenant_id = u.tenant_id and v.approval_id = u.unit_id) || ':' || stepwell._approval_shown(a)
    from stepwell.work_unit as u
    inner join stepwell.approval_detail as a on u.tenant_id = a.tenant_id and u.unit_id = a.approval_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_approval_id
$$;
