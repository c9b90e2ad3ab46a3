-- Incident holds: somebody opens one, sees its reach before, and releases it by shares.

-- What a hold would stop now, counted: runs, steps, jobs, handlers that work now, people's work, clocks; with the operations that
-- a hold of a connector would name. Nothing is written.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for an unknown kind or a value that is missing; SW002 when there is nothing of this name.
create or replace function stepwell.fn_hold_reach(p_tenant_id int, p_kind text, p_value text) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._hold_reach(stepwell._hold_read(p_tenant_id, p_kind, p_value));
end
$$;

-- Opens a hold: from its commit on no claim gives matching work out, its actions are denied and its clocks stand still. What runs
-- now goes on until it acts or ends.
-- Locks: the opening of holds of the tenant; the units whose clocks stop, in order; the ready rows it takes, never waiting; then
--   the tenant.
-- Idempotency: a hold of the same kind and value that is open is answered again.
-- Raises: SW001 without a reason, for an unknown kind or value; SW002 when there is nothing of this name; SW006 for more than
--   limits.open_holds; SW007 when the actor is unknown or may not, or for another tenant.
create or replace function stepwell.fn_hold_open(p_tenant_id int, p_kind text, p_value text, p_reason text, p_actor text)
returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'hold.open');
    v_reason constant text := left(stepwell._hold_reason(stepwell._redact_text(p_reason), 'why this work must stand still'), 2000);
    v_limit constant int := stepwell._limit('limits.hold_batch');
    v_hold stepwell.incident_hold := stepwell._hold_read(p_tenant_id, p_kind, p_value);
    v_open_id bigint;
    v_count int;
begin
    -- One hold of a tenant is opened at a time: the same one is found, and the end of another does not take the mark away.
    perform pg_advisory_xact_lock(stepwell._hold_lock_key(), p_tenant_id);
    select h.hold_id into v_open_id from stepwell.incident_hold as h
    where h.tenant_id = p_tenant_id and h.scope_kind = p_kind and h.scope_value = v_hold.scope_value and h.released_at is null;
    if found then
        return jsonb_build_object('hold_id', v_open_id::text, 'is_new', false);
    end if;
    select count(*)::int into v_count from stepwell.incident_hold as h where h.tenant_id = p_tenant_id and h.ended_at is null;
    if v_count >= stepwell._limit('limits.open_holds') then
        raise exception using errcode = 'SW006', column = 'scope_kind',
            message = format('%s holds have not ended; release one first', v_count);
    end if;
    v_hold.hold_id := nextval('stepwell.run_seq');
    v_hold.reason := v_reason;
    v_hold.share := 0;
    v_hold.reach := stepwell._hold_reach(v_hold) - 'operations';
    v_hold.opened_at := stepwell.now();
    v_hold.opened_by := v_actor;
    v_hold.opened_event_id := stepwell._event_append_at(p_tenant_id, stepwell._run_unit(v_hold.hold_id), 'hold.opened', v_actor,
        jsonb_build_object('kind', p_kind, 'value', v_hold.scope_value, 'reason', v_reason, 'reach', v_hold.reach), 'reviewer', v_hold.opened_at);
    insert into stepwell.incident_hold select v_hold.*;
    insert into stepwell.incident_hold_operation (tenant_id, hold_id, operation_id)
    select p_tenant_id, v_hold.hold_id, o.operation_id from stepwell._hold_operations(v_hold) as o (operation_id);
    perform stepwell._clocks_find(p_tenant_id, v_limit);
    perform stepwell._held_park(p_tenant_id, v_limit);
    update stepwell.tenant as t set has_hold = true where t.tenant_id = p_tenant_id and not t.has_hold;
    return jsonb_build_object('hold_id', v_hold.hold_id::text, 'is_new', true) || v_hold.reach;
end
$$;

-- Lets a share of what a hold stops go on: 10, 50 or 100 of a hundred runs. With 100 the hold is released. The keeper does what is
-- too much for one transaction.
-- Locks: the hold; the units whose clocks move; rows beside the queue; slots.
-- Idempotency: the share that it has is answered again.
-- Raises: SW001 without a reason or for another share; SW002 when there is no such hold; SW003 for a smaller share than before;
--   SW007 when the actor is unknown or may not, or for another tenant.
create or replace function stepwell.fn_hold_release(p_tenant_id int, p_hold_id bigint, p_share int, p_reason text, p_actor text)
returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'hold.release');
    v_reason constant text := left(stepwell._hold_reason(stepwell._redact_text(p_reason), 'why this work may go on'), 2000);
    v_now constant timestamptz := stepwell.now();
    v_hold stepwell.incident_hold;
    v_event_id bigint;
begin
    if p_share is null or p_share not in (10, 50, 100) then
        raise exception using errcode = 'SW001', column = 'share', message = 'share: 10, 50 and 100 are accepted';
    end if;
    select h.* into v_hold from stepwell.incident_hold as h where h.tenant_id = p_tenant_id and h.hold_id = p_hold_id for update;
    if not found then
        raise exception using errcode = 'SW002', column = 'hold_id', message = format('hold %s does not exist', p_hold_id),
            hint = 'stepwell hold list shows the holds';
    end if;
    if v_hold.share > p_share then
        raise exception using errcode = 'SW003', column = 'share', message = format(
            'share: %s of a hundred runs of hold %s go on already; a larger share is accepted', v_hold.share, p_hold_id);
    end if;
    if v_hold.share < p_share then
        v_event_id := stepwell._event_append_at(p_tenant_id, stepwell._run_unit(p_hold_id),
            case p_share when 100 then 'hold.released' else 'hold.graded' end, v_actor,
            case p_share when 100 then jsonb_build_object('reason', v_reason) else jsonb_build_object('share', p_share, 'reason', v_reason) end,
            'reviewer', v_now);
        update stepwell.incident_hold as h set share = p_share,
            graded_at = case p_share when 100 then h.graded_at else v_now end, graded_by = case p_share when 100 then h.graded_by else v_actor end,
            released_at = case p_share when 100 then v_now end, released_by = case p_share when 100 then v_actor end,
            released_event_id = case p_share when 100 then v_event_id end
        where h.tenant_id = p_tenant_id and h.hold_id = p_hold_id;
        perform stepwell._holds_carry(p_tenant_id, stepwell._limit('limits.hold_batch'));
    end if;
    return jsonb_build_object('hold_id', p_hold_id::text, 'share', p_share, 'state', case p_share when 100 then 'released' else 'open' end);
