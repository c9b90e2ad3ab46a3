-- Evidence bundles: everything of a run that can be proved. An event in the log contains the digest of each bundle.

-- Everything of a run that its evidence bundle contains, except the events: on one snapshot, times in UTC.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell.fn_evidence_read(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
set timezone = 'UTC'
as $$
declare
    v_run constant jsonb := stepwell._evidence_run(p_tenant_id, p_run_id);
begin
    if v_run is null then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return jsonb_build_object(
        'run', v_run, 'steps', stepwell._evidence_steps(p_tenant_id, p_run_id),
        'values', stepwell._evidence_values(p_tenant_id, p_run_id),
        'approvals', stepwell._evidence_approvals(p_tenant_id, p_run_id),
        'decisions', stepwell._evidence_verdicts(p_tenant_id, p_run_id),
        'receipts', stepwell._evidence_receipts(p_tenant_id, p_run_id));
end
$$;

-- Binds the contents of an evidence bundle to the log: appends an event of the run with their digest. The same contents
-- are bound once; a second call returns the event of the first.
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
    perform stepwell._tenant_bound(p_tenant_id);
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
            jsonb_build_object('digest', p_digest, 'with_payloads', p_with_payloads));
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
-- Raises: SW002 when its contents were never sealed; SW003 when other bytes are recorded; SW007 for another tenant.
create or replace function stepwell.fn_evidence_record(
    p_tenant_id int, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_sha256 text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
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
        bundle_sha256 = p_sha256, size_bytes = p_size_bytes, stored_at = stepwell.now(), stored_url = left(p_url, 2000)
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
end
$$;

-- The run itself, without its input; null when there is no such run.
create or replace function stepwell._evidence_run(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select to_jsonb(x) from (
        select r.run_id, t.tenant_code as tenant, w.workflow_name as workflow, v.version_no, v.graph_hash,
            u.state_code, p.rollup_state_code as rollup, r.trigger_type, r.trigger_ref, r.started_by, r.trace_id,
            r.correlation_id, r.created_at, r.finished_at, stepwell._run_of(r.parent_unit_id) as parent_run_id,
            array(select c.run_id from stepwell.run_detail as c
                where c.tenant_id = r.tenant_id and c.parent_unit_id between stepwell._run_unit(r.run_id) and stepwell._run_unit(r.run_id + 1) - 1
                order by c.run_id) as child_run_ids
        from stepwell.run_detail as r
        inner join stepwell.tenant as t on r.tenant_id = t.tenant_id
        inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
        inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = stepwell._run_unit(r.run_id)
        inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id
    ) as x
$$;

-- The steps and tasks of a run: state, attempts, times, who was in charge.
create or replace function stepwell._evidence_steps(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.unit_id), '[]') from (
        select u.unit_id, u.scope, d.step_kind as kind, u.state_code,
            coalesce(k.task_id, d.step_id) || case when d.scope_no <> 0 then '[' || coalesce(u.item_no, 0) || ']' else '' end
                as name,
            o.operation_name as operation, u.mandatory, u.attempt_count, u.failure_class, n.person_name as pic,
            u.started_at, u.completed_at, u.deadline_at, u.completed_after_deadline
        from stepwell.work_unit as u
        left join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        left join stepwell.task_detail as k on u.tenant_id = k.tenant_id and u.unit_id = k.unit_id
        left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        left join stepwell.person as n on u.tenant_id = n.tenant_id and u.pic_id = n.person_id
        where u.tenant_id = p_tenant_id and u.scope in ('step', 'task')
            and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_unit(p_run_id + 1) - 1
    ) as x
$$;

-- The approvals about a run, and who decided what.
create or replace function stepwell._evidence_approvals(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.approval_id), '[]') from (
        select a.approval_id, u.state_code, a.action, a.subject_unit_id, a.tier, a.quorum, a.requested_by, a.acting,
            a.approvers, a.approver_role, a.reason, a.requested_at, a.expires_at, a.decided_at, a.decided_by, (
                select coalesce(jsonb_agg(jsonb_build_object('voter', v.voter, 'decision', v.decision, 'reason', v.reason,
                    'voted_at', v.voted_at) order by v.voted_at, v.voter), '[]')
                from stepwell.approval_vote as v
                where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id
            ) as votes
        from stepwell.approval_detail as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
        where a.tenant_id = p_tenant_id
            and a.subject_unit_id between stepwell._run_unit(p_run_id) and stepwell._run_unit(p_run_id + 1) - 1
    ) as x
