-- What an incident hold stops: whether it names a unit, and whether the run of the unit is in the share that goes on. What is hot
-- asks only when the row of the tenant says that it has a hold.

-- The holds that stop these units, the oldest hold for each; nothing for a unit that goes on. An approval belongs to what it is
-- about.
create or replace function stepwell._holds_of(p_tenant_ids int[], p_unit_ids bigint[])
returns table (tenant_id int, unit_id bigint, hold_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select distinct on (q.tenant_id, q.unit_id) q.tenant_id, q.unit_id, h.hold_id
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.incident_hold as h on q.tenant_id = h.tenant_id and h.released_at is null
    cross join lateral (
        select u.* from stepwell.work_unit as u
        where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id offset 0
    ) as u
    where stepwell._hold_names(h, u) and not stepwell._hold_frees(h, u.unit_id)
    order by q.tenant_id, q.unit_id, h.hold_id
$$;

-- The open hold that stops a unit: its number, its reason and the share that goes on; no row when none does.
create or replace function stepwell._hold_of(p_tenant_id int, p_unit_id bigint)
returns table (hold_id bigint, reason text, share int)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select h.hold_id, h.reason, h.share::int
    from stepwell._holds_of(array[p_tenant_id], array[p_unit_id]) as s
    inner join stepwell.incident_hold as h on s.tenant_id = h.tenant_id and s.hold_id = h.hold_id
$$;

-- Whether a hold names this unit: its operation, the workflow of its run or of a run above, its tenant, or a person who is in
-- charge of it, whom its step is for, or who started its run.
create or replace function stepwell._hold_names(p_hold stepwell.incident_hold, p_unit stepwell.work_unit) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids bigint[];
    v_key text;
begin
    case p_hold.scope_kind
        when 'tenant' then
            return true;
        when 'operation', 'connector' then
            return p_unit.operation_id is not null and exists (select from stepwell.incident_hold_operation as o
                where o.tenant_id = p_hold.tenant_id and o.hold_id = p_hold.hold_id and o.operation_id = p_unit.operation_id);
        when 'workflow' then
            v_run_ids := array(select a.run_id from stepwell._runs_above(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id)) as a);
            return exists (select from stepwell.run_detail as r
                where r.tenant_id = p_hold.tenant_id and r.run_id = any (v_run_ids) and r.workflow_id = p_hold.workflow_id);
        else
            if p_unit.pic_id = p_hold.principal_id then
                return true;
            end if;
            v_run_ids := array(select a.run_id from stepwell._runs_above(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id)) as a);
            v_key := stepwell._name_fold(p_hold.scope_value);
            return exists (select from stepwell.run_detail as r
                where r.tenant_id = p_hold.tenant_id and r.run_id = v_run_ids[1] and stepwell._actor_plain(r.started_by) = v_key)
                or exists (select from stepwell.job_detail as j
                    where p_unit.scope = 'job' and j.tenant_id = p_hold.tenant_id and j.job_id = p_unit.unit_id
                        and stepwell._actor_plain(j.created_by) = v_key)
                or exists (select from stepwell.workflow_step_def as d
                    where p_unit.scope = 'step' and d.tenant_id = p_hold.tenant_id and d.version_id = p_unit.version_id
                        and d.step_no = p_unit.def_no and stepwell._name_fold(d.config ->> 'assignee') = v_key)
                or exists (select from stepwell.task_detail as k
                    where p_unit.scope = 'task' and k.tenant_id = p_hold.tenant_id and k.unit_id = p_unit.unit_id
                        and stepwell._name_fold(k.assignee) = v_key);
    end case;
end
$$;

-- Whether the run of a unit is in the share of a hold that goes on. All runs below one run go on together; a larger share has
-- every run of a smaller one.
create or replace function stepwell._hold_frees(p_hold stepwell.incident_hold, p_unit_id bigint) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return p_hold.share > 0 and stepwell._hold_bucket(p_hold.hold_id, (
        select a.run_id from stepwell._runs_above(p_hold.tenant_id, stepwell._run_of(p_unit_id)) as a limit 1)) < p_hold.share;
end
$$;

-- The number from 0 to 99 that a run has for a hold: from a digest of both numbers, so it is the same on every server.
create or replace function stepwell._hold_bucket(p_hold_id bigint, p_run_id bigint) returns int
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$ select ((('x' || substr(md5(p_hold_id || ':' || p_run_id), 1, 7))::bit(28)::int) % 100) $$;

-- The hold that forbids an action of this unit through this connector, or none. A connector is held for every operation; one
-- that is met here is stopped from now on.
-- Locks: the new row of the operation.
create or replace function stepwell._hold_of_action(p_tenant_id int, p_unit_id bigint, p_connector text) returns stepwell.incident_hold
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_hold stepwell.incident_hold;
begin
    if not exists (select from stepwell.tenant as t where t.tenant_id = p_tenant_id and t.has_hold) then
        return null;
    end if;
    select h.* into v_hold from stepwell.incident_hold as h
    where h.tenant_id = p_tenant_id and h.released_at is null and h.scope_kind = 'connector' and h.scope_value = p_connector
        and not stepwell._hold_frees(h, p_unit_id)
    order by h.hold_id limit 1;
    if found then
        insert into stepwell.incident_hold_operation (tenant_id, hold_id, operation_id)
        select u.tenant_id, v_hold.hold_id, u.operation_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.operation_id is not null
            and (select count(*) from stepwell.incident_hold_operation as o
                where o.tenant_id = p_tenant_id and o.hold_id = v_hold.hold_id) < stepwell._limit('limits.hold_operations')
        on conflict do nothing;
        return v_hold;
    end if;
    select h.* into v_hold
    from stepwell._holds_of(array[p_tenant_id], array[p_unit_id]) as s
    inner join stepwell.incident_hold as h on s.tenant_id = h.tenant_id and s.hold_id = h.hold_id;
    return v_hold;
end
$$;

-- Refuses a call of a person on a unit that is held, or by a person whose work is held.
-- Raises: SW003 with a sentence that says since when, by whom and why.
create or replace function stepwell._hold_refuse(p_tenant_id int, p_unit_id bigint, p_actor text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_hold stepwell.incident_hold;
begin
    if not exists (select from stepwell.tenant as t where t.tenant_id = p_tenant_id and t.has_hold) then
        return;
    end if;
    select h.* into v_hold
    from stepwell._hold_of(p_tenant_id, p_unit_id) as s
    inner join stepwell.incident_hold as h on h.tenant_id = p_tenant_id and s.hold_id = h.hold_id;
    if v_hold.hold_id is null and p_actor is not null then
        select h.* into v_hold from stepwell.incident_hold as h
        where h.tenant_id = p_tenant_id and h.released_at is null and h.scope_kind = 'person'
            and stepwell._name_fold(h.scope_value) = stepwell._actor_plain(p_actor)
            and not stepwell._hold_frees(h, p_unit_id)
        limit 1;
    end if;
    if v_hold.hold_id is not null then
        raise exception using errcode = 'SW003', column = 'step_run_id',
            message = format('%s stands still: %s holds %s %s since %s: %s', stepwell._title_of(p_tenant_id, p_unit_id),
                substr(v_hold.opened_by, coalesce(length(stepwell._actor_channel(v_hold.opened_by)) + 2, 1)), v_hold.scope_kind, v_hold.scope_value,
                to_char(v_hold.opened_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), v_hold.reason),
            hint = format('it goes on when hold %s is released', v_hold.hold_id);
    end if;
end
$$;
