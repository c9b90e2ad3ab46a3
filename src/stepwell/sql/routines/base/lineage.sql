-- The line of a run: the runs above it, up to the run that nobody started from a step.

-- A run and every run above it, the root first. A parent has a lower number than its child. A job has only itself.
create or replace function stepwell._runs_above(p_tenant_id int, p_run_id bigint) returns table (run_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    -- Most runs have no run above them.
    if exists (select from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id and r.parent_unit_id is not null) then
        return query
        with recursive line as (
            select p_run_id as run_id
            union all
            select stepwell._run_of(r.parent_unit_id)
            from line as l
            inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and l.run_id = r.run_id
            where r.parent_unit_id is not null
        )
        select l.run_id from line as l order by l.run_id;
    else
        run_id := p_run_id;
        return next;
    end if;
end
$$;

-- The names behind a unit, as they were written: who started its run or a run above, who wrote the schedule that did, who
-- published these workflows, who asked for a replay or a correction of them that has not ended, who enqueued the job, who
-- proposed the policy; for a job that reverses an effect also the names behind that effect; for a plan of replays those behind each of its letters. None of them may decide about it.
create or replace function stepwell._people_behind(p_tenant_id int, p_unit_id bigint) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive source as (
        (
            select p_unit_id as unit_id, 0 as depth
            union all
            -- A plan of replays is about all its dead letters.
            select q.unit_id, 0 from stepwell.dlq_replay_request as q where q.tenant_id = p_tenant_id and q.plan_id = p_unit_id
        )
        union all
        -- A job that reverses an effect goes back to the unit that made it.
        select r.unit_id, s.depth + 1
        from source as s
        inner join stepwell.job_detail as j on j.tenant_id = p_tenant_id and j.job_id = s.unit_id and j.payload ? 'receipt_id'
        inner join stepwell.action_receipt as r on r.tenant_id = p_tenant_id and r.receipt_id = (j.payload ->> 'receipt_id')::bigint
        where s.depth < 10
    ), line as (
        select distinct a.run_id from source as s cross join lateral stepwell._runs_above(p_tenant_id, stepwell._run_of(s.unit_id)) as a
    )
    select array_agg(distinct n.name)
    from (
        select j.created_by as name from source as s
        inner join stepwell.job_detail as j on j.tenant_id = p_tenant_id and j.job_id = s.unit_id
        union all
        select y.proposed_by from stepwell.policy_set as y where y.tenant_id = p_tenant_id and y.proposal_id = p_unit_id
        union all
        select x.name from line as l
        inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and l.run_id = r.run_id
        inner join stepwell.workflow_version as v on v.tenant_id = p_tenant_id and r.version_id = v.version_id
        cross join lateral unnest(r.origin || array[r.started_by, v.published_by]) as x (name)
        union all
        select q.requested_by from line as l
        inner join stepwell.dlq_replay_request as q on q.tenant_id = p_tenant_id
            and q.unit_id between stepwell._run_unit(l.run_id) and stepwell._run_last(l.run_id) and q.replay_state = 'scheduled'
        union all
        select k.reopened_by from line as l
        inner join stepwell.step_run_correction_cycle as k on k.tenant_id = p_tenant_id
            and k.unit_id between stepwell._run_unit(l.run_id) and stepwell._run_last(l.run_id) and k.closed_at is null
    ) as n
    where n.name is not null
$$;

-- These names, who made a token of a service or an agent among them, because whoever knows its token acts through it, and
-- the names that these have now, where an old one was changed. The name of a person stands for itself.
create or replace function stepwell._people_of(p_tenant_id int, p_names text[]) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive named as (
        select n.name from unnest(p_names) as n (name) where n.name is not null
        union
        select x.name
        from named as n
        cross join lateral (
            select t.created_by
            from stepwell.principal as p
            inner join stepwell.access_token as t on t.tenant_id = p_tenant_id and p.principal_id = t.principal_id
            where p.tenant_id = p_tenant_id and p.name_key = stepwell._actor_plain(n.name) and p.kind <> 'person'
            union all
            select p.principal_name
            from stepwell.principal as p
            where p.tenant_id = p_tenant_id and p.former_keys <> '{}' and stepwell._actor_plain(n.name) = any (p.former_keys)
        ) as x (name)
    )
    select array_agg(n.name) from named as n
$$;