end
$$;

-- A reason that was given.
-- Raises: SW001 without one.
create or replace function stepwell._hold_reason(p_reason text, p_what text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = format('reason: say in words %s', p_what);
    end if;
    return p_reason;
end
$$;

-- A hold of this kind and value that is not stored, with the numbers of what it names.
-- Raises: SW001 for an unknown kind or a value that is missing or a secret; SW002 when there is nothing of this name.
create or replace function stepwell._hold_read(p_tenant_id int, p_kind text, p_value text) returns stepwell.incident_hold
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_hold stepwell.incident_hold;
begin
    if p_kind is null or p_kind not in ('operation', 'connector', 'workflow', 'tenant', 'person') then
        raise exception using errcode = 'SW001', column = 'scope_kind',
            message = 'scope_kind: operation, connector, workflow, tenant and person are accepted';
    end if;
    if coalesce(length(btrim(p_value)), 0) not between 1 and 500 then
        raise exception using errcode = 'SW001', column = 'scope_value', message = 'scope_value: a text of 1 to 500 characters is required';
    end if;
    perform stepwell._secret_refuse('scope_value', p_value);
    v_hold.tenant_id := p_tenant_id;
    v_hold.scope_kind := p_kind;
    v_hold.scope_value := btrim(p_value);
    case p_kind
        when 'tenant' then
            select t.tenant_code into v_hold.scope_value from stepwell.tenant as t
            where t.tenant_id = p_tenant_id and t.tenant_code = btrim(p_value);
        when 'operation' then
            select o.operation_name into v_hold.scope_value from stepwell.operation as o
            where o.tenant_id = p_tenant_id and o.operation_name = btrim(p_value);
        when 'workflow' then
            select w.workflow_name, w.workflow_id into v_hold.scope_value, v_hold.workflow_id from stepwell.workflow_registry as w
            where w.tenant_id = p_tenant_id and w.workflow_name = btrim(p_value);
        when 'person' then
            select p.principal_name, p.principal_id into v_hold.scope_value, v_hold.principal_id from stepwell.principal as p
            where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(btrim(p_value));
        else
            -- No table has the names of connectors: workers bring them.
            return v_hold;
    end case;
    if not found then
        raise exception using errcode = 'SW002', column = 'scope_value', message = format('%s %s does not exist', p_kind, btrim(p_value)),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, p_kind, btrim(p_value)), '');
    end if;
    return v_hold;
end
$$;

-- The operations that a hold stops: the one it names; for a connector those that have acted through it.
create or replace function stepwell._hold_operations(p_hold stepwell.incident_hold) returns setof int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select o.operation_id from stepwell.operation as o
    where p_hold.scope_kind = 'operation' and o.tenant_id = p_hold.tenant_id and o.operation_name = p_hold.scope_value
    union
    (select distinct u.operation_id
    from stepwell.policy_verdict as v
    inner join stepwell.work_unit as u on v.tenant_id = u.tenant_id and v.unit_id = u.unit_id
    where p_hold.scope_kind = 'connector' and v.tenant_id = p_hold.tenant_id and v.connector = p_hold.scope_value
        and u.operation_id is not null
    limit stepwell._limit('limits.hold_operations'))
$$;

-- What a hold would stop now: the open units that it names, each counted up to limits.hold_reach.
create or replace function stepwell._hold_reach(p_hold stepwell.incident_hold) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with operation as materialized (
        select q.operation_id from stepwell._hold_operations(p_hold) as q (operation_id)
    ), unit as materialized (
        select u.unit_id, u.scope, u.state_code, u.lease_session_id, u.pic_id, u.operation_id, u.deadline_at
        from stepwell.work_unit as u
        where u.tenant_id = p_hold.tenant_id and u.scope in ('step', 'job') and not stepwell._has_ended(u.state_code)
            and case when p_hold.scope_kind in ('operation', 'connector') then u.operation_id in (select o.operation_id from operation as o)
                else stepwell._hold_names(p_hold, u) end
        limit stepwell._limit('limits.hold_reach')
    )
    select jsonb_build_object(
        'runs', count(distinct stepwell._run_of(u.unit_id)) filter (where u.scope = 'step'),
        'steps', count(*) filter (where u.scope = 'step'), 'jobs', count(*) filter (where u.scope = 'job'),
        'working', count(*) filter (where u.lease_session_id is not null),
        'people', count(*) filter (where u.scope = 'step' and u.operation_id is null and u.state_code in ('ready', 'in_progress', 'overdue')),
        'clocks', count(*) filter (where u.deadline_at is not null),
        'is_more', count(*) = stepwell._limit('limits.hold_reach'),
        'operations', (select coalesce(jsonb_agg(p.operation_name order by p.operation_name), '[]') from stepwell.operation as p
            where p.tenant_id = p_hold.tenant_id and p.operation_id in (select o.operation_id from operation as o)))
    from unit as u
$$;
