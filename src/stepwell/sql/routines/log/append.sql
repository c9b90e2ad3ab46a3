-- Writing events that are no state change, and those with which a unit is created. The events of other state changes are
-- written by the transition core, which checks the registry too.

-- Appends one event that is no state change (published, signal received, schedule fired, an event of a handler).
-- Returns its number.
-- Raises: SW004 when the type is not registered or the payload breaks its contract.
create or replace function stepwell._event_append(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb,
    p_actor_class text default 'system'
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._event_born(p_tenant_id, p_unit_id, p_event_type, null, p_actor, p_payload, p_actor_class, null);
end
$$;

-- The same with the time of the row that the event stands for, so that the log and the table say the same.
-- Raises: as _event_append.
create or replace function stepwell._event_append_at(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text, p_at timestamptz
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._event_born(p_tenant_id, p_unit_id, p_event_type, null, p_actor, p_payload, p_actor_class, null, p_at);
end
$$;

-- An event with the state in which it creates its unit.
-- Raises: as _event_append.
create or replace function stepwell._event_born(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_to_state text, p_actor text, p_payload jsonb, p_actor_class text,
    p_audit_ref text, p_at timestamptz default null
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
    v_event_id bigint;
begin
    perform stepwell._event_type_check(p_event_type);
    v_problem := stepwell._event_payload_problem(p_event_type, p_payload);
    if v_problem is not null then
        raise exception using errcode = 'SW004', detail = jsonb_build_object('codes', array[v_problem],
                'rejected', stepwell._event_rejected(p_tenant_id, p_unit_id, p_event_type, p_payload)),
            message = 'event ' || substr(v_problem, length('event_payload_invalid:') + 1);
    end if;
    -- A follower counts on it that a transaction has its id before it draws the number of an event (fn_run_follow).
    perform pg_current_xact_id();
    insert into stepwell.event_log (tenant_id, at, run_id, unit_id, event_type, to_state, actor_class, actor, audit_ref, payload)
    values (p_tenant_id, coalesce(p_at, stepwell.now()), stepwell._run_of(p_unit_id), p_unit_id, p_event_type, p_to_state, p_actor_class, p_actor,
        p_audit_ref, p_payload)
    returning event_id into v_event_id;
    return v_event_id;
end
$$;

-- Refuses an event whose type is not registered.
-- Raises: SW004.
create or replace function stepwell._event_type_check(p_event_type text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not exists (select from stepwell.event_type_registry as e
        where e.event_type = p_event_type and e.is_registered) then
        raise exception using errcode = 'SW004', message = format('event type %s is not registered', p_event_type),
            detail = jsonb_build_object('codes', array['event_type_not_registered:' || p_event_type],
                'rejected', stepwell._event_rejected(null, null, p_event_type, null));
    end if;
end
$$;

-- What an error tells its caller about a rejected event, so that the caller can keep it after the transaction is gone
-- (fn_event_reject_note). A payload of more than 8 kB is left out.
create or replace function stepwell._event_rejected(p_tenant_id int, p_unit_id bigint, p_event_type text, p_payload jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select jsonb_strip_nulls(jsonb_build_object('tenant_id', p_tenant_id, 'unit_id', p_unit_id, 'event_type', p_event_type))
        || case when octet_length(p_payload::text) <= 8192 then jsonb_build_object('payload', p_payload) else '{}' end
$$;

-- Keeps a rejected event in event_validation_audit, after the transaction that was refused is gone: the client calls it in a
-- transaction of its own. Only what the registry really rejects is kept, judged here again; the same reject within an hour is
-- counted in one row, and a tenant leaves at most limits.event_rejects_per_hour rows in an hour. Returns whether it was kept.
-- Locks: the row of the same reject.
-- Idempotency: none; each call counts.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_event_reject_note(p_tenant_id int, p_event_type text, p_unit_id bigint, p_payload jsonb)
returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    return stepwell._event_reject_keep(p_tenant_id, p_event_type, p_unit_id, p_payload);
end
$$;

-- Keeps a rejected event, as fn_event_reject_note.
create or replace function stepwell._event_reject_keep(p_tenant_id int, p_event_type text, p_unit_id bigint, p_payload jsonb)
returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_problem text;
begin
    p_event_type := stepwell._redact_text(p_event_type);
    v_problem := case
        when exists (select from stepwell.event_type_registry as e where e.event_type = p_event_type and e.is_registered)
            then stepwell._event_payload_problem(p_event_type, p_payload)
        when exists (select from stepwell.handler_event_type as h where h.tenant_id = p_tenant_id and h.event_type = p_event_type)
            then stepwell._handler_event_problem(p_tenant_id, p_event_type, p_payload)
        else 'event_type_not_registered:' || left(p_event_type, 200) end;
    if v_problem is null then
        return false;
    end if;
    update stepwell.event_validation_audit as a set reject_count = a.reject_count + 1, last_at = v_now
    where a.tenant_id = p_tenant_id and a.audit_id = (
        select x.audit_id from stepwell.event_validation_audit as x
        where x.tenant_id = p_tenant_id and x.event_type = left(p_event_type, 200) and x.problems = array[left(v_problem, 1000)]
            and x.rejected_at > v_now - interval '1 hour'
        order by x.audit_id limit 1);
    if found then
        return true;
    end if;
    insert into stepwell.event_validation_audit (tenant_id, event_type, unit_id, payload, problems, rejected_at)
    select p_tenant_id, left(p_event_type, 200), p_unit_id, case when octet_length(p_payload::text) <= 8192
        then stepwell._redact(p_payload, stepwell._redaction_pattern()) end, array[left(v_problem, 1000)], v_now
    where (select count(*) from (
        select from stepwell.event_validation_audit as x
        where x.tenant_id = p_tenant_id and x.rejected_at > v_now - interval '1 hour'
        limit stepwell._limit('limits.event_rejects_per_hour')) as n) < stepwell._limit('limits.event_rejects_per_hour');
    return found;
end
$$;

-- Registers an event type that the handlers of a tenant may emit, with an optional JSON Schema of its payload.
-- Locks: the row of the type.
-- Idempotency: the same registration again changes nothing; another schema replaces the one before.
-- Raises: SW001 for a bad name or schema, or a type of the engine; SW006 when there are too many; SW007 for another tenant.
create or replace function stepwell.fn_event_type_register(
    p_tenant_id int, p_event_type text, p_description text default '', p_schema jsonb default null, p_actor text default null
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant text := case when p_schema is not null then stepwell._schema_refusal(p_schema, 'schema') end;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if p_event_type is null or p_event_type !~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$' or v_problem is not null
        or exists (select from stepwell.event_type_registry as e where e.event_type = p_event_type) then
        raise exception using errcode = 'SW001', column = case when v_problem is null then 'event_type' else 'schema' end,
            message = case when v_problem is not null then v_problem
                when exists (select from stepwell.event_type_registry as e where e.event_type = p_event_type)
                    then format('event_type: %s is an event of the engine; another name is required', p_event_type)
                else 'event_type: 1 to 200 letters, digits, _ . and - are accepted' end;
    end if;
    if (select count(*) from stepwell.handler_event_type as h where h.tenant_id = p_tenant_id and h.event_type <> p_event_type)
        >= stepwell._limit('limits.event_types_per_tenant') then
        raise exception using errcode = 'SW006', column = 'event_type', message = format(
            'event_type: at most %s types are accepted', stepwell._limit('limits.event_types_per_tenant'));
    end if;
    insert into stepwell.handler_event_type as h (tenant_id, event_type, description, payload_schema, registered_at, registered_by)
    values (p_tenant_id, p_event_type, left(coalesce(stepwell._redact_text(p_description), ''), 500), p_schema, stepwell.now(), coalesce(p_actor, stepwell._caller_name()))
    on conflict (tenant_id, event_type) do update set description = excluded.description, payload_schema = excluded.payload_schema
    where (h.description, h.payload_schema) is distinct from (excluded.description, excluded.payload_schema);
end
$$;

-- Why a handler may not emit this event; null when it may.
create or replace function stepwell._handler_event_problem(p_tenant_id int, p_event_type text, p_payload jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_schema jsonb;
    v_problem text;
begin
    select h.payload_schema into v_schema from stepwell.handler_event_type as h
    where h.tenant_id = p_tenant_id and h.event_type = p_event_type;
    if not found then
        return 'event_type_not_registered:' || coalesce(p_event_type, '');
    end if;
    if v_schema is not null then
        v_problem := stepwell._schema_problem(v_schema, p_payload, 'payload');
    end if;
    return 'event_payload_invalid:' || p_event_type || ': ' || v_problem;
end
$$;

-- Appends an event of a handler.
-- Raises: SW004 when its type is not registered or its payload breaks its schema.
create or replace function stepwell._handler_event_append(
    p_tenant_id int, p_unit_id bigint, p_session_id bigint, p_event_type text, p_payload jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant text := stepwell._handler_event_problem(p_tenant_id, p_event_type, p_payload);
begin
    if v_problem is not null then
        raise exception using errcode = 'SW004', detail = jsonb_build_object('codes', array[v_problem],
                'rejected', stepwell._event_rejected(p_tenant_id, p_unit_id, p_event_type, p_payload)),
            hint = 'register it once: app.event_type(…) in Python, fn_event_type_register in SQL',
            message = case when v_problem like 'event_type_not_registered:%' then format('event type %s is not registered', p_event_type)
                else 'event ' || substr(v_problem, length('event_payload_invalid:') + 1) end;
    end if;
    perform stepwell._event_append(p_tenant_id, p_unit_id, 'event.emitted', 'session:' || p_session_id,
        jsonb_build_object('type', p_event_type, 'payload', p_payload), 'executor_worker');
end
$$;

-- What is wrong with the payload of an event under the contract of its type, in one line; null when nothing is.
create or replace function stepwell._event_payload_problem(p_event_type text, p_payload jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'event_payload_invalid:' || p_event_type || ': ' || string_agg(b.problem, '; ' order by b.problem)
    from (
        select case
            when jsonb_typeof(p_payload) is distinct from 'object' and p_payload is not null then 'payload: must be an object'
            when p_payload -> f.field_name is null and f.is_required
                then format('%s: is required (%s)', f.field_name, f.json_type)
            when jsonb_typeof(p_payload -> f.field_name) not in (f.json_type, case when f.is_required then '' else 'null' end)
                then format('%s: must be a %s', f.field_name, f.json_type)
            when f.allowed_values is not null and not (p_payload ->> f.field_name = any (f.allowed_values))
                then format('%s: must be one of %s', f.field_name, array_to_string(f.allowed_values, ', '))
        end as problem
        from stepwell.event_field_def as f
        where f.event_type = p_event_type
    ) as b
    where b.problem is not null
$$;
