-- What a keeper reads to make the bundle of a run that waits for one, and how it stores the bundle. A keeper can read no
-- table; these functions give it this one run, its approvals and receipts, and the hashes of the blocks that sealed them,
-- from the end of the run until its bundle is stored. Of other runs in these blocks it gets hashes, positions and the
-- number of their events. The same reads of a person who exports are in store/calls/audit.py, under row level security.

-- Refuses a run that does not wait for its bundle, or has not ended.
-- Raises: SW002 for such a run; SW007 for another tenant.
create or replace function stepwell._evidence_due_check(p_tenant_id int, p_run_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if not exists (select from stepwell.evidence_due as d
        inner join stepwell.run_detail as r on d.tenant_id = r.tenant_id and d.run_id = r.run_id
        where d.tenant_id = p_tenant_id and d.run_id = p_run_id and r.finished_at is not null) then
        raise exception using errcode = 'SW002', message = format('run %s does not wait for a bundle', p_run_id);
    end if;
end
$$;

-- The streams of a bundle: the run, its approvals and receipts, and those that its events name. Never another run.
create or replace function stepwell._evidence_due_streams(p_tenant_id int, p_run_id bigint) returns bigint[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select array_agg(distinct s.stream_id) from (
        select p_run_id as stream_id
        union all
        select t.stream_id::bigint from jsonb_array_elements_text(stepwell._evidence_streams(p_tenant_id, p_run_id)) as t (stream_id)
        union all
        select stepwell._run_of((n.named #>> '{}')::bigint)
        from stepwell.event_log as e
        cross join lateral (values (e.payload -> 'approval_id'), (e.payload -> 'receipt_id')) as n (named)
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.event_type ~ '^(action|approval)\.'
            and jsonb_typeof(n.named) = 'number' and n.named #>> '{}' ~ '^[0-9]{1,18}$'
    ) as s
    where s.stream_id = p_run_id
        or not exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = s.stream_id)
$$;

-- What a bundle needs beside the log, as fn_evidence_read, with the largest number of events.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_run(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    return stepwell.fn_evidence_read(p_tenant_id, p_run_id)
        || jsonb_build_object('event_limit', stepwell._limit('limits.evidence_events'));
end
$$;

-- The chain of the tenant.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_chain(p_tenant_id int, p_run_id bigint) returns setof stepwell.audit_chain
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    return query select c.* from stepwell.audit_chain as c where c.tenant_id = p_tenant_id;
end
$$;

-- The headers of the blocks of the tenant: the proof of a bundle contains the history of its head.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_blocks(p_tenant_id int, p_run_id bigint) returns setof stepwell.audit_block
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    return query select b.* from stepwell.audit_block as b where b.tenant_id = p_tenant_id;
end
$$;

-- The entries of the streams of the bundle, or all entries of one block that has one of them.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_entries(p_tenant_id int, p_run_id bigint, p_block_no bigint)
returns setof stepwell.audit_block_stream
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_streams bigint[];
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    v_streams := stepwell._evidence_due_streams(p_tenant_id, p_run_id);
    if p_block_no is null then
        return query select s.* from stepwell.audit_block_stream as s
        where s.tenant_id = p_tenant_id and s.run_id = any (v_streams);
    else
        return query select s.* from stepwell.audit_block_stream as s
        where s.tenant_id = p_tenant_id and s.block_no = p_block_no and exists (
            select from stepwell.audit_block_stream as o
            where o.tenant_id = p_tenant_id and o.block_no = p_block_no and o.run_id = any (v_streams));
    end if;
end
$$;

-- The hashes of all leaves of one block that has events of the bundle, joined; null when they were archived.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_hashes(p_tenant_id int, p_run_id bigint, p_block_no bigint) returns bytea
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_streams bigint[];
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    v_streams := stepwell._evidence_due_streams(p_tenant_id, p_run_id);
    return (
        select l.leaf_hashes from stepwell.audit_leaves as l
        where l.tenant_id = p_tenant_id and l.block_no = p_block_no and exists (
            select from stepwell.audit_block_stream as o
            where o.tenant_id = p_tenant_id and o.block_no = p_block_no and o.run_id = any (v_streams)));
end
$$;

-- The places of the events of the bundle in one block, from 0, and the joined hashes of the values that they carry.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_places(p_tenant_id int, p_run_id bigint, p_block_no bigint)
returns table (tx bigint, event_id bigint, leaf_no int, value_hashes bytea)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_streams bigint[];
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    v_streams := stepwell._evidence_due_streams(p_tenant_id, p_run_id);
    return query
    select u.tx, u.event_id, u.no::int - 1, u.value_hash
    from stepwell.audit_leaves as l
    cross join lateral unnest(l.unit_ids, l.txs, l.event_ids, l.value_hashes)
        with ordinality as u (unit_id, tx, event_id, value_hash, no)
    where l.tenant_id = p_tenant_id and l.block_no = p_block_no and stepwell._run_of(u.unit_id) = any (v_streams);
end
$$;

-- The events of the streams of the bundle, one more than a bundle may have.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_events(p_tenant_id int, p_run_id bigint) returns setof stepwell.event_log
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_streams bigint[];
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    -- Not in the condition: a plan that reads the log row by row would ask for every row.
    v_streams := stepwell._evidence_due_streams(p_tenant_id, p_run_id);
    return query select e.* from stepwell.event_log as e
    where e.tenant_id = p_tenant_id and e.run_id = any (v_streams)
    order by e.tx, e.event_id
    limit stepwell._limit('limits.evidence_events') + 1;
end
$$;

-- The values of the units of the run beside the log.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_values(p_tenant_id int, p_run_id bigint, p_unit_ids bigint[])
returns table (unit_id bigint, label text, at timestamptz, content text, facts json)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    return query select v.unit_id, v.label, v.at, v.content, v.facts::json
    from stepwell._audit_value_texts(p_tenant_id, array(
        select u.unit_id from unnest(p_unit_ids) as u (unit_id) where stepwell._run_of(u.unit_id) = p_run_id)) as v;
end
$$;

-- Binds the contents of the bundle to the log, as fn_evidence_seal does, by the engine and without values.
-- Locks: the row of the bundle.
-- Idempotency: by contents.
-- Raises: SW001 for a text that is no digest; SW002 when the run does not wait for a bundle; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_seal(p_tenant_id int, p_run_id bigint, p_digest text)
returns table (event_tx bigint, event_id bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    return query select s.event_tx, s.event_id from stepwell.fn_evidence_seal(p_tenant_id, p_run_id, p_digest, false, 'engine') as s;
end
$$;

-- The bundle was made: stores its bytes in the database if it has no address, records it, and the run waits no longer; unless
-- it has events after those of the bundle, because it went on and ended again in the meantime.
-- Locks: the row of the bundle.
-- Idempotency: a run that no longer waits is refused.
-- Raises: SW001 without address and bytes; SW002 when the run does not wait for a bundle or its contents were never sealed;
-- SW003 when other bytes are recorded; SW006 over the limit; SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_store(
    p_tenant_id int, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text, p_data bytea
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._evidence_due_check(p_tenant_id, p_run_id);
    if p_url is null then
        if p_data is null or encode(sha256(p_data), 'hex') is distinct from p_sha256 then
            raise exception using errcode = 'SW001', column = 'data',
                message = 'data: a bundle without an address needs its bytes, with this sha256';
        end if;
        if octet_length(p_data) > stepwell._limit('limits.evidence_bytes') then
            raise exception using errcode = 'SW006', column = 'data', message = format(
                'data: a bundle of %s bytes is not stored in the database; at most %s are accepted', octet_length(p_data),
                stepwell._limit('limits.evidence_bytes')), hint = 'set STEPWELL_EVIDENCE_STORE to a folder or an object store';
        end if;
        insert into stepwell.evidence_file (tenant_id, run_id, contents_digest, data, stored_at)
        values (p_tenant_id, p_run_id, p_digest, p_data, stepwell.now())
        on conflict (tenant_id, run_id, contents_digest) do nothing;
    end if;
    perform stepwell.fn_evidence_record(p_tenant_id, p_run_id, p_digest, p_sha256, p_size_bytes, coalesce(p_url, 'database'));
    delete from stepwell.evidence_due as d
    where d.tenant_id = p_tenant_id and d.run_id = p_run_id and not exists (
        select from stepwell.event_log as e
        inner join stepwell.evidence_bundle as b
            on e.tenant_id = b.tenant_id and e.run_id = b.run_id and (e.tx, e.event_id) > (b.event_tx, b.event_id)
        where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest
            and e.event_type <> 'evidence.sealed');
end
$$;
