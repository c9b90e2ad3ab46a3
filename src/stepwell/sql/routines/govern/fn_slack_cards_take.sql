-- Purpose: the approvals whose message in Slack is missing or behind, each held for one notifier until it has noted what came
--   of it, or the hold is over. The state is the outbox: whatever happened meanwhile, what is shown catches up with it.
-- Locks: the cards it takes; those that another notifier holds are passed over.
-- Idempotency: what is held is not handed out again before its time.
-- Raises: SW001 for a channel that is none or a number out of bounds; SW007 for another tenant.
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
        raise exception using errcode = 'SW001', column = 'channel', message = 'channel: the id of a channel is required',
            hint = 'such as C0123456789; Slack shows it among the details of the channel';
    end if;
    if p_limit not between 1 and 100 or p_hold_seconds not between 1 and 3600 then
        raise exception using errcode = 'SW001', column = 'limit',
            message = 'limit: 1 to 100 is accepted; hold_seconds: 1 to 3600';
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
