-- What the frame of the console and its lists show beside their rows: how much waits, and what an act on many runs would reach.

-- How much waits for the caller: approvals that are not decided, steps in the inbox of this person, open problems, and open runs
-- that are red. Each is counted up to 1,000.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing of its own.
create or replace function stepwell.fn_navigation_counts(p_tenant_id int, p_person text) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    select json_build_object(
        'approvals', (select count(*) from (select from stepwell.approval_detail as a
            where a.tenant_id = p_tenant_id and a.decided_at is null limit 1000) as x),
        'inbox', case when exists (select from stepwell.person as p
            where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_person) and p.is_active)
            then (select count(*) from stepwell.fn_inbox_read(p_tenant_id, p_person, null, 1000)) else 0 end,
        'problems', (select least(coalesce(sum(g.open_count), 0), 1000) from stepwell.governance_count as g where g.tenant_id = p_tenant_id))
$$;

-- What pausing, cancelling or retrying these runs would reach, at this position of the log: open sub-runs, steps, handlers that
-- work now, approvals that are asked, people in charge, and effects that were made. Nothing is written.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for an unknown act, for no run or for more than 200.
create or replace function stepwell.fn_runs_reach(p_tenant_id int, p_act text, p_run_ids bigint[]) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids bigint[];
    v_all_ids bigint[];
begin
    if p_act is null or p_act not in ('pause', 'resume', 'cancel', 'retry') then
        raise exception using errcode = 'SW001', column = 'act', message = 'act: pause, resume, cancel and retry are accepted';
    end if;
    if coalesce(cardinality(p_run_ids), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', column = 'run', message = 'run: 1 to 200 numbers are accepted';
    end if;
    v_run_ids := array(select r.run_id from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = any (p_run_ids) order by r.run_id);
    v_all_ids := array(select distinct x.run_id from (
        select unnest(v_run_ids) as run_id
        union all
        select unnest(stepwell._subruns_open(p_tenant_id, r.run_id, null)) from unnest(v_run_ids) as r (run_id)) as x);
    return (
        with unit as materialized (
            select u.unit_id, u.state_code, u.lease_session_id, u.pic_id, s.is_terminal
            from unnest(v_all_ids) as r (run_id)
            inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.scope = 'step'
                and u.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_unit(r.run_id + 1) - 1
            inner join stepwell.state_def as s on u.state_machine_id = s.state_machine_id and u.state_code = s.state_code
        ), effect as materialized (
            select a.connector, a.operation, a.target, a.reversible, u.last_transition_at as at, a.receipt_id
            from stepwell.action_receipt as a
            inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.receipt_id = u.unit_id
            where a.tenant_id = p_tenant_id and a.run_id = any (v_all_ids) and a.writes and u.state_code = 'confirmed'
                and a.reversed_by_receipt_id is null and a.reverses_receipt_id is null
        ), person as (
            select distinct u.pic_id from unit as u where u.pic_id is not null and not u.is_terminal
        )
        select json_build_object('act', p_act, 'position', pg_current_snapshot()::text,
            'last_event_id', (select max(e.event_id) from stepwell.event_log as e where e.tenant_id = p_tenant_id and e.run_id = any (v_all_ids)),
            -- Each run is asked as its own page asks it: what would be refused now, and why.
            'refused', (select coalesce(json_agg(json_build_object('run_id', r.run_id::text, 'kind', a.value #>> '{reason,kind}',
                    'en', a.value #>> '{reason,en}', 'vi', coalesce(a.value #>> '{reason,vi}', a.value #>> '{reason,en}')) order by r.run_id), '[]')
                from unnest(v_run_ids) as r (run_id)
                cross join lateral json_array_elements(stepwell.fn_actions_read(p_tenant_id, stepwell._run_unit(r.run_id))) as a
                where a.value ->> 'action' = p_act and not (a.value ->> 'allowed')::boolean),
            'runs', cardinality(v_run_ids), 'missing', cardinality(p_run_ids) - cardinality(v_run_ids),
            'sub_runs', cardinality(v_all_ids) - cardinality(v_run_ids),
            'open_steps', (select count(*) from unit as u where not u.is_terminal),
            'dead_steps', (select count(*) from unit as u where u.state_code = 'cannot_complete'),
            'handlers', (select count(*) from unit as u where u.lease_session_id is not null and not u.is_terminal),
            'approvals', (select count(*) from stepwell.approval_detail as a where a.tenant_id = p_tenant_id and a.decided_at is null
                and (a.subject_unit_id in (select u.unit_id from unit as u)
                    or a.subject_unit_id in (select stepwell._run_unit(r.run_id) from unnest(v_all_ids) as r (run_id)))),
            'people', (select coalesce(json_agg(stepwell._person_name(p_tenant_id, p.pic_id) order by p.pic_id), '[]') from person as p),
            'effects', json_build_object('reversible', (select count(*) from effect as e where e.reversible),
                'final', (select count(*) from effect as e where not e.reversible),
                'newest_final', (select coalesce(json_agg(json_build_object('connector', f.connector, 'operation', f.operation, 'target', f.target, 'at', f.at)
                    order by f.receipt_id desc), '[]')
                    from (select e.* from effect as e where not e.reversible order by e.receipt_id desc limit 3) as f))));
end
$$;
