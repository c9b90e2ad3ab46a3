-- Caps of tenants and workflows: how they are set, and every function that enforces one.
-- - max_concurrency of a tenant: a claim calls _tenant_room, and _tenant_leases_note counts its leases.
-- - max_concurrency of a workflow: its steps get the concurrency key that _workflow_slot returns; see
--   tenancy/slots.sql.
-- - max_runs_per_min: every start calls _start_rate_check.
-- - max_writes_per_run: every action on another system calls _writes_take.
-- A workspace has the same three caps; tenancy/workspaces.sql sets them.

-- Creates a tenant, or changes its weight and caps. A setting that is given is set, null removes a cap, a setting that
-- is not given stays. Returns the id of the tenant.
-- Locks: the tenant's row.
-- Idempotency: the same settings change nothing.
-- Raises: SW001 naming a setting that is unknown or out of range.
create or replace function stepwell.fn_tenant_set(p_tenant_code text, p_settings jsonb default '{}') returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_before stepwell.tenant;
    v_tenant_id int;
begin
    if p_tenant_code is null or p_tenant_code !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
        raise exception using errcode = 'SW001', column = 'tenant',
            message = 'tenant: 1 to 63 lowercase letters, digits, - and _ are accepted, beginning with a letter or digit';
    end if;
    perform stepwell._caps_check(p_settings, array['weight', 'max_concurrency', 'max_runs_per_min', 'max_writes_per_run']);
    insert into stepwell.tenant (tenant_code) values (p_tenant_code) on conflict (tenant_code) do nothing;
    select t.* into v_before from stepwell.tenant as t where t.tenant_code = p_tenant_code for update;
    update stepwell.tenant as t set
        weight = coalesce((p_settings ->> 'weight')::int, t.weight),
        max_concurrency = stepwell._cap_given(p_settings, 'max_concurrency', t.max_concurrency),
        max_runs_per_min = stepwell._cap_given(p_settings, 'max_runs_per_min', t.max_runs_per_min),
        max_writes_per_run = stepwell._cap_given(p_settings, 'max_writes_per_run', t.max_writes_per_run)
    where t.tenant_code = p_tenant_code
    returning t.tenant_id into v_tenant_id;
    if v_before.max_concurrency is null and p_settings ->> 'max_concurrency' is not null then
        -- The leases that exist already count from now on.
        insert into stepwell.tenant_lease (tenant_id, unit_id, lease_no)
        select distinct u.tenant_id, u.unit_id, u.lease_no
        from stepwell.worker_session as s
        inner join stepwell.worker_lease as l on s.session_id = l.session_id
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where s.closed_at is null and q.tenant_id = v_tenant_id and u.lease_session_id = s.session_id
        on conflict do nothing;
    end if;
    -- A higher cap may allow claims that no report will ask for.
    perform stepwell._workers_wake_all();
    return v_tenant_id;
end
$$;

-- Sets the caps of one workflow; for its runs they replace those of the tenant. A setting that is given is set, null
-- removes a cap, a setting that is not given stays. A cap on concurrency applies to runs that start from now on.
-- Locks: the workflow's row, then the row of its concurrency key.
-- Idempotency: the same settings change nothing.
-- Raises: SW001 naming a setting that is unknown or out of range; SW002 when the workflow does not exist; SW007 for
--   another tenant.
create or replace function stepwell.fn_workflow_caps_set(p_tenant_id int, p_workflow_name text, p_settings jsonb) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_workflow stepwell.workflow_registry;
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    perform stepwell._caps_check(p_settings, array['max_concurrency', 'max_runs_per_min', 'max_writes_per_run']);
    update stepwell.workflow_registry as w set
        max_concurrency = stepwell._cap_given(p_settings, 'max_concurrency', w.max_concurrency),
        max_runs_per_min = stepwell._cap_given(p_settings, 'max_runs_per_min', w.max_runs_per_min),
        max_writes_per_run = stepwell._cap_given(p_settings, 'max_writes_per_run', w.max_writes_per_run)
    where w.tenant_id = p_tenant_id and w.workflow_name = p_workflow_name
    returning w.* into v_workflow;
    if not found then
        raise exception using errcode = 'SW002', column = 'workflow', message = format('workflow %s is not published', p_workflow_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'workflow', p_workflow_name), '');
    end if;
    perform stepwell._slot_bound_set(p_tenant_id, 'workflow:' || v_workflow.workflow_id, v_workflow.max_concurrency);
end
$$;

-- A cap after a change: the one that is given, where null removes it; else the one before.
create or replace function stepwell._cap_given(p_settings jsonb, p_name text, p_before int) returns int
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_settings ? p_name then (p_settings ->> p_name)::int else p_before end
$$;

