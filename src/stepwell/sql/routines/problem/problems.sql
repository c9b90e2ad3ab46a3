-- Problems: what is wrong and needs somebody. A problem is opened and closed only together with an event of the same
-- transaction, so that nothing turns green by itself.

-- Opens a problem, or notes that an open one was met again. Returns when what it is about may be tried again: each time
-- it is met the wait doubles, up to problem.retry_max_seconds.
-- Locks: the row of the open problem.
create or replace function stepwell._problem_open(
    p_tenant_id int, p_category text, p_duty text, p_subject text, p_unit_id bigint, p_error_code text, p_reason text
) returns timestamptz
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_first constant int := stepwell._limit('problem.retry_seconds');
    v_most constant int := stepwell._limit('problem.retry_max_seconds');
    v_reason constant text := left(coalesce(nullif(p_reason, ''), 'no reason is known'), 2000);
    v_retry_at timestamptz;
    v_event_id bigint;
begin
    update stepwell.governance_problem as p
    set seen_count = p.seen_count + 1, last_seen_at = v_now, reason = v_reason, error_code = p_error_code,
        retry_at = v_now + make_interval(secs => least(v_first * 2.0 ^ least(p.seen_count, 20), v_most))
    where p.tenant_id = p_tenant_id and p.category_code = p_category and p.duty = p_duty and p.subject = p_subject
        and p.closed_at is null
    returning p.retry_at into v_retry_at;
    if found then
        return v_retry_at;
    end if;
    v_event_id := stepwell._event_append(p_tenant_id, coalesce(p_unit_id, 0), 'problem.opened', 'engine',
        jsonb_strip_nulls(jsonb_build_object('category', p_category, 'duty', p_duty, 'subject', p_subject,
            'reason', v_reason, 'error_code', p_error_code)));
    insert into stepwell.governance_problem (
        tenant_id, category_code, duty, subject, unit_id, reason, error_code, since_at, opened_at, last_seen_at, retry_at, opened_event_id)
    values (p_tenant_id, p_category, p_duty, p_subject, p_unit_id, v_reason, p_error_code, v_now, v_now, v_now,
        v_now + make_interval(secs => least(v_first, v_most)), v_event_id)
    returning retry_at into v_retry_at;
    return v_retry_at;
end
$$;

-- Closes one open problem with an event that says what settled it.
-- Locks: the row of the problem.
create or replace function stepwell._problem_close(p_tenant_id int, p_problem_id bigint, p_actor text, p_reason text)
returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem stepwell.governance_problem;
    v_event_id bigint;
begin
    select p.* into v_problem
    from stepwell.governance_problem as p
    where p.tenant_id = p_tenant_id and p.problem_id = p_problem_id and p.closed_at is null
    for update;
    if not found then
        return false;
    end if;
    v_event_id := stepwell._event_append(p_tenant_id, coalesce(v_problem.unit_id, 0), 'problem.resolved', p_actor,
        jsonb_build_object('problem_id', p_problem_id, 'reason', p_reason));
    update stepwell.governance_problem as p
    set closed_at = stepwell.now(), closed_event_id = v_event_id, closed_by = p_actor
    where p.tenant_id = p_tenant_id and p.problem_id = p_problem_id;
    return true;
end
$$;

