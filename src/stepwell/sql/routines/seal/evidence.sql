-- Evidence bundles: everything of a run that can be proved. An event in the log contains the digest of each bundle.

-- What an evidence bundle needs beside the log: the state and definition of the run, the names of its steps for the
-- report, the texts of values whose hashes are in events, and the streams of its approvals and receipts. What a bundle
-- says about them follows from the log. On one snapshot.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell.fn_evidence_read(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run constant jsonb := stepwell._evidence_run(p_tenant_id, p_run_id);
begin
    if v_run is null then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return jsonb_build_object(
        'run', v_run, 'names', stepwell._evidence_names(p_tenant_id, p_run_id),
        'texts', stepwell._evidence_texts(p_tenant_id, p_run_id),
        'streams', stepwell._evidence_streams(p_tenant_id, p_run_id));
end
$$;

-- Binds the contents of an evidence bundle to the log: appends an event of the run with their digest, with the mode in which
-- the run began, and with the number of events that each approval and receipt of the run has. The same contents are bound
-- once; a second call returns the event of the first.
-- Locks: the row of the bundle.
-- Idempotency: by contents.
-- Raises: SW001 for a text that is no digest; SW002 when there is no such run; SW007 for another tenant.
create or replace function stepwell.fn_evidence_seal(
    p_tenant_id int, p_run_id bigint, p_digest text, p_with_payloads boolean, p_actor text
) returns table (event_tx bigint, event_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_is_new boolean;
    v_event_id bigint;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'evidence.seal');
    if p_digest is null or p_digest !~ '^[0-9a-f]{64}$' then
        raise exception using errcode = 'SW001', column = 'digest', message = 'digest: 64 hexadecimal digits are required';
    end if;
    if not exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id) then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    insert into stepwell.evidence_bundle as b
        (tenant_id, run_id, contents_digest, with_payloads, requested_by, requested_at, event_tx, event_id)
    values (p_tenant_id, p_run_id, p_digest, p_with_payloads, p_actor, stepwell.now(), pg_current_xact_id(), 0)
    on conflict (tenant_id, run_id, contents_digest) do nothing;
    v_is_new := found;
    if v_is_new then
        perform stepwell._event_append(p_tenant_id, stepwell._run_unit(p_run_id), 'evidence.sealed', p_actor,
            jsonb_build_object('digest', p_digest, 'with_payloads', p_with_payloads,
                'mode', case when stepwell._run_is_development(p_tenant_id, p_run_id) then 'development' else 'strict' end,
                'streams', stepwell._evidence_counts(p_tenant_id, p_run_id)));
        select max(e.event_id) into v_event_id
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.event_type = 'evidence.sealed'
            and e.tx = pg_current_xact_id();
        update stepwell.evidence_bundle as b set event_id = v_event_id
        where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
    end if;
    return query
    select b.event_tx::text::bigint, b.event_id, v_is_new
    from stepwell.evidence_bundle as b
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
end
$$;

