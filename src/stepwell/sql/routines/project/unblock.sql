-- The way out: the chain of causes from a unit that does not run to the cause at its root, and what helps there.

-- The causes of a unit, from the unit to the root, 50 at most: each with its sentence, who can act, the call and the command that
-- helps most cheaply, and when it is expected to be over: the time that it waits for, else the end of the step as the newest
-- completed runs of its version had it (past_runs), else null. A unit that the chain has met already ends it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such unit.
create or replace function stepwell.fn_unblock_path(p_unit_id bigint, p_tenant_id int default 1) returns table (
    place int, unit_id bigint, unit_name text, code text, sentence_en text, sentence_vi text, who text, action text, target_id bigint, call_path text,
    needs text[], command text, expected_at timestamptz, past_runs int
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_unit stepwell.work_unit;
    v_found record;
    v_next_id bigint := p_unit_id;
    v_seen_ids bigint[] := '{}'::bigint[];
begin
    for v_place in 1 .. 50 loop
        select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = v_next_id;
        if not found and v_place = 1 then
            raise exception using errcode = 'SW002', message = format('%s does not exist', stepwell._unit_ref(p_unit_id));
        end if;
        v_unit := stepwell._why_unit(v_unit);
        exit when v_unit.unit_id is null or v_unit.unit_id = any (v_seen_ids);
        v_seen_ids := v_seen_ids || v_unit.unit_id;
        select w.code, w.facts, w.who, concat_ws('.', w.code, w.facts ->> 'variant') as cause into v_found from stepwell._why_found(v_unit) as w;
        return query
        select v_place, v_unit.unit_id, stepwell._unit_name(v_unit), v_found.code,
            stepwell._text_fill('why.' || v_found.cause, 'en', v_found.facts), stepwell._text_fill('why.' || v_found.cause, 'vi', v_found.facts),
            v_found.who, h.action, h.target_id, h.call_path, h.needs, h.command, e.expected_at, e.past_runs
        from stepwell._unblock_help(v_unit, v_found.cause, v_found.facts) as h
        cross join lateral stepwell._unblock_expected(v_unit, v_found.facts) as e;
        v_next_id := stepwell._unblock_next(v_unit, v_found.code);
        exit when v_next_id is null;
    end loop;
end
$$;

-- The unit whose cause is the cause of this one; null at the root. Of several the one that needs help most: what is blocked, waits or
-- failed comes before what can run, and that before what runs or has not begun.
create or replace function stepwell._unblock_next(p_unit stepwell.work_unit, p_code text) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select u.unit_id
    from (
        select b.unit_id from stepwell._steps_behind(array[p_unit.tenant_id], array[p_unit.unit_id]) as b where p_code = 'dependency'
        union all
        select p_unit.parent_id where p_code = 'dependency' and p_unit.state_code = 'not_started'
        union all
        select x.unit_id from stepwell.step_run_correction_cycle as c cross join lateral unnest(c.waits_for) as x (unit_id)
        where p_code = 'dependency' and c.tenant_id = p_unit.tenant_id and c.unit_id = p_unit.unit_id and c.closed_at is null
        union all
        select p_unit.unit_id + b.conditional_no - p_unit.def_no
        from stepwell.workflow_step_def as d
        inner join stepwell.workflow_branch as b on d.tenant_id = b.tenant_id and d.version_id = b.version_id and d.branch_no = b.branch_no
        where p_code = 'branch' and d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
        union all
        select w.unit_id from stepwell.work_unit as w
        where p_code in ('subworkflow', 'items') and w.tenant_id = p_unit.tenant_id and w.parent_id = p_unit.unit_id
            and w.scope = case p_code when 'items' then 'step' else 'workflow_run' end
        union all
        select s.unit_id from stepwell._slot_holders(p_unit.tenant_id, p_unit.slot_key) as s
        where p_code in ('concurrency', 'workflow_cap', 'workspace_cap')
    ) as q
    inner join stepwell.work_unit as u on u.tenant_id = p_unit.tenant_id and q.unit_id = u.unit_id
    where not stepwell._has_ended(u.state_code) and not (u.scope = 'workflow_run' and stepwell._run_has_ended(u.state_code))
    order by case when u.state_code in ('blocked', 'cannot_complete') then 1 when u.state_code in ('waiting', 'paused', 'overdue') then 2
        when u.state_code = 'failed' then 3 when u.state_code = 'ready' then 4 when u.state_code = 'in_progress' then 5 else 6 end, u.unit_id
    limit 1
$$;

-- Units that have a slot of this key: leased, or among the first thousand of the queue.
create or replace function stepwell._slot_holders(p_tenant_id int, p_slot_key text) returns table (unit_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select q.unit_id
    from (
        select l.unit_id from stepwell._leased_units(p_tenant_id) as l
        union all
        (select r.unit_id from stepwell.job_ready as r where r.tenant_id = p_tenant_id limit 1000)
    ) as q
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and q.unit_id = u.unit_id and u.slot_key = p_slot_key
$$;

-- The leased units of a tenant. Claims of open sessions name them; a claim may have units of several tenants, so it runs as owner.
create or replace function stepwell._leased_units(p_tenant_id int) returns table (unit_id bigint)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select distinct u.unit_id
    from stepwell.worker_session as s
    inner join stepwell.worker_lease as l on s.session_id = l.session_id
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where s.closed_at is null and q.tenant_id = p_tenant_id and u.lease_session_id = s.session_id
        and (p_tenant_id = (select stepwell.read_tenant()) or (select stepwell._acts_for_all()))
$$;

-- What helps against a cause: the call on the unit or its run, where there is one for units of its kind, and the command. An approval is
-- decided, whatever unit waits for it.
create or replace function stepwell._unblock_help(
    p_unit stepwell.work_unit, p_cause text, p_facts jsonb, out action text, out target_id bigint, out call_path text, out needs text[], out command text
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when p_cause = 'approval' then 'decide' else a.action end,
        case when p_cause = 'approval' then (p_facts ->> 'approval_id')::bigint when a.action is not null then t.unit_id end,
        case when p_cause = 'approval' then format('/approvals/%s/decisions', p_facts ->> 'approval_id')
            else replace(replace(a.call_path, '{unit}', t.unit_id::text), '{run}', stepwell._run_of(t.unit_id)::text) end,
        case when p_cause = 'approval' then '{decision}' else a.needed_fields end,
        stepwell._command_fill(c.command, p_facts || jsonb_build_object('number', stepwell._unit_ref(p_unit.unit_id),
            'run', stepwell._run_of(p_unit.unit_id), 'more', (p_facts ->> 'limit')::int + 1,
            'tenant', (select n.tenant_code from stepwell.tenant as n where n.tenant_id = p_unit.tenant_id),
            'workflow', coalesce(p_facts ->> 'workflow', (select w.workflow_name from stepwell.run_detail as r
                inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
                where r.tenant_id = p_unit.tenant_id and r.run_id = stepwell._run_of(p_unit.unit_id)))))
    from stepwell.why_cause as c
    cross join lateral (select case when c.is_of_run then stepwell._run_unit(stepwell._run_of(p_unit.unit_id)) else p_unit.unit_id end as unit_id) as t
    left join stepwell.unit_action as a on c.action = a.action
        and a.scope = case when c.is_of_run and p_unit.scope in ('step', 'task', 'workflow_run') then 'workflow_run' else p_unit.scope end
    where c.cause = p_cause
$$;

-- A command with these facts in place of the names in braces; null when one of them is missing.
create or replace function stepwell._command_fill(p_command text, p_facts jsonb) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_fact record;
begin
    for v_fact in select f.key, f.value from jsonb_each_text(p_facts) as f where f.value is not null loop
        p_command := replace(p_command, '{' || v_fact.key || '}', v_fact.value);
    end loop;
    return case when p_command !~ '\{[a-z_]+\}' then p_command end;
end
$$;

-- When a cause is expected to be over: at its time, else when its step ended in past runs.
create or replace function stepwell._unblock_expected(
    p_unit stepwell.work_unit, p_facts jsonb, out expected_at timestamptz, out past_runs int
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_steps json;
    v_place int;
begin
    expected_at := (p_facts ->> 'at')::timestamptz;
    if expected_at is not null or p_unit.scope <> 'step' then
        return;
    end if;
    v_steps := stepwell.fn_run_expected_steps(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id));
    select q.ordinality::int into v_place from json_array_elements_text(v_steps -> 'no') with ordinality as q (no)
    where q.no::int = stepwell._unit_no(p_unit.unit_id);
    if found then
        past_runs := (v_steps ->> 'past_runs')::int;
        select r.created_at + make_interval(secs => (v_steps -> 'to' ->> (v_place - 1))::float8 / 1000) into expected_at
        from stepwell.run_detail as r
        where r.tenant_id = p_unit.tenant_id and r.run_id = stepwell._run_of(p_unit.unit_id);
    end if;
end
$$;