-- Refuses caps that are unknown or out of range.
-- Raises: SW001 naming the setting and what is accepted.
create or replace function stepwell._caps_check(p_settings jsonb, p_known text[]) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_fault record;
begin
    if jsonb_typeof(p_settings) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'settings',
            message = format('settings: an object is required, with %s', array_to_string(p_known, ', '));
    end if;
    select s.key, s.value, case when s.key like '%concurrency' or s.key = 'weight' then 1 else 0 end as least_value,
        case s.key when 'weight' then 1000 else 1000000 end as most_value
    into v_fault
    from jsonb_each(p_settings) as s
    where not s.key = any (p_known) or case jsonb_typeof(s.value)
        when 'null' then s.key = 'weight'
        when 'number' then not (s.value::text ~ '^[0-9]{1,7}$' and s.value::text::int
            between case when s.key like '%concurrency' or s.key = 'weight' then 1 else 0 end
            and case s.key when 'weight' then 1000 else 1000000 end)
        else true end
    limit 1;
    if found then
        raise exception using errcode = 'SW001', column = v_fault.key, message = case
            when v_fault.key = any (p_known) then format('%s: %s is not accepted; a whole number from %s to %s is required',
                v_fault.key, v_fault.value, v_fault.least_value, v_fault.most_value)
            else format('%s: is not a setting; known settings are %s', v_fault.key, array_to_string(p_known, ', ')) end;
    end if;
end
$$;

-- How many more units of a tenant with a cap may be leased now. Deletes the notes of leases that have ended. When
-- another claim counts this tenant and p_may_wait is false, it is none.
-- Locks: the tenant's row, so that claims for it are counted one after the other. A session with this lock waits for no further
--   lock.
create or replace function stepwell._tenant_room(p_tenant_id int, p_max_concurrency int, p_may_wait boolean) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held_count int;
begin
    if p_may_wait then
        perform from stepwell.tenant as t where t.tenant_id = p_tenant_id for update;
    else
        perform from stepwell.tenant as t where t.tenant_id = p_tenant_id for update skip locked;
        if not found then
            return 0;
        end if;
    end if;
    delete from stepwell.tenant_lease as l
    where l.tenant_id = p_tenant_id and not exists (
        select from stepwell.work_unit as u
        where u.tenant_id = l.tenant_id and u.unit_id = l.unit_id and u.lease_no = l.lease_no
            and u.lease_session_id is not null);
    select count(*)::int into v_held_count from stepwell.tenant_lease as l where l.tenant_id = p_tenant_id;
    return greatest(p_max_concurrency - v_held_count, 0);
end
$$;

-- Notes the leases of tenants with a cap; _tenant_room counts them.
-- Locks: the caller holds the rows of those tenants.
create or replace function stepwell._tenant_leases_note(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.tenant as t where t.tenant_id = any (p_tenant_ids) and t.max_concurrency is not null) then
        insert into stepwell.tenant_lease as l (tenant_id, unit_id, lease_no)
        select u.tenant_id, u.unit_id, u.lease_no
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.tenant as t on q.tenant_id = t.tenant_id and t.max_concurrency is not null
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        on conflict (tenant_id, unit_id) do update set lease_no = excluded.lease_no;
    end if;
end
$$;