$$;

-- The verdicts of the policy on the actions of a run.
create or replace function stepwell._evidence_verdicts(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.decision_id), '[]') from (
        select d.verdict_id as decision_id, d.unit_id, d.lease_no as attempt, d.connector, d.operation, d.target, d.idempotency_key,
            d.action_hash, d.effect, d.reason_code, d.reason, p.version_no as policy_version, p.rules_hash, d.rule_name,
            d.tier, d.two_person, d.approval_id, d.decided_at
        from stepwell.policy_verdict as d
        left join stepwell.policy_set as p on d.tenant_id = p.tenant_id and d.policy_set_id = p.policy_set_id
        where d.tenant_id = p_tenant_id and d.unit_id between stepwell._run_unit(p_run_id) and stepwell._run_unit(p_run_id + 1) - 1
    ) as x
$$;

-- The receipts of the effects of a run in other systems, as metadata.
create or replace function stepwell._evidence_receipts(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.receipt_id), '[]') from (
        select a.receipt_id, u.state_code, a.unit_id, a.step_id, a.lease_no as attempt, a.try_count, a.idempotency_key,
            a.connector, a.operation, a.target, a.action_hash, a.writes, a.reversible, a.external_id, a.provider, a.model,
            a.input_tokens, a.output_tokens, a.cost_micros, a.currency, a.verdict_id as decision_id, a.approval_id, a.requested_by,
            a.acting, a.reverses_receipt_id, a.reversed_by_receipt_id, a.settled_by, a.intended_at, a.settled_at
        from stepwell.action_receipt as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.receipt_id = u.unit_id
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id
    ) as x
$$;

-- The values of a run as the texts that are hashed: its input, every output, every failure, and the values of receipts
-- and approvals. A bundle shows their size, names and salted hash; the texts only when asked.
create or replace function stepwell._evidence_values(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with unit as (
        select (stepwell._run_unit(p_run_id)) as first_id, stepwell._run_unit(p_run_id + 1) - 1 as last_id
    ), value (kind, label, unit_id, attempt, at, text) as (
        select 'input', 'input:' || r.run_id, stepwell._run_unit(r.run_id), null::int, r.created_at, r.input::text
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id
        union all
        select 'shown', 'shown:' || i.unit_id || ':' || i.binding_no, i.unit_id, null, i.bound_at, i.inputs::text
        from stepwell.step_input as i
        inner join unit on i.unit_id between unit.first_id and unit.last_id
        where i.tenant_id = p_tenant_id
        union all
        select 'output', 'output:' || o.unit_id || ':' || o.lease_no, o.unit_id, o.lease_no, o.created_at, o.output::text
        from stepwell.unit_output as o
        inner join unit on o.unit_id between unit.first_id and unit.last_id
        where o.tenant_id = p_tenant_id
        union all
        select 'failure', 'failure:' || f.unit_id || ':' || f.lease_no || ':' || extract(epoch from f.failed_at), f.unit_id,
            f.lease_no, f.failed_at, f.error::text
        from stepwell.unit_failure as f
        inner join unit on f.unit_id between unit.first_id and unit.last_id
        where f.tenant_id = p_tenant_id
        union all
        select 'receipt', 'receipt:' || a.receipt_id || ':' || m.name, a.unit_id, a.lease_no, a.intended_at, m.content::text
        from stepwell.action_receipt as a
        cross join lateral (values ('request', a.request_metadata), ('response', a.response_metadata),
            ('prior', a.prior), ('reversal', a.reversal)) as m (name, content)
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id and m.content is not null
        union all
        select 'approval', 'approval:' || a.approval_id || ':about', a.subject_unit_id, null, a.requested_at, a.about::text
        from stepwell.approval_detail as a
        inner join unit on a.subject_unit_id between unit.first_id and unit.last_id
        where a.tenant_id = p_tenant_id and a.about is not null
    )
    select coalesce(jsonb_agg(to_jsonb(v) order by v.kind, v.unit_id, v.at, v.label), '[]') from value as v
$$;