-- Somebody says that a problem is settled. What was set aside is tried again at its time.
-- Locks: the row of the problem.
-- Idempotency: a problem is closed once.
-- Raises: SW001 without a reason; SW002 when there is no such problem; SW003 when it is closed; SW007 for another tenant.
create or replace function stepwell.fn_problem_close(p_tenant_id int, p_problem_id bigint, p_actor text, p_reason text)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'problem.close');
    if coalesce(p_reason, '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: say in words what settled the problem';
    end if;
    if not exists (select from stepwell.governance_problem as p
        where p.tenant_id = p_tenant_id and p.problem_id = p_problem_id
            and stepwell.unit_is_shown(p.tenant_id, p.unit_id, stepwell.hidden_steps())) then
        raise exception using errcode = 'SW002', message = format('problem %s does not exist', p_problem_id);
    end if;
    if not stepwell._problem_close(p_tenant_id, p_problem_id, p_actor, left(p_reason, 2000)) then
        raise exception using errcode = 'SW003', message = format('problem %s is closed already', p_problem_id);
    end if;
end
$$;

-- Closes the problems whose subject goes on: the unit ended, changed its state after the problem was last met, or has no
-- timer left that could not fire; the replay has its outcome; what is too old was removed; the schedule fired or is gone;
-- the rates were returned; the log was sealed. Parts of a sweep or of a look close theirs themselves. Returns how many it
-- closed.
-- Locks: the rows of the problems.
-- Idempotency: a problem is closed once.
-- Raises: nothing.
create or replace function stepwell.fn_problems_settle(p_limit int default 500) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_settled record;
    v_count int := 0;
begin
    for v_settled in
        select p.tenant_id, p.problem_id
        from stepwell.governance_problem as p
        left join stepwell.work_unit as u on p.tenant_id = u.tenant_id and p.unit_id = u.unit_id
        where p.closed_at is null and p.category_code = 'set_aside' and case
            when p.duty = 'replays' then not exists (select from stepwell.dlq_replay_request as r
                where r.tenant_id = p.tenant_id and r.replay_request_id = p.subject::bigint and r.replay_state = 'scheduled')
            when p.duty = 'retention' then p.unit_id is not null and u.unit_id is null
            when p.unit_id is not null then u.unit_id is null or u.last_transition_at > p.last_seen_at
                or stepwell._has_ended(u.state_code)
                or (p.duty = 'timers' and not exists (select from stepwell.timer as t
                    where t.tenant_id = p.tenant_id and t.unit_id = p.unit_id and t.due_at <= p.retry_at))
            when p.duty = 'schedule' then not exists (select from stepwell.workflow_schedule as s
                where s.tenant_id = p.tenant_id and s.schedule_name = p.subject and not s.is_paused
                    and (s.next_at is null or s.next_at <= p.last_seen_at))
            when p.duty = 'refresh' then exists (select from stepwell.job_workflow_detail as w
                where w.tenant_id = p.tenant_id and w.refreshed_at > p.last_seen_at)
            when p.duty = 'rates' then not exists (select from stepwell.rate_token as k where k.back_at <= p.last_seen_at)
            -- Each failure moves the time of the next try on.
            when p.duty = 'holds' then p.retry_at < stepwell.now() - interval '2 minutes'
            when p.duty = 'seal' then exists (select from stepwell.audit_chain as c
                where c.tenant_id = p.tenant_id and c.sealed_at > p.last_seen_at)
            else false end
        order by p.tenant_id, p.problem_id
        limit least(p_limit, 1000)
    loop
        v_count := v_count + stepwell._problem_close(v_settled.tenant_id, v_settled.problem_id, 'keeper', 'it goes on')::int;
    end loop;
    return v_count;
end
$$;

-- The key of the text that says what helps against one integrity warning; null where it is that of the category.
create or replace function stepwell._problem_remedy(p_category text, p_subject text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_category <> 'integrity_warning' then null
        when p_subject like 'invariant:%' then 'integrity.remedy.' || split_part(p_subject, ':', 2)
        when p_subject like 'content:%' then 'problem.remedy.content_warning'
        when p_subject like 'problem:%' then 'problem.remedy.silent_flip' end
$$;

-- Problems with their words in both languages.
create or replace view stepwell.v_governance_problem with (security_invoker = true) as
select
    p.tenant_id,
    p.problem_id,
    p.category_code,
    c.severity,
    p.duty,
    coalesce(p.title, p.subject) as subject,
    nullif(stepwell._run_of(p.unit_id), 0) as run_id,
    p.unit_id,
    p.reason,
    p.error_code,
    p.seen_count,
    p.since_at,
    p.opened_at,
    p.last_seen_at,
    -- What the keeper only found is not tried again.
    case when p.closed_at is null and p.duty <> 'watch' then p.retry_at end as retry_at,
    p.closed_at,
    p.closed_by,
    p.opened_event_id,
    p.closed_event_id,
    l.label_en,
    l.label_vi,
    l.remedy_en,
    l.remedy_vi
from stepwell.governance_problem as p
inner join stepwell.governance_category as c on p.category_code = c.category_code
cross join lateral (
    select
        max(t.text_value) filter (where t.text_key = c.ui_label_i18n_key and t.lang = 'en') as label_en,
        max(t.text_value) filter (where t.text_key = c.ui_label_i18n_key and t.lang = 'vi') as label_vi,
        max(t.text_value) filter (where t.text_key = r.remedy_key and t.lang = 'en') as remedy_en,
        max(t.text_value) filter (where t.text_key = r.remedy_key and t.lang = 'vi') as remedy_vi
    from (select coalesce(stepwell._problem_remedy(p.category_code, p.subject), c.remedy_i18n_key) as remedy_key) as r
    inner join stepwell.i18n_text as t on t.text_key in (c.ui_label_i18n_key, r.remedy_key)
) as l;

-- Refuses a problem that is opened or closed without its event in the same transaction, and one that is deleted while it
-- is open; for the owner too.
-- Raises: SW007.
create or replace function stepwell._problem_check() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    if tg_op = 'DELETE' then
        if old.closed_at is not null then
            return old;
        end if;
    elsif tg_op = 'INSERT' then
        if new.closed_at is null and stepwell._event_is_mine(new.tenant_id, new.opened_event_id, 'problem.opened') then
            return new;
        end if;
    elsif (new.tenant_id, new.problem_id, new.opened_event_id) = (old.tenant_id, old.problem_id, old.opened_event_id)
        and old.closed_at is null
        and (new.closed_at is null or stepwell._event_is_mine(new.tenant_id, new.closed_event_id, 'problem.resolved')) then
        return new;
    end if;
    raise exception using errcode = 'SW007',
        message = format('a problem is opened and closed only by an event of the same transaction: %s is refused', lower(tg_op));
end
$$;
create or replace trigger problems_change_by_events
before insert or update or delete on stepwell.governance_problem
for each row execute function stepwell._problem_check();

-- Whether this transaction has appended this event.
create or replace function stepwell._event_is_mine(p_tenant_id int, p_event_id bigint, p_event_type text) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return exists (
        select from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.tx = pg_current_xact_id_if_assigned() and e.event_id = p_event_id
            and e.event_type = p_event_type);
end
$$;
