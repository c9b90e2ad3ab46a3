-- A handler wants to act on another system. The policy judges the action, an approval may be required, and a receipt is
-- written before the effect.

-- Answers whether a handler may act on another system. Finds the receipt of the idempotency key, judges by policy,
-- requests an approval where one is required and, when the action is allowed, writes the receipt as intended before
-- anything happens. Answers: go, cached, doubt, busy, conflict, deny, held, wait, rejected, expired, cancelled.
-- Locks: the run when an approval is required; the unit (shared) so that the lease stays; then the receipt; then the
--   write counts of the run and the runs above.
-- Idempotency: by (tenant, idempotency key): a confirmed effect is returned, never made again.
-- Raises: SW001 and SW006 for an action that cannot be read; SW005 when the session does not have the lease any more;
--   SW007 for another tenant and for the generator; 40001 to try again.
create or replace function stepwell.fn_action_propose(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb, p_fault text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._session_id_of(p_session_key);
    v_action jsonb;
    v_document jsonb;
    v_verdict jsonb;
    v_receipt record;
    v_approval_id bigint;
    v_permit text;
    v_receipt_id bigint;
    v_verdict_id bigint;
begin
    perform stepwell._executes_check() where coalesce(current_setting('stepwell.binding', true), '') <> '';
    perform stepwell._tenant_bound(p_tenant_id);
    v_action := stepwell._action_read(p_action);
    v_document := stepwell._action_document(v_session_id, p_tenant_id, p_unit_id, v_action);
    -- Judged before the unit is locked: so a slow rule does not delay a cancel.
    v_verdict := case when p_fault is null
        then coalesce(stepwell._action_type_verdict(p_action), stepwell.fn_policy_evaluate(p_tenant_id, v_document))
        else jsonb_build_object('effect', 'deny', 'reason_code', p_fault, 'reason', 'the policy gave no answer in time') end;
    v_action := v_action || jsonb_build_object('key', stepwell._action_key(p_tenant_id, p_unit_id, v_action, v_verdict));
    if v_verdict ->> 'effect' = 'needs_approval' then
        -- An approval marks the run, and a run must be locked before its units.
        perform stepwell._runs_lock(array[p_tenant_id], array[p_unit_id]);
    end if;
    perform stepwell._lease_hold(p_session_key, p_tenant_id, p_unit_id, p_lease_no);
    select f.* into v_receipt from stepwell._receipt_found(p_tenant_id, p_unit_id, p_lease_no, v_action) as f;
    if v_verdict ->> 'same_effect' = 'refuse' and v_receipt.made_by <> p_unit_id and v_receipt.state_code <> 'void' then
        v_verdict := v_verdict - 'tier' || jsonb_build_object('effect', 'deny', 'reason_code', 'same_effect', 'reason', format(
            '%s has asked for the same effect (receipt %s, %s)', stepwell._title_of(p_tenant_id, v_receipt.made_by),
            stepwell._unit_ref(v_receipt.receipt_id), v_receipt.state_code));
        perform stepwell._verdict_record(p_tenant_id, p_unit_id, p_lease_no, 'session:' || v_session_id, v_action, v_verdict, null, null);
        return jsonb_build_object('answer', 'deny', 'idempotency_key', v_action ->> 'key', 'reason_code', 'same_effect',
            'reason', v_verdict ->> 'reason', 'rule', v_verdict ->> 'rule');
    end if;
    if v_receipt.reply is not null then
        return v_receipt.reply;
    end if;
    v_verdict := stepwell._reversal_judge(p_tenant_id, v_action, v_verdict);
    v_permit := v_verdict ->> 'effect';
    if v_permit = 'needs_approval' then
        v_approval_id := stepwell._action_approval(p_tenant_id, p_unit_id, v_action, v_document, v_verdict);
        select case u.state_code when 'approved' then 'allow' when 'requested' then 'wait' else u.state_code end into v_permit
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = v_approval_id;
    end if;
    if v_permit = 'allow' and (v_receipt.receipt_id is null or v_receipt.state_code = 'void')
        and v_action ->> 'writes' = 'true' and not stepwell._writes_take(p_tenant_id, p_unit_id) then
        v_permit := 'deny';
        v_verdict := v_verdict - 'tier' || jsonb_build_object('effect', 'deny', 'reason_code', 'writes_exhausted',
            'reason', 'this run has used all the writes that its cap allows');
    end if;
    -- The verdict names the receipt that follows from it: evidence of the run then shows every receipt.
    v_receipt_id := case when v_permit = 'allow' or v_receipt.state_code <> 'void'
        then coalesce(v_receipt.receipt_id, stepwell._run_unit(nextval('stepwell.run_seq'))) end;
    v_verdict_id := stepwell._verdict_record(p_tenant_id, p_unit_id, p_lease_no, 'session:' || v_session_id, v_action,
        v_verdict, v_approval_id, v_receipt_id);
    if v_receipt.receipt_id is not null and v_receipt.state_code <> 'void' then
        -- An earlier attempt came as far as this, and nobody knows whether it made the effect. This attempt takes the
        -- receipt over.
        perform stepwell._receipt_take_over(v_session_id, p_tenant_id, v_receipt.receipt_id, p_lease_no);
        return jsonb_build_object('answer', 'doubt', 'receipt_id', v_receipt.receipt_id, 'may_perform', v_permit = 'allow',
            'idempotency_key', v_action ->> 'key', 'reason', v_verdict ->> 'reason');
    end if;
    return jsonb_strip_nulls(jsonb_build_object(
        'answer', case v_permit when 'allow' then 'go' else v_permit end,
        'receipt_id', case when v_permit = 'allow' then stepwell._receipt_open(v_session_id, p_tenant_id, p_unit_id,
            p_lease_no, v_action, v_document, v_verdict_id, v_approval_id, v_receipt_id, v_receipt.receipt_id is not null) end,
        'idempotency_key', v_action ->> 'key', 'reason_code', v_verdict ->> 'reason_code', 'reason', v_verdict ->> 'reason',
        'rule', v_verdict ->> 'rule', 'approval_id', v_approval_id));
end
$$;

-- Limits the time of the next statements of this transaction: a policy that takes too long counts as a denial.
-- Locks: none.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell.fn_action_limit() returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform set_config('statement_timeout', stepwell._limit('policy.timeout_ms')::text, true);
    -- A transaction that waits too long for a lock ends and is tried again: that is no answer of the policy.
    perform set_config('lock_timeout', (stepwell._limit('policy.timeout_ms') / 2)::text, true);
end
$$;

-- A proposed action in its standard form: checked, with the digest of what it does and the key of its effect: the form that
-- the connector gives, such as sn:incident:update:instance:sys_id, and the digest of the fields.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._action_read(p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_field text;
    v_key constant text := p_action ->> 'key';
    v_form text := coalesce(p_action ->> 'effect', concat_ws(':', p_action ->> 'connector', p_action ->> 'operation', p_action ->> 'target'));
begin
    foreach v_field in array array['connector', 'operation', 'target', 'call'] loop
        if coalesce(length(p_action ->> v_field), 0) not between 1 and 2000 then
            raise exception using errcode = 'SW001', column = v_field,
                message = format('%s: a text of 1 to 2000 characters is required', v_field);
        end if;
    end loop;
    perform stepwell._secret_refuse('connector', p_action ->> 'connector'), stepwell._secret_refuse('operation', p_action ->> 'operation');
    if jsonb_typeof(p_action -> 'fields') is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'fields', message = 'fields: an object is required';
    end if;
    -- What is neither true nor false would count as no write.
    foreach v_field in array array['writes', 'reversible'] loop
        if p_action ? v_field and jsonb_typeof(p_action -> v_field) <> 'boolean' then
            raise exception using errcode = 'SW001', column = v_field, message = format('%s: true or false is required', v_field);
        end if;
    end loop;
    perform stepwell._values_check('fields', 'fields', array[p_action -> 'fields'], 'limits.payload_bytes');
    -- Other systems get the key in headers and queries, and it is stored: a form that is long, has other characters or has a
    -- secret in it is shown by its digest.
    if v_form !~ '^[!-~]{1,100}$' or strpos(v_form, '^') > 0 or v_form <> stepwell._redact_text(v_form) then
        v_form := left(regexp_replace(concat_ws(':', p_action ->> 'connector', p_action ->> 'operation'), '[^A-Za-z0-9_:.-]', '', 'g'), 40)
            || ':' || left(encode(sha256(convert_to(v_form, 'UTF8')), 'hex'), 32);
    end if;
    if octet_length(v_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
    return jsonb_build_object('connector', p_action ->> 'connector', 'operation', p_action ->> 'operation',
        'target', p_action ->> 'target', 'fields', p_action -> 'fields', 'key', v_key,
        'effect_key', v_form || ':' || left(encode(sha256(convert_to((p_action -> 'fields')::text, 'UTF8')), 'hex'), 16),
        'call_no', coalesce(substring(p_action ->> 'call' from '#([0-9]{1,9})$')::int, 1),
        'writes', coalesce(p_action -> 'writes', 'true'), 'reversible', coalesce(p_action -> 'reversible', 'false'),
        'reverses', p_action -> 'reverses', 'token', left(p_action ->> 'token', 100),
        'hash', encode(sha256(convert_to(jsonb_build_object('connector', p_action ->> 'connector', 'operation',
            p_action ->> 'operation', 'target', p_action ->> 'target', 'fields', p_action -> 'fields')::text, 'UTF8')), 'hex'));
end
$$;

-- The idempotency key of an action: the one that the handler gave, or that of its effect. The same effect of another step
-- has another key, unless the policy says that it is returned or refused; then it has one key in the whole tenant. The
-- number tells apart calls of one handler that ask for the same effect. A receipt that this step has keeps its key, also
-- when the form of the connector is another one in a later release: it is found by step and action.
create or replace function stepwell._action_key(p_tenant_id int, p_unit_id bigint, p_action jsonb, p_verdict jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(p_action ->> 'key', case
        when p_verdict ->> 'same_effect' in ('return', 'refuse') then stepwell._effect_key(p_tenant_id, p_unit_id, p_action ->> 'effect_key')
        else coalesce((
            select r.idempotency_key from stepwell.action_receipt as r
            where r.tenant_id = p_tenant_id and r.unit_id = p_unit_id and r.action_hash = p_action ->> 'hash'
                and (strpos(r.idempotency_key || '#', '@' || o.step || '#') > 0 or starts_with(r.idempotency_key, o.step || ':'))
            order by r.receipt_id offset (p_action ->> 'call_no')::int - 1 limit 1
        ), format('%s@%s%s', p_action ->> 'effect_key', o.step, '#' || nullif((p_action ->> 'call_no')::int, 1))) end)
    from (select format('%s:%s:%s', (select c.config_value #>> '{}' from stepwell.dot_config as c where c.config_key = 'installation.id'),
        p_unit_id, (select count(*) from stepwell.step_run_correction_cycle as c
            where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id))) as o (step)
$$;

-- The key that an effect has in the whole tenant. An effect that was reversed is not there any more: another step that asks
-- for it makes it again, and that is another effect, with a number after ~.
create or replace function stepwell._effect_key(p_tenant_id int, p_unit_id bigint, p_effect_key text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_key text := p_effect_key;
    v_reversed_count int := 0;
begin
    while exists (select from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where r.tenant_id = p_tenant_id and r.idempotency_key = v_key and r.unit_id <> p_unit_id and u.state_code = 'reversed')
    loop
        v_reversed_count := v_reversed_count + 1;
        v_key := p_effect_key || '~' || v_reversed_count;
    end loop;
    return v_key;
end
$$;

-- The denial of an action with a field that is not of the type that its operation declares; null when there is none. A
-- list is denied before a rule could compare it item by item.
create or replace function stepwell._action_type_verdict(p_action jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object('effect', 'deny', 'reason_code', 'field_type', 'reason', f.problem)
    from (select stepwell._schema_problem(jsonb_build_object('type', 'object', 'properties', (
            select jsonb_object_agg(t.field, jsonb_build_object('type', t.type)) from jsonb_each(p_action -> 'types') as t (field, type))),
        p_action -> 'fields', 'fields')) as f (problem)
    where jsonb_typeof(p_action -> 'types') = 'object' and f.problem is not null
$$;

-- What a policy can read about an action: the action itself, where it comes from, and the input of its run.
create or replace function stepwell._action_document(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_action jsonb
) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run_id constant bigint := stepwell._run_of(p_unit_id);
    v_document jsonb;
    v_input jsonb;
    v_started_by text;
    v_parent_id bigint;
begin
    select r.input, r.started_by, r.parent_unit_id, jsonb_build_object('workflow', w.workflow_name) into v_input, v_started_by, v_parent_id, v_document
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    where r.tenant_id = p_tenant_id and r.run_id = v_run_id;
    if not found then
        select j.payload, j.created_by, jsonb_build_object('workflow', null) into v_input, v_started_by, v_document
        from stepwell.job_detail as j
        where j.tenant_id = p_tenant_id and j.job_id = p_unit_id;
    elsif v_parent_id is not null then
        -- Who started the run at the top stands for every run below it.
        select r.started_by into v_started_by
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id
            and r.run_id = (select a.run_id from stepwell._runs_above(p_tenant_id, v_run_id) as a limit 1);
    end if;
    return (
        select p_action - 'key' - 'hash' - 'token' - 'effect_key' - 'call_no' || v_document || jsonb_build_object(
            'tenant', t.tenant_code, 'step', d.step_id, 'run_id', v_run_id, 'actor', 'worker:' || s.worker_name,
            'started_by', v_started_by, 'attempt', u.attempt_count + 1, 'input', coalesce(v_input, '{}'))
        from stepwell.work_unit as u
        inner join stepwell.tenant as t on u.tenant_id = t.tenant_id
        left join stepwell.worker_session as s on s.session_id = p_session_id
        left join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id);
end
$$;

-- Denies an action that reverses another, whatever the policy says, when the other cannot be reversed: no such receipt,
-- not confirmed, not reversible, or reversed already. Otherwise returns the verdict as it is.
create or replace function stepwell._reversal_judge(p_tenant_id int, p_action jsonb, p_verdict jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
begin
    if p_action -> 'reverses' is null or p_action -> 'reverses' = 'null' then
        return p_verdict;
    end if;
    v_problem := stepwell._reversal_problem(p_tenant_id, (p_action ->> 'reverses')::bigint);
    if v_problem is null then
        return p_verdict;
    end if;
    return p_verdict - 'tier' || jsonb_build_object('effect', 'deny', 'reason_code', 'not_reversible', 'reason', v_problem);
end
$$;

-- Records a verdict: one row and one event of the step. Every verdict is recorded.
create or replace function stepwell._verdict_record(
    p_tenant_id int, p_unit_id bigint, p_lease_no int, p_actor text, p_action jsonb, p_verdict jsonb, p_approval_id bigint,
    p_receipt_id bigint
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_target constant text := stepwell._redact_text(p_action ->> 'target');
    v_verdict_id bigint;
begin
    insert into stepwell.policy_verdict (
        tenant_id, unit_id, lease_no, idempotency_key, connector, operation, target, action_hash, effect, reason_code, reason,
        policy_set_id, rule_name, tier, two_person, approval_id, decided_at)
    values (p_tenant_id, p_unit_id, p_lease_no, p_action ->> 'key', p_action ->> 'connector', p_action ->> 'operation',
        v_target, p_action ->> 'hash', p_verdict ->> 'effect', p_verdict ->> 'reason_code', p_verdict ->> 'reason',
        (p_verdict ->> 'policy_set_id')::bigint, p_verdict ->> 'rule', p_verdict ->> 'tier',
        coalesce((p_verdict ->> 'two_person')::boolean, false), p_approval_id, v_now)
    returning verdict_id into v_verdict_id;
    perform stepwell._evidence_ask(p_tenant_id, p_unit_id);
    perform stepwell._event_append_at(p_tenant_id, p_unit_id, 'action.judged', p_actor, jsonb_strip_nulls(jsonb_build_object(
        'verdict_id', v_verdict_id, 'attempt', p_lease_no, 'effect', p_verdict ->> 'effect', 'reason_code', p_verdict ->> 'reason_code', 'reason', p_verdict ->> 'reason',
        'connector', p_action ->> 'connector', 'operation', p_action ->> 'operation', 'target', v_target,
        'idempotency_key', p_action ->> 'key', 'action_hash', p_action ->> 'hash', 'rule', p_verdict ->> 'rule',
        'policy_version', p_verdict -> 'policy_version', 'rules_hash', (select s.rules_hash from stepwell.policy_set as s
            where s.tenant_id = p_tenant_id and s.policy_set_id = (p_verdict ->> 'policy_set_id')::bigint),
        'tier', p_verdict ->> 'tier', 'two_person', coalesce((p_verdict ->> 'two_person')::boolean, false),
        'approval_id', p_approval_id, 'receipt_id', p_receipt_id)), 'executor_worker', v_now);
    return v_verdict_id;
end
$$;

-- The approval that an action requires: an earlier one for the same unit, the same action with the same arguments,
-- the same rule with the same approvers, under the same policy version; or a new one. So a rule that is made
-- stricter while a question is open asks again, and no unit waits for the question of another.
create or replace function stepwell._action_approval(
    p_tenant_id int, p_unit_id bigint, p_action jsonb, p_document jsonb, p_verdict jsonb
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_quorum constant int := case when p_verdict ->> 'two_person' = 'true' then 2 else 1 end;
    v_tier constant int := array_position(array['low', 'med', 'high'], p_verdict ->> 'tier');
    -- A unit that died because of a reject and is replayed requests a new approval.
    v_key constant text := format('act:%s:%s:%s:%s:%s', p_unit_id, p_action ->> 'key', p_action ->> 'hash',
        encode(sha256(convert_to((p_verdict - 'priority')::text, 'UTF8')), 'hex'), (select count(*) from stepwell.job_dead_letter as d where d.tenant_id = p_tenant_id and d.unit_id = p_unit_id));
    v_pattern constant text := stepwell._redaction_pattern();
    v_approval_id bigint;
begin
    select a.approval_id into v_approval_id from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = v_key and a.action = 'act' and a.subject_unit_id = p_unit_id;
    if found then
        return v_approval_id;
    end if;
    return stepwell._approval_request(p_tenant_id, 'act', p_unit_id, coalesce(p_document ->> 'started_by', 'engine'),
        p_verdict ->> 'reason', v_tier, v_quorum, (p_verdict ->> 'expires_seconds')::int, v_key, p_document ->> 'actor',
        case when p_verdict ? 'approvers' then array(select jsonb_array_elements_text(p_verdict -> 'approvers')) end,
        p_verdict ->> 'role', jsonb_build_object(
            'connector', p_action ->> 'connector', 'operation', p_action ->> 'operation',
            'target', stepwell._redact_text(p_action ->> 'target'), 'fields', stepwell._redact(p_action -> 'fields', v_pattern),
            'reversible', p_action -> 'reversible', 'writes', p_action -> 'writes', 'reverses', p_action -> 'reverses',
            'idempotency_key', p_action ->> 'key', 'action_hash', p_action ->> 'hash', 'workflow', p_document -> 'workflow',
            'step', p_document -> 'step', 'run_id', p_document -> 'run_id', 'rule', p_verdict -> 'rule',
            'policy_version', p_verdict -> 'policy_version'));
end
$$;
