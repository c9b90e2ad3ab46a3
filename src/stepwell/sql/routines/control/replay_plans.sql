-- Plans that replay many dead letters: proposed over a filter with their reach, approved once, carried out by the keeper in
-- stages. A plan stops by itself when a failure comes back; what it has begun goes on.

-- Proposes to replay the dead letters of a filter. A small plan needs one approval, a large one, or one whose effects cannot be
-- undone, that of two people. p_stages has the sizes of the first stages; the rest is the last stage.
-- Locks: none beyond the new rows.
-- Idempotency: none; a letter whose replay waits for an approval is refused.
-- Raises: SW001 for a wrong filter, stage or reason; SW002 when no dead letter can be replayed; SW003 when a replay of one of them
--   waits for its approval; SW006 for more letters than limits.replay_letters; SW007 when the actor may not, or for another tenant.
create or replace function stepwell.fn_replay_propose(
    p_tenant_id int, p_filter jsonb, p_actor text, p_reason text, p_stages int[] default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
    v_now constant timestamptz := stepwell.now();
    v_plan_id constant bigint := stepwell._run_unit(nextval('stepwell.run_seq'));
    v_limit constant int := stepwell._limit('limits.replay_letters');
    v_stages constant int[] := coalesce(p_stages, array(select jsonb_array_elements_text(c.config_value)::int
        from stepwell.dot_config as c where c.config_key = 'replay.stage_sizes'));
    v_unit_ids bigint[];
    v_reach json;
    v_quorum int;
    v_approval_id bigint;
    v_waiver text;
begin
    p_reason := stepwell._redact_text(p_reason);
    if coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: say in words why a replay helps now';
    end if;
    if cardinality(v_stages) > 5 or exists (select from unnest(v_stages) as s (size) where s.size not between 1 and v_limit or s.size is null) then
        raise exception using errcode = 'SW001', column = 'stages', message = format('stages: at most 5 numbers from 1 to %s are accepted', v_limit);
    end if;
    perform stepwell._letters_filter_check(p_filter);
    perform stepwell._secret_refuse('filter', f.value) from jsonb_each_text(p_filter) as f (key, value);
    v_unit_ids := array(select l.unit_id from stepwell._letters_chosen(p_tenant_id, p_filter, v_limit + 1) as l);
    if cardinality(v_unit_ids) = 0 then
        raise exception using errcode = 'SW002', column = 'filter', message = 'filter: no dead letter that can be replayed has these values';
    end if;
    if cardinality(v_unit_ids) > v_limit then
        raise exception using errcode = 'SW006', column = 'filter', message = format('filter: more than %s dead letters; a narrower filter is required', v_limit);
    end if;
    perform stepwell._replay_check(p_tenant_id, v_unit_ids);
    v_reach := stepwell._replay_rehearsed(p_tenant_id, v_unit_ids);
    v_quorum := (v_reach ->> 'quorum')::int;
    insert into stepwell.work_unit (tenant_id, unit_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_plan_id, v_now, v_now, 'proposal', stepwell._machine_of('proposal'), 'draft');
    perform stepwell._event_born(p_tenant_id, v_plan_id, 'proposal.drafted', 'draft', v_actor,
        jsonb_build_object('kind', 'replay', 'letters', cardinality(v_unit_ids)), 'pic_human', null, v_now);
    perform stepwell._units_move(array[p_tenant_id], array[v_plan_id], 'submitted', 'pic_human', 'rpc', 'proposal_submit', v_actor,
        array[jsonb_build_object('audit_ref', 'actor:' || v_actor)]);
    -- No setting waives the agreement of two people.
    v_approval_id := stepwell._approval_request(p_tenant_id, case v_quorum when 1 then 'replay' else 'replay_plan' end, v_plan_id,
        v_actor, p_reason, case v_quorum when 1 then 1 else 2 end, v_quorum, p_about => jsonb_build_object('kind', 'replay',
            'letters', v_reach -> 'letters', 'runs', v_reach -> 'runs', 'effects', v_reach -> 'effects', 'stages', to_jsonb(v_stages)));
    perform stepwell._units_move(array[p_tenant_id], array[v_plan_id], 'review', 'system', 'event', 'approval_requested', 'engine');
    insert into stepwell.dlq_replay_plan (tenant_id, plan_id, approval_id, plan_state, letter_filter, letter_count, stages, reach,
        requested_by, reason, requested_at)
    values (p_tenant_id, v_plan_id, v_approval_id, 'submitted', p_filter, cardinality(v_unit_ids), v_stages, v_reach::jsonb,
        v_actor, left(p_reason, 2000), v_now);
    perform stepwell._plan_requests_add(p_tenant_id, v_plan_id, v_approval_id, v_unit_ids, v_stages, v_actor, p_reason);
    v_waiver := case when v_quorum = 1 then stepwell._approval_waiver('replay') end;
    if v_waiver is not null then
        perform stepwell._approval_end(p_tenant_id, v_approval_id, 'approved', 'engine', v_waiver);
        perform stepwell._waiver_tell(p_tenant_id, v_plan_id, 'replay');
        perform stepwell._approval_settle(p_tenant_id, v_approval_id, v_actor);
    end if;
    return jsonb_build_object('plan_id', v_plan_id::text, 'approval_id', v_approval_id::text, 'letters', cardinality(v_unit_ids),
        'quorum', v_quorum, 'state', case when v_waiver is null then 'submitted' else 'running' end, 'is_waiting', v_waiver is null);
end
$$;

-- One request for each unit that the letters of a plan need, with the number of its stage; a letter inside a Map takes the dead
-- Map along. All requests of one run are in one stage.
create or replace function stepwell._plan_requests_add(
    p_tenant_id int, p_plan_id bigint, p_approval_id bigint, p_unit_ids bigint[], p_stages int[], p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_request record;
begin
    for v_request in
        with need as (
            select s.unit_id, min(l.place) as run_place
            from stepwell._letter_places(p_unit_ids) as l
            cross join lateral unnest(stepwell._replay_set(p_tenant_id, l.unit_id)) as s (unit_id)
            group by s.unit_id
        )
        insert into stepwell.dlq_replay_request (
            tenant_id, unit_id, approval_id, proposal_state, idempotency_key, requested_by, reason, requested_at, plan_id, stage_no)
        select p_tenant_id, n.unit_id, p_approval_id, 'submitted', format('replay:%s:%s:%s', n.unit_id, u.lease_no, p_approval_id),
            p_actor, p_reason, stepwell.now(), p_plan_id, stepwell._stage_of(n.run_place, p_stages)
        from need as n
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = n.unit_id
        order by n.run_place, n.unit_id
        returning unit_id, replay_request_id
    loop
        perform stepwell._event_append(p_tenant_id, v_request.unit_id, 'dlq_replay.proposed', p_actor,
            jsonb_build_object('replay_request_id', v_request.replay_request_id, 'approval_id', p_approval_id), 'reviewer');
    end loop;
end
$$;

-- Carries plans on: begins the next stage when every replay of the one before has completed, in parts of p_limit, and stops a
-- plan when a replay failed or an attempt of one did. Runs that somebody has locked are tried again later. Returns how many
-- letters were begun. The keeper calls this.
-- Locks: the plan, without those that another keeper holds; then runs and jobs, without waiting.
-- Idempotency: a request is carried out once.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_replay_plans_carry(p_limit int default 100) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_plan stepwell.dlq_replay_plan;
    v_problem text;
    v_count int := 0;
begin
    for v_plan in
        select p.* from stepwell.dlq_replay_plan as p where p.plan_state = 'running'
        order by p.tenant_id, p.plan_id limit 10
        for update skip locked
    loop
        v_problem := stepwell._plan_problem(v_plan.tenant_id, v_plan.plan_id);
        if v_problem is not null then
            perform stepwell._plan_stop(v_plan.tenant_id, v_plan.plan_id, 'keeper', v_problem);
            continue;
        end if;
        if not exists (select from stepwell.dlq_replay_request as r where r.tenant_id = v_plan.tenant_id and r.plan_id = v_plan.plan_id
            and r.stage_no <= v_plan.stage_no and (r.proposal_state = 'approved' and r.replay_state is null or r.replay_state = 'scheduled')) then
            if not stepwell._plan_stage_begin(v_plan) then
                continue;
            end if;
            v_plan.stage_no := (v_plan.stage_no + 1)::smallint;
        end if;
        v_count := v_count + stepwell._plan_part_carry(v_plan, least(p_limit, 500));
    end loop;
    return v_count;
end
$$;

-- Why a running plan must stop: a replay of it ended without success, or an attempt after its replay failed. Null: it goes on.
create or replace function stepwell._plan_problem(p_tenant_id int, p_plan_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when r.replay_state = 'failed' then format('%s ended again: %s', stepwell._title_of(p_tenant_id, r.unit_id), r.outcome_jsonb ->> 'state')
        else format('%s failed again: %s', stepwell._title_of(p_tenant_id, r.unit_id), coalesce(f.error ->> 'message', f.failure_class)) end
    from stepwell.dlq_replay_request as r
    left join lateral (
        select x.error, x.failure_class from stepwell.unit_failure as x
        where x.tenant_id = r.tenant_id and x.unit_id = r.unit_id and x.failed_at >= r.scheduled_at
        order by x.failed_at limit 1
    ) as f on r.replay_state in ('scheduled', 'completed')
    where r.tenant_id = p_tenant_id and r.plan_id = p_plan_id and r.scheduled_at is not null
        and (r.replay_state = 'failed' or f.failure_class is not null)
    order by r.replay_request_id
    limit 1
$$;

-- Begins the next stage of a plan, or ends the plan after its last one. False: it has ended.
-- Locks: the caller holds the plan.
create or replace function stepwell._plan_stage_begin(p_plan stepwell.dlq_replay_plan) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_stage record;
begin
    select min(r.stage_no) as no, count(*) filter (where r.stage_no = q.first_no) as count into v_stage
    from stepwell.dlq_replay_request as r
    cross join lateral (
        select min(x.stage_no) as first_no from stepwell.dlq_replay_request as x
        where x.tenant_id = p_plan.tenant_id and x.plan_id = p_plan.plan_id and x.proposal_state = 'approved' and x.replay_state is null
    ) as q
    where r.tenant_id = p_plan.tenant_id and r.plan_id = p_plan.plan_id and r.proposal_state = 'approved' and r.replay_state is null;
    if v_stage.no is null then
        update stepwell.dlq_replay_plan as p set plan_state = 'completed', ended_at = stepwell.now(), ended_because = 'every letter was replayed'
        where p.tenant_id = p_plan.tenant_id and p.plan_id = p_plan.plan_id;
        perform stepwell._event_append(p_plan.tenant_id, p_plan.plan_id, 'dlq_replay.plan_completed', 'keeper', jsonb_build_object('count', (
            select count(*) from stepwell.dlq_replay_request as r where r.tenant_id = p_plan.tenant_id and r.plan_id = p_plan.plan_id
                and r.replay_state = 'completed')));
        return false;
    end if;
    update stepwell.dlq_replay_plan as p set stage_no = v_stage.no, stage_at = stepwell.now()
    where p.tenant_id = p_plan.tenant_id and p.plan_id = p_plan.plan_id;
    perform stepwell._event_append(p_plan.tenant_id, p_plan.plan_id, 'dlq_replay.stage_started', 'keeper',
        jsonb_build_object('stage', v_stage.no, 'count', v_stage.count));
    return true;
end
$$;

-- Carries out a part of the present stage of a plan, run by run. A unit that is not dead any more, because somebody else retried or
-- cancelled it, is left out, and its request says so. Returns how many requests were carried out.
-- Locks: the caller holds the plan; runs and jobs without waiting.
create or replace function stepwell._plan_part_carry(p_plan stepwell.dlq_replay_plan, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part record;
    v_locked record;
    v_run record;
    v_count int := 0;
begin
    select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id) as unit_ids into v_part
    from (
        select r.tenant_id, r.unit_id from stepwell.dlq_replay_request as r
        inner join stepwell.dlq_replay_plan as p on r.tenant_id = p.tenant_id and r.plan_id = p.plan_id
        where r.tenant_id = p_plan.tenant_id and r.plan_id = p_plan.plan_id and r.stage_no = p.stage_no
            and r.proposal_state = 'approved' and r.replay_state is null
        order by r.replay_request_id limit p_limit
    ) as q;
    if v_part.unit_ids is null then
        return 0;
    end if;
    v_locked := stepwell._units_lock_free(v_part.tenant_ids, v_part.unit_ids);
    for v_run in
        select stepwell._run_of(r.unit_id) as run_id, array_agg(r.replay_request_id) as request_ids, bool_and(u.state_code = 'cannot_complete'
            and (n.state_code is null or n.scope <> 'workflow_run' or n.state_code not in ('completed', 'cancelled'))) as is_dead
        from stepwell.dlq_replay_request as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
        left join stepwell.work_unit as n on u.tenant_id = n.tenant_id and stepwell._run_unit(stepwell._run_of(u.unit_id)) = n.unit_id
        where r.tenant_id = p_plan.tenant_id and r.plan_id = p_plan.plan_id and r.unit_id = any (v_locked.unit_ids)
        group by 1 order by 1
    loop
        if v_run.is_dead then
            begin
                perform stepwell._replay_carry(p_plan.tenant_id, p_plan.approval_id, v_run.request_ids, p_plan.requested_by);
                v_count := v_count + cardinality(v_run.request_ids);
            exception when others then
                if not stepwell._is_fault_of_row(sqlstate) then
                    raise;
                end if;
                -- A replay that is refused counts as a failure: the plan stops.
                update stepwell.dlq_replay_request as r set replay_state = 'failed', scheduled_at = stepwell.now(),
                    outcome_at = stepwell.now(), outcome_jsonb = jsonb_build_object('state', 'refused', 'reason', sqlerrm)
                where r.tenant_id = p_plan.tenant_id and r.replay_request_id = any (v_run.request_ids);
            end;
        else
            update stepwell.dlq_replay_request as r set proposal_state = 'rejected', outcome_at = stepwell.now(),
                outcome_jsonb = '{"reason": "it is not dead any more"}'
            where r.tenant_id = p_plan.tenant_id and r.replay_request_id = any (v_run.request_ids);
        end if;
    end loop;
    return v_count;
end
$$;

-- Ends a plan before its last stage: the letters that were not begun stay dead. What was begun goes on.
-- Locks: the caller holds the plan.
create or replace function stepwell._plan_stop(p_tenant_id int, p_plan_id bigint, p_actor text, p_reason text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count int;
begin
    update stepwell.dlq_replay_request as r set proposal_state = 'rejected', outcome_at = stepwell.now(),
        outcome_jsonb = '{"reason": "its plan was stopped"}'
    where r.tenant_id = p_tenant_id and r.plan_id = p_plan_id and r.proposal_state = 'approved' and r.replay_state is null;
    get diagnostics v_count = row_count;
    update stepwell.dlq_replay_plan as p set plan_state = 'stopped', ended_at = stepwell.now(), ended_because = left(p_reason, 2000)
    where p.tenant_id = p_tenant_id and p.plan_id = p_plan_id;
    perform stepwell._event_append(p_tenant_id, p_plan_id, 'dlq_replay.plan_stopped', p_actor,
        jsonb_build_object('reason', left(p_reason, 2000), 'left_count', v_count));
end
$$;

-- Somebody stops a running plan.
-- Locks: the plan.
-- Idempotency: a plan is stopped once.
-- Raises: SW001 without a reason; SW002 when there is no such plan; SW003 when it does not run; SW007 when the actor may not, or
--   for another tenant.
create or replace function stepwell.fn_replay_stop(p_tenant_id int, p_plan_id bigint, p_actor text, p_reason text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
    v_state text;
begin
    p_reason := stepwell._redact_text(p_reason);
    if coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: say in words why the plan stops';
    end if;
    select p.plan_state into v_state from stepwell.dlq_replay_plan as p
    where p.tenant_id = p_tenant_id and p.plan_id = p_plan_id for update;
    if not found then
        raise exception using errcode = 'SW002', message = format('plan %s does not exist', stepwell._unit_ref(p_plan_id));
    end if;
    if v_state <> 'running' then
        raise exception using errcode = 'SW003', message = format('plan %s is %s; only a running plan can be stopped', stepwell._unit_ref(p_plan_id), v_state);
    end if;
    perform stepwell._plan_stop(p_tenant_id, p_plan_id, v_actor, p_reason);
end
$$;

-- Plans with how far each is: requests by state, and by stage.
create or replace view stepwell.v_replay_plan with (security_invoker = true) as
select
    p.tenant_id, p.plan_id, p.approval_id, p.plan_state, p.letter_filter, p.letter_count, p.stages, p.stage_no, p.reach, p.requested_by,
    p.reason, p.requested_at, p.stage_at, p.ended_at, p.ended_because,
    a.state_code as approval_state,
    coalesce(q.progress, '[]'::jsonb) as progress,
    p.plan_state = 'submitted' as is_waiting,
    p.plan_state = 'running' as is_running
from stepwell.dlq_replay_plan as p
inner join stepwell.work_unit as a on p.tenant_id = a.tenant_id and p.approval_id = a.unit_id
left join lateral (
    select jsonb_agg(jsonb_build_object('stage', s.stage_no, 'count', s.count, 'submitted', s.submitted, 'scheduled', s.scheduled,
        'completed', s.completed, 'failed', s.failed, 'left_out', s.left_out) order by s.stage_no) as progress
    from (
        select r.stage_no, count(*) as count, count(*) filter (where r.proposal_state in ('submitted', 'approved') and r.replay_state is null) as submitted,
            count(*) filter (where r.replay_state = 'scheduled') as scheduled,
            count(*) filter (where r.replay_state = 'completed') as completed,
            count(*) filter (where r.replay_state = 'failed') as failed,
            count(*) filter (where r.proposal_state = 'rejected') as left_out
        from stepwell.dlq_replay_request as r where r.tenant_id = p.tenant_id and r.plan_id = p.plan_id group by r.stage_no
    ) as s
) as q on true;

-- Every replay request: what it repeats, its approval and key, and how it ended.
create or replace view stepwell.v_replay_request with (security_invoker = true) as
select
    r.tenant_id, r.replay_request_id, r.unit_id, nullif(case when stepwell._unit_no(r.unit_id) > 0 then stepwell._run_of(r.unit_id) end, 0) as run_id,
    r.approval_id, r.plan_id, r.stage_no, r.proposal_state, r.replay_state, r.idempotency_key, r.requested_by, r.reason, r.requested_at, r.scheduled_at,
    r.outcome_at, r.outcome_jsonb
from stepwell.dlq_replay_request as r;