-- Enforces the caps on runs that start within a minute, the tenant's and the workflow's own. Called after the new runs
-- are written, so that a start that was deduplicated does not count.
-- Locks: an advisory lock of the tenant's starts, when there is a cap: starts are counted one after the other, and
--   claims do not wait for them.
-- Raises: SW006 saying when the next start is possible.
create or replace function stepwell._start_rate_check(p_tenant_id int, p_workflow_id int, p_now timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cap record;
    v_free_at timestamptz;
begin
    select t.tenant_code, w.workflow_name, t.max_runs_per_min as of_tenant, w.max_runs_per_min as of_workflow into v_cap
    from stepwell.tenant as t
    inner join stepwell.workflow_registry as w on t.tenant_id = w.tenant_id and w.workflow_id = p_workflow_id
    where t.tenant_id = p_tenant_id;
    if v_cap.of_tenant is null and v_cap.of_workflow is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('stepwell.start'), p_tenant_id);
    -- The cap of a workflow counts its own runs; the cap of the tenant counts all of its runs.
    if v_cap.of_workflow is not null then
        select r.created_at + interval '1 minute' into v_free_at
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.workflow_id = p_workflow_id and r.parent_unit_id is null
        order by r.run_id desc offset v_cap.of_workflow limit 1;
    else
        select r.created_at + interval '1 minute' into v_free_at
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.parent_unit_id is null
        order by r.run_id desc offset v_cap.of_tenant limit 1;
    end if;
    if v_free_at > p_now then
        raise exception using errcode = 'SW006', column = 'max_runs_per_min', message = format(
            '%s may start %s runs a minute; try again at %s',
            case when v_cap.of_workflow is null then 'tenant ' || v_cap.tenant_code else 'workflow ' || v_cap.workflow_name end,
            coalesce(v_cap.of_workflow, v_cap.of_tenant), to_char(v_free_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    end if;
end
$$;

-- Counts one more write of a run and of every run above it, if the cap of each allows it: the cap of its workflow, else of
-- its tenant, else the limit of the installation. Returns false, and counts nothing, when one of these caps is reached.
-- Locks: the rows of these runs in run_write_count, last, from the root down.
create or replace function stepwell._writes_take(p_tenant_id int, p_unit_id bigint) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array(select a.run_id from stepwell._runs_above(p_tenant_id, stepwell._run_of(p_unit_id)) as a);
    v_run_id bigint;
begin
    foreach v_run_id in array v_run_ids loop
        insert into stepwell.run_write_count as c (tenant_id, unit_id, write_count)
        select p_tenant_id, stepwell._run_unit(v_run_id), 1
        where stepwell._writes_cap(p_tenant_id, v_run_id) > 0
        on conflict (tenant_id, unit_id) do update set write_count = c.write_count + 1
        where c.write_count < stepwell._writes_cap(p_tenant_id, v_run_id);
        if not found then
            perform stepwell._writes_return(p_tenant_id, v_run_ids[: array_position(v_run_ids, v_run_id) - 1]);
            return false;
        end if;
    end loop;
    return true;
end
$$;

-- Counts one write less for these runs: the effect certainly did not happen.
-- Locks: their rows in run_write_count, last, from the root down.
create or replace function stepwell._writes_return(p_tenant_id int, p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform 1 from stepwell.run_write_count as c
    where c.tenant_id = p_tenant_id and c.unit_id = any (select stepwell._run_unit(r) from unnest(p_run_ids) as r)
    order by c.unit_id
    for update;
    update stepwell.run_write_count as c set write_count = greatest(c.write_count - 1, 0)
    where c.tenant_id = p_tenant_id and c.unit_id = any (select stepwell._run_unit(r) from unnest(p_run_ids) as r);
end
$$;

-- The most writes of a run with the runs below it, or of a job.
create or replace function stepwell._writes_cap(p_tenant_id int, p_run_id bigint) returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(
        (select w.max_writes_per_run from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = p_tenant_id and r.run_id = p_run_id),
        (select s.max_writes_per_run from stepwell.run_progress as p
            inner join stepwell.workspace as s on p.tenant_id = s.tenant_id and p.workspace_id = s.workspace_id
            where p.tenant_id = p_tenant_id and p.run_id = p_run_id),
        (select s.max_writes_per_run from stepwell.job_detail as j
            inner join stepwell.workspace as s on j.tenant_id = s.tenant_id and j.workspace_id = s.workspace_id
            where j.tenant_id = p_tenant_id and j.job_id = stepwell._run_unit(p_run_id)),
        (select t.max_writes_per_run from stepwell.tenant as t where t.tenant_id = p_tenant_id),
        stepwell._limit('limits.writes_per_run'))
$$;

-- The concurrency key of a workflow's steps when the workflow has a cap, else that of the workspace when it has one,
-- else null. Steps of a Parallel or a Map with a limit of its own use the key of that limit instead.
-- Locks: the row of the key, when its limit has changed.
create or replace function stepwell._workflow_slot(p_tenant_id int, p_workflow_id int, p_workspace_id int default null) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_max_concurrency int;
begin
    select w.max_concurrency into v_max_concurrency
    from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id;
    if v_max_concurrency is null then
        return case when p_workspace_id is not null then stepwell._workspace_slot(p_tenant_id, p_workspace_id) end;
    end if;
    return stepwell._slot_key(p_tenant_id, 'workflow:' || p_workflow_id, v_max_concurrency);
end
$$;

-- The concurrency key of a workspace with a cap, else null.
-- Locks: the row of the key, when its limit has changed.
create or replace function stepwell._workspace_slot(p_tenant_id int, p_workspace_id int) returns text
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._slot_key(w.tenant_id, 'workspace:' || w.workspace_id, w.max_concurrency)
    from stepwell.workspace as w
    where w.tenant_id = p_tenant_id and w.workspace_id = p_workspace_id and w.max_concurrency is not null
$$;

-- Returns the concurrency key after its row has this limit.
-- Locks: the row of the key, when its limit has changed.
create or replace function stepwell._slot_key(p_tenant_id int, p_slot_key text, p_max_count int) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.concurrency_slot as s (tenant_id, slot_key, max_count)
    values (p_tenant_id, p_slot_key, p_max_count)
    on conflict (tenant_id, slot_key) do update set max_count = excluded.max_count where s.max_count <> excluded.max_count;
    return p_slot_key;
end
$$;