-- Stores the SHA-256 of the bytes of an evidence bundle, and where they were stored last.
-- Locks: the row of the bundle.
-- Idempotency: yes; other bytes for the same contents are refused.
-- Raises: SW002 when its contents were never sealed; SW003 when other bytes are recorded; SW007 when the caller may not seal,
--   or for another tenant.
create or replace function stepwell.fn_evidence_record(
    p_tenant_id int, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_sha256 text;
begin
    perform stepwell._verb_check(p_tenant_id, 'evidence.seal');
    select b.bundle_sha256 into v_sha256
    from stepwell.evidence_bundle as b
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest
    for update;
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s has no bundle with these contents', p_run_id);
    end if;
    if v_sha256 <> p_sha256 then
        raise exception using errcode = 'SW003',
            message = format('the bundle of run %s was recorded as %s and is now %s', p_run_id, v_sha256, p_sha256),
            hint = 'run stepwell audit verify: the log or its seal may have been changed';
    end if;
    update stepwell.evidence_bundle as b set
        bundle_sha256 = p_sha256, size_bytes = p_size_bytes, stored_at = stepwell.now(), stored_url = left(stepwell._redact_text(p_url), 2000)
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
end
$$;

-- What an event says about a value that is stored beside the log: its size, and its salted hash as an evidence bundle
-- shows it. Null for no value. The event proves the value without showing it.
-- Locks: the chain of the tenant, only when it has none yet.
create or replace function stepwell._value_digest(p_tenant_id int, p_label text, p_value jsonb) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_salt bytea;
begin
    if p_value is null then
        return null;
    end if;
    select c.salt into v_salt from stepwell.audit_chain as c where c.tenant_id = p_tenant_id;
    if not found then
        v_salt := (stepwell._audit_chain_lock(p_tenant_id)).salt;
    end if;
    return jsonb_build_object('size', octet_length(p_value::text), 'commitment', encode(sha256('\x02'::bytea
        || sha256('\x03'::bytea || v_salt || convert_to(p_label, 'UTF8')) || convert_to(p_value::text, 'UTF8')), 'hex'));
end
$$;

-- Whether a run began while the database was in development mode.
create or replace function stepwell._run_is_development(p_tenant_id int, p_run_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (select from stepwell.run_detail as r
        inner join stepwell.fn_mode_read() as m on m.mode = 'development' or r.created_at < m.since
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id)
$$;

-- The run: its state, its tenant, its definition as the text that was hashed, its sub-workflow runs; null when there is
-- no such run.
create or replace function stepwell._evidence_run(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object('run_id', r.run_id, 'tenant', t.tenant_code, 'workflow', w.workflow_name,
        'version_no', v.version_no, 'graph', stepwell.version_graph(v.tenant_id, v.version_id)::text, 'graph_hash', v.graph_hash, 'state_code', u.state_code,
        'is_development', stepwell._run_is_development(r.tenant_id, r.run_id),
        'child_run_ids', array(select c.run_id from stepwell.run_detail as c
            where c.tenant_id = r.tenant_id and c.parent_unit_id between stepwell._run_unit(r.run_id) and stepwell._run_last(r.run_id)
            order by c.run_id))
    from stepwell.run_detail as r
    inner join stepwell.tenant as t on r.tenant_id = t.tenant_id
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = stepwell._run_unit(r.run_id)
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id
$$;

-- The names of the steps and tasks of a run by unit, for the report: the definition has no names of tasks and items.
create or replace function stepwell._evidence_names(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_object_agg(u.unit_id, coalesce(k.task_id, d.step_id)
        || case when d.scope_no <> 0 then '[' || coalesce(u.item_no, 0) || ']' else '' end)
        filter (where coalesce(k.task_id, d.step_id) is not null), '{}')
    from stepwell.work_unit as u
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join stepwell.task_detail as k on u.tenant_id = k.tenant_id and u.unit_id = k.unit_id
    where u.tenant_id = p_tenant_id and u.scope in ('step', 'task')
        and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
$$;

-- The values of receipts and approvals as the texts that are hashed, by label. The events of the receipt or approval have
-- the hashes (_value_digest).
create or replace function stepwell._evidence_texts(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_object_agg(x.label, x.content), '{}') from (
        select 'receipt:' || a.receipt_id || ':' || m.name as label, m.content::text as content
        from stepwell.action_receipt as a
        cross join lateral (select y.* from stepwell.v_receipt_payload as y
            where y.tenant_id = a.tenant_id and y.receipt_id = a.receipt_id offset 0) as y
        cross join lateral (values ('request', y.request_metadata), ('response', y.response_metadata),
            ('prior', y.prior), ('reversal', y.reversal)) as m (name, content)
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id and m.content is not null
        union all
        select 'approval:' || a.approval_id || ':about', y.about::text
        from stepwell.approval_detail as a
        cross join lateral (select y.about from stepwell.v_approval_payload as y
            where y.tenant_id = a.tenant_id and y.approval_id = a.approval_id offset 0) as y
        where a.tenant_id = p_tenant_id and y.about is not null
            and a.subject_unit_id between stepwell._run_unit(p_run_id) and stepwell._run_last(p_run_id)
    ) as x
$$;

-- The streams of the approvals about a run and of its receipts. Events name them too; earlier releases named only some.
create or replace function stepwell._evidence_streams(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(x.stream_id order by x.stream_id), '[]') from (
        select stepwell._run_of(a.receipt_id) as stream_id from stepwell.action_receipt as a
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id
        union
        select stepwell._run_of(a.approval_id) from stepwell.approval_detail as a
        where a.tenant_id = p_tenant_id
            and a.subject_unit_id between stepwell._run_unit(p_run_id) and stepwell._run_last(p_run_id)
    ) as x
$$;

-- Those streams and all that events of the run name, each with the number of its events in the log.
create or replace function stepwell._evidence_counts(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(jsonb_build_array(x.stream_id, x.event_count) order by x.stream_id), '[]')
    from (
        select s.stream_id, (select count(*) from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.run_id = s.stream_id) as event_count
        from (
            select t.stream_id::bigint as stream_id
            from jsonb_array_elements_text(stepwell._evidence_streams(p_tenant_id, p_run_id)) as t (stream_id)
            union
            select stepwell._run_of(n.unit_id::bigint)
            from stepwell.event_log as e
            cross join lateral (values (e.payload ->> 'approval_id'), (e.payload ->> 'receipt_id')) as n (unit_id)
            where e.tenant_id = p_tenant_id and e.run_id = p_run_id and n.unit_id ~ '^\d{1,18}$'
                and (e.event_type like 'action.%' or e.event_type like 'approval.%')
        ) as s
        where s.stream_id <> p_run_id
    ) as x
    where x.event_count > 0
$$;
