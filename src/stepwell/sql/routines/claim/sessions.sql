-- The session of a worker: every lease belongs to a session and is valid as long as the session. Its number is in the log
-- for all to read; its key is a secret that only its worker has, and that every call of the worker carries. How a session
-- ends is in keep/leases.sql.

-- Opens the session of a worker and returns its key, of which only the hash is stored. All its leases will belong to
-- it. Its claims get only the operations it names; without names they get everything of its executor classes. p_takes has
-- the names of the inputs that handlers take: {operation: [name]}; a handler that is not in it takes every input. First
-- the partitions of the log are made that its reports will write to.
-- Locks: as fn_partitions_ensure, then worker_stop, shared.
-- Idempotency: each call opens another session.
-- Raises: SW001 when a class is not registered or a number is out of range; 23514 for the name of the generator.
create or replace function stepwell.fn_worker_register(
    p_worker_name text, p_class_names text[], p_slot_count int, p_lease_seconds int default 30, p_info jsonb default '{}',
    p_operation_names text[] default null, p_takes jsonb default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_worker_name constant text := stepwell._redact_text(p_worker_name);
    v_executor_class_ids int[];
    v_session_key bigint;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    -- The check of the table knows the plain name; case, widths of letters and signs beside them hide none.
    if stepwell._key_plain(split_part(normalize(p_worker_name, nfkc), ':', 1)) in ('mot', 'motheroftask') then
        raise exception using errcode = 'check_violation', constraint = 'the_generator_opens_no_session', table = 'worker_session',
            schema = 'stepwell', message = format('worker_name: %s names the generator, which never executes', p_worker_name);
    end if;
    perform stepwell.fn_partitions_ensure();
    select array_agg(c.executor_class_id) into v_executor_class_ids
    from stepwell.executor_class as c
    where c.class_name = any (p_class_names);
    if coalesce(cardinality(v_executor_class_ids), 0) <> coalesce(cardinality(p_class_names), -1) then
        raise exception using errcode = 'SW001', message = format(
            'classes: not all of %s are registered; registered are %s',
            array_to_string(p_class_names, ', '),
            (select string_agg(c.class_name, ', ' order by c.class_name) from stepwell.executor_class as c));
    end if;
    if p_slot_count not between 1 and 10000 or p_lease_seconds not between 1 and 86400 then
        raise exception using errcode = 'SW001',
            message = case when p_slot_count not between 1 and 10000 then 'slots: 1 to 10000 are accepted'
                else 'lease_seconds: 1 to 86400 are accepted' end;
    end if;
    v_session_key := stepwell._secret_number();
    -- Whoever freezes waits for this, or this sees that it was frozen.
    lock table stepwell.worker_stop in row share mode;
    insert into stepwell.worker_session (
        session_key_hash, worker_name, executor_class_ids, claim_class_ids, slot_count, lease_seconds, started_at, last_tick_at, expires_at, info,
        handler_ids, handler_takes)
    values (sha256(int8send(v_session_key)), v_worker_name, v_executor_class_ids,
        stepwell._claim_classes(v_worker_name, v_executor_class_ids), p_slot_count, p_lease_seconds, v_now, v_now,
        v_now + make_interval(secs => p_lease_seconds), stepwell._redact(p_info, stepwell._redaction_pattern()), stepwell._handlers_of(p_operation_names),
        stepwell._takes_kept(p_takes));
    return v_session_key;
end
$$;

-- The executor classes of which a worker of this name may claim, of those that it serves: none while it is frozen or drains, and
-- none that is frozen.
create or replace function stepwell._claim_classes(p_worker_name text, p_executor_class_ids int[]) returns int[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when exists (select from stepwell.worker_stop as w where w.worker_name = p_worker_name) then '{}'
        else array(select c.class_id from unnest(p_executor_class_ids) as c (class_id)
            where not exists (select from stepwell.worker_stop as w where w.executor_class_id = c.class_id)) end
$$;

-- A number that nobody can guess: 63 bits of the random source of the server.
create or replace function stepwell._secret_number() returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select ('x' || encode(substr(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint
        & 9223372036854775807
$$;

-- Says which operations a worker serves, all of them at once: claims of its session get these and no others. p_takes: as
-- fn_worker_register.
-- Locks: the session row.
-- Idempotency: yes.
-- Raises: SW005 when the session has ended.
create or replace function stepwell.fn_worker_serves(
    p_session_key bigint, p_operation_names text[], p_takes jsonb default null
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    update stepwell.worker_session as s set handler_ids = stepwell._handlers_of(p_operation_names),
        handler_takes = stepwell._takes_kept(p_takes)
    where s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null;
    if not found then
        raise exception using errcode = 'SW005', message = 'the session of this worker has ended';
    end if;
end
$$;

-- What handlers take, as it is stored. Without it every input is sent: so it is left out when it has another form, is large,
-- or has what looks like a secret.
create or replace function stepwell._takes_kept(p_takes jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_takes
    where jsonb_typeof(p_takes) = 'object' and octet_length(p_takes::text) <= 1000000
        and p_takes::text = stepwell._redact_text(p_takes::text)
        and not jsonb_path_exists(p_takes, 'strict $.* ? (@.type() <> "array")', '{}', true)
$$;

-- The handlers of these operations; a name that is new is registered. Null for null: everything.
create or replace function stepwell._handlers_of(p_operation_names text[]) returns int[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_operation_names is null then
        return null;
    end if;
    perform stepwell._secret_refuse('operations', n.operation_name) from unnest(p_operation_names) as n (operation_name);
    insert into stepwell.handler (operation_name)
    select distinct n.operation_name
    from unnest(p_operation_names) as n (operation_name)
    where not exists (select from stepwell.handler as h where h.operation_name = n.operation_name and h.code_version = '')
    order by n.operation_name
    on conflict do nothing;
    return array(select h.handler_id from stepwell.handler as h where h.operation_name = any (p_operation_names) order by h.handler_id);
end
$$;

-- Finds the handler of an operation by its name, before the operation is stored.
create or replace function stepwell._operation_handler() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    new.handler_id := (stepwell._handlers_of(array[new.operation_name]))[1];
    return new;
end
$$;

create or replace trigger operation_finds_its_handler
before insert on stepwell.operation
for each row
execute function stepwell._operation_handler();

-- Extends a session, and so all its leases, by changing one row. Returns the leases that the worker has lost or must
-- stop (cancelled), and deletes the notes of claims that were reported. A row without a unit says that the worker must not claim
-- (frozen, drain): it releases what it has not begun.
-- Locks: the session row.
-- Idempotency: yes.
-- Raises: SW005 when the session has ended: the worker must open a new one.
create or replace function stepwell.fn_worker_heartbeat(
    p_session_key bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_last_batch_id bigint
) returns table (unit_id bigint, lease_no int, reason text)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_session_id bigint;
    v_worker_name text;
    v_is_stopped boolean;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    update stepwell.worker_session as s
    set last_tick_at = v_now, last_ok_at = v_now, held_count = cardinality(p_unit_ids), expires_at = v_now + make_interval(secs => s.lease_seconds)
    where s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= v_now
    returning s.session_id, s.worker_name, s.claim_class_ids = '{}' into v_session_id, v_worker_name, v_is_stopped;
    if not found then
        raise exception using errcode = 'SW005',
            message = 'the session of this worker has ended and its leases with it; open a new one';
    end if;
    delete from stepwell.worker_lease as l where l.session_id = v_session_id and l.batch_id <= p_last_batch_id;
    if cardinality(p_unit_ids) > 0 then
        insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
        values (v_session_id, p_tenant_ids, p_unit_ids);
    end if;
    return query
    select q.unit_id, q.lease_no, case when u.state_code = 'cancelled' then 'cancelled' else 'lost' end
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    left join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.lease_session_id is distinct from v_session_id or u.lease_no <> q.lease_no;
    if v_is_stopped then
        return query
        select 0::bigint, 0, coalesce(min(w.stop_kind), 'frozen') from stepwell.worker_stop as w where w.worker_name = v_worker_name;
    end if;
end
$$;
