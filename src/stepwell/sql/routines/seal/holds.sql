-- The evidence file of an incident hold: what it was, what it stopped, its clocks and denials, and its events as they are sealed in
-- the log. A keeper makes it by itself when the hold has ended and its last event is sealed.

-- The evidence of a hold so far: events that are sealed have their block and place in it, with the leaves of the block; others have
-- none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such hold.
create or replace function stepwell.fn_hold_evidence_read(p_tenant_id int, p_hold_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_kept constant text := (select e.content from stepwell.incident_hold_evidence as e
        where e.tenant_id = p_tenant_id and e.hold_id = p_hold_id);
    v_made jsonb;
begin
    if v_kept is not null then
        return v_kept::jsonb;
    end if;
    v_made := stepwell._hold_evidence(p_tenant_id, p_hold_id);
    if v_made is null then
        raise exception using errcode = 'SW002', column = 'hold_id', message = format('hold %s does not exist', p_hold_id),
            hint = 'stepwell hold list shows the holds';
    end if;
    return v_made;
end
$$;

-- What differs between an evidence file and the log: the event hold.evidence_made tells the digest of the file that the keeper made.
-- A file of a hold that has not ended has no digest yet.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing of its own.
create or replace function stepwell.fn_hold_evidence_compare(p_tenant_id int, p_document jsonb) returns text[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_hold_id constant bigint := (p_document -> 'hold' ->> 'hold_id')::bigint;
    v_told constant text := (select e.payload ->> 'sha256' from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = v_hold_id and e.event_type = 'hold.evidence_made'
        order by e.tx, e.event_id limit 1);
    v_kept constant text := (select x.content from stepwell.incident_hold_evidence as x
        where x.tenant_id = p_tenant_id and x.hold_id = v_hold_id);
begin
    if v_told is null then
        return case when p_document -> 'hold' ->> 'ended_at' is null then array[]::text[]
            else array['the log has no digest of this file yet; export it again after the keeper made it'] end;
    elsif v_kept is null or encode(sha256(convert_to(v_kept, 'UTF8')), 'hex') <> v_told then
        return array['the database does not have the file any more whose digest is in the log'];
    elsif v_kept::jsonb <> p_document and p_document -> 'hold' ->> 'ended_at' is not null then
        return array['it is not the file whose digest is in the log: ' || (
            select string_agg(k.key || ' differs', ', ' order by k.key)
            from (select jsonb_object_keys(v_kept::jsonb || p_document) as key) as k
            where v_kept::jsonb -> k.key is distinct from p_document -> k.key)];
    end if;
    return array[]::text[];
end
$$;

-- The evidence of a hold; null when there is no such hold.
create or replace function stepwell._hold_evidence(p_tenant_id int, p_hold_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with event as materialized (
        select x.*, x.payload::text as told from stepwell._hold_events(p_tenant_id, p_hold_id) as x
    ), placed as materialized (
        select e.event_id, l.block_no, array_position(l.event_ids, e.event_id) - 1 as leaf_no,
            l.value_hashes[array_position(l.event_ids, e.event_id)] as value_hashes
        from event as e
        cross join lateral (
            select b.block_no from stepwell.audit_block as b
            where b.tenant_id = p_tenant_id and (b.last_tx, b.last_event_id) >= (e.tx, e.event_id)
            order by b.last_tx, b.last_event_id limit 1
        ) as b
        inner join stepwell.audit_leaves as l on l.tenant_id = p_tenant_id and b.block_no = l.block_no and e.event_id = any (l.event_ids)
    )
    select jsonb_build_object(
        'format', 'stepwell.hold-evidence.1', 'tenant', t.tenant_code, 'tenant_id', h.tenant_id,
        'chain_id', (select c.chain_id from stepwell.audit_chain as c where c.tenant_id = p_tenant_id),
        'hold', jsonb_build_object('hold_id', h.hold_id::text, 'scope_kind', h.scope_kind, 'scope_value', h.scope_value,
            'reason', h.reason, 'share', h.share, 'reach', h.reach, 'opened_at', stepwell._utc_text(h.opened_at), 'opened_by', h.opened_by,
            'opened_event_id', h.opened_event_id::text, 'graded_at', stepwell._utc_text(h.graded_at), 'graded_by', h.graded_by,
            'released_at', stepwell._utc_text(h.released_at), 'released_by', h.released_by, 'released_event_id', h.released_event_id::text,
            'ended_at', stepwell._utc_text(h.ended_at), 'outcome', h.outcome, 'operations', (
                select coalesce(jsonb_agg(o.operation_name order by o.operation_name), '[]')
                from stepwell.incident_hold_operation as x
                inner join stepwell.operation as o on x.tenant_id = o.tenant_id and x.operation_id = o.operation_id
                where x.tenant_id = p_tenant_id and x.hold_id = p_hold_id)),
        'clocks', (select coalesce(jsonb_agg(jsonb_build_object('unit_id', c.unit_id::text, 'stopped_at', stepwell._utc_text(c.stopped_at),
                'deadline_from', stepwell._utc_text(c.deadline_at), 'deadline_to', stepwell._utc_text(c.deadline_at + c.held_for),
                'moved_at', stepwell._utc_text(c.moved_at), 'held_seconds', round(extract(epoch from c.held_for), 3),
                'stopped_event_id', c.stopped_event_id::text, 'moved_event_id', c.moved_event_id::text) order by c.unit_id, c.clock_no), '[]')
            from (select x.* from stepwell.incident_hold_clock as x where x.tenant_id = p_tenant_id and x.hold_id = p_hold_id
                order by x.unit_id, x.clock_no limit stepwell._limit('limits.hold_evidence_rows')) as c),
        'denials', (select coalesce(jsonb_agg(jsonb_build_object('verdict_id', v.verdict_id::text, 'unit_id', v.unit_id::text,
                'connector', v.connector, 'operation', v.operation, 'at', stepwell._utc_text(v.decided_at)) order by v.verdict_id), '[]')
            from (select x.* from stepwell.policy_verdict as x where x.tenant_id = p_tenant_id and x.reason_code = 'held'
                and x.decided_at >= h.opened_at and x.reason like 'hold ' || p_hold_id || ' on %'
                order by x.verdict_id limit stepwell._limit('limits.hold_evidence_rows')) as v),
        'events', (select coalesce(jsonb_agg(jsonb_build_object('tx', e.tx::text::bigint, 'event_id', e.event_id, 'at', stepwell._utc_text(e.at),
                'stream_id', e.run_id, 'unit_id', e.unit_id, 'request_id', e.request_id, 'event_type', e.event_type, 'from_state', e.from_state,
                'to_state', e.to_state, 'actor_class', e.actor_class, 'actor', e.actor, 'audit_ref', e.audit_ref, 'trace_id', e.trace_id,
                'correlation_id', e.correlation_id, 'payload_size', octet_length(e.told), 'payload_commitment',
                encode(sha256('\x02'::bytea || s.salt || convert_to(e.told, 'UTF8')), 'hex'), 'payload', e.told,
                'salt', encode(s.salt, 'hex'), 'block_no', p.block_no, 'leaf_no', p.leaf_no,
                'values', (select coalesce(jsonb_agg(encode(substr(p.value_hashes, n * 32 + 1, 32), 'hex') order by n), '[]')
                    from generate_series(0, coalesce(octet_length(p.value_hashes), 0) / 32 - 1) as n)) order by e.tx, e.event_id), '[]')
            from event as e
            left join placed as p on e.event_id = p.event_id
            left join lateral (select sha256('\x03'::bytea || c.salt || convert_to('event:' || e.tx::text || ':' || e.event_id, 'UTF8')) as salt
                from stepwell.audit_chain as c where c.tenant_id = p_tenant_id) as s on true),
        'blocks', (select coalesce(jsonb_agg(jsonb_build_object('block_no', b.block_no, 'first_tx', b.first_tx::text::bigint,
                'first_event_id', b.first_event_id, 'last_tx', b.last_tx::text::bigint, 'last_event_id', b.last_event_id,
                'first_at', stepwell._utc_text(b.first_at), 'last_at', stepwell._utc_text(b.last_at), 'event_count', b.event_count,
                'event_root', encode(b.event_root, 'hex'), 'stream_count', b.stream_count, 'stream_root', encode(b.stream_root, 'hex'),
                'history_root', encode(b.history_root, 'hex'), 'previous_hash', encode(b.previous_hash, 'hex'),
                'sealed_at', stepwell._utc_text(b.sealed_at), 'block_hash', encode(b.block_hash, 'hex'),
                'leaves', encode(l.leaf_hashes, 'hex')) order by b.block_no), '[]')
            from stepwell.audit_block as b
            inner join stepwell.audit_leaves as l on b.tenant_id = l.tenant_id and b.block_no = l.block_no
            where b.tenant_id = p_tenant_id and b.block_no in (select p.block_no from placed as p)))
    from stepwell.incident_hold as h
    inner join stepwell.tenant as t on h.tenant_id = t.tenant_id
    where h.tenant_id = p_tenant_id and h.hold_id = p_hold_id
$$;

-- The events of a hold: its own stream, and those of the clocks that it stopped and moved.
create or replace function stepwell._hold_events(p_tenant_id int, p_hold_id bigint) returns setof stepwell.event_log
language sql stable
set search_path = stepwell, pg_temp
as $$
    select e.* from stepwell.event_log as e
    where e.tenant_id = p_tenant_id and e.run_id = p_hold_id and e.event_type <> 'hold.evidence_made'
    union all
    select e.*
    from (
        select c.unit_id, c.stopped_event_id, c.moved_event_id from stepwell.incident_hold_clock as c
        where c.tenant_id = p_tenant_id and c.hold_id = p_hold_id
        order by c.unit_id, c.clock_no limit stepwell._limit('limits.hold_evidence_rows')
    ) as c
    cross join lateral (
        select x.* from stepwell.event_log as x
        where x.tenant_id = p_tenant_id and x.run_id = stepwell._run_of(c.unit_id) and x.event_id in (c.stopped_event_id, c.moved_event_id) offset 0
    ) as e
$$;

-- Makes the evidence files of up to n holds that have ended and whose events are all sealed; the log gets the digest of each.
-- Returns how many.
create or replace function stepwell._hold_evidences_make(p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_hold record;
    v_content text;
    v_sha256 text;
    v_count int := 0;
begin
    for v_hold in
        select h.tenant_id, h.hold_id
        from stepwell.incident_hold as h
        where h.ended_at is not null
            and not exists (select from stepwell.incident_hold_evidence as e where e.tenant_id = h.tenant_id and e.hold_id = h.hold_id)
            and exists (
                select from stepwell.event_log as e
                inner join stepwell.audit_chain as c on e.tenant_id = c.tenant_id
                where e.tenant_id = h.tenant_id and e.run_id = h.hold_id and e.event_type = 'hold.ended'
                    and (e.tx, e.event_id) <= (c.last_tx, c.last_event_id))
        order by h.ended_at
        limit p_limit
    loop
        v_content := stepwell._hold_evidence(v_hold.tenant_id, v_hold.hold_id)::text;
        v_sha256 := encode(sha256(convert_to(v_content, 'UTF8')), 'hex');
        insert into stepwell.incident_hold_evidence (tenant_id, hold_id, content, content_sha256, made_at)
        values (v_hold.tenant_id, v_hold.hold_id, v_content, v_sha256, stepwell.now())
        on conflict do nothing;
        if found then
            perform stepwell._event_append(v_hold.tenant_id, stepwell._run_unit(v_hold.hold_id), 'hold.evidence_made', 'engine',
                jsonb_build_object('sha256', v_sha256));
            v_count := v_count + 1;
        end if;
    end loop;
    return v_count;
end
$$;
