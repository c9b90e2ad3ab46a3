-- Receipts of actions. A receipt is written as intended before the effect, and settled after it: by the worker, or by a
-- person when nobody knows whether the effect happened.

-- The receipt of a key, locked, and the answer when it already decides the matter: a hold stops the action, the effect was made before, the key
-- belongs to another action, another attempt has the receipt, or this same call wrote it. Null as answer: the caller
-- continues.
-- Locks: the receipt.
create or replace function stepwell._receipt_found(
    p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb,
    out receipt_id bigint, out state_code text, out made_by bigint, out reply jsonb
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_receipt stepwell.action_receipt;
begin
    reply := stepwell._action_held(p_tenant_id, p_unit_id, p_lease_no, p_action);
    if reply is not null then
        return;
    end if;
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.idempotency_key = p_action ->> 'key';
    if not found then
        return;
    end if;
    select u.unit_id, u.state_code into receipt_id, state_code from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = v_receipt.receipt_id
    for update of u;
    -- Read again: it may have been settled while this waited.
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = v_receipt.receipt_id;
    made_by := v_receipt.unit_id;
    reply := jsonb_build_object('receipt_id', receipt_id, 'idempotency_key', p_action ->> 'key');
    if v_receipt.action_hash <> p_action ->> 'hash' then
        reply := reply || jsonb_build_object('answer', 'conflict', 'reason', format(
            'key %s belongs to %s.%s on %s, with other fields or another target', p_action ->> 'key', v_receipt.connector,
            v_receipt.operation, v_receipt.target));
    elsif state_code in ('confirmed', 'reversed') then
        reply := reply || jsonb_build_object('answer', 'cached', 'result', v_receipt.response_metadata -> 'result',
            'external_id', v_receipt.external_id);
    elsif state_code = 'void' then
        reply := null;
    elsif state_code = 'intended' and v_receipt.unit_id = p_unit_id and v_receipt.lease_no = p_lease_no
        and v_receipt.intent_token = p_action ->> 'token' then
        -- The same call asks again: its answer was lost, and nothing was done since.
        reply := reply || jsonb_build_object('answer', 'go');
    elsif v_receipt.unit_id <> p_unit_id or (v_receipt.lease_no = p_lease_no and state_code = 'intended') then
        reply := reply || jsonb_build_object('answer', 'busy', 'reason', format(
            '%s is already making the same effect (receipt %s, %s)', stepwell._title_of(p_tenant_id, v_receipt.unit_id),
            stepwell._unit_ref(receipt_id), state_code));
    else
        reply := null;
    end if;
end
$$;

-- The answer to an action that an incident hold stops: denied now, whatever the policy says, and proposed again later. Nothing is
-- asked and nothing is written but the verdict. Null when no hold stops it.
-- Locks: as _hold_of_action.
create or replace function stepwell._action_held(p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_hold constant stepwell.incident_hold := stepwell._hold_of_action(p_tenant_id, p_unit_id, p_action ->> 'connector');
    v_verdict jsonb;
begin
    if v_hold.hold_id is null then
        return null;
    end if;
    v_verdict := jsonb_build_object('effect', 'deny', 'reason_code', 'held', 'reason', format(
        'hold %s on %s %s: %s', v_hold.hold_id, v_hold.scope_kind, v_hold.scope_value, v_hold.reason));
    perform stepwell._verdict_record(p_tenant_id, p_unit_id, p_lease_no, 'session:' || (select u.lease_session_id
        from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id), p_action, v_verdict, null, null);
    return jsonb_build_object('answer', 'held', 'idempotency_key', p_action ->> 'key', 'reason_code', 'held',
        'reason', v_verdict ->> 'reason', 'hold_id', v_hold.hold_id, 'retry_seconds', stepwell._limit('hold.retry_seconds'));
end
$$;

-- Gives a receipt in doubt to the present attempt: the earlier attempt cannot settle it any more.
-- Locks: the caller holds the receipt.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipt_take_over(
    p_session_id bigint, p_tenant_id int, p_receipt_id bigint, p_lease_no int
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_move(array[u.tenant_id], array[u.unit_id], 'unconfirmed', 'executor_worker', 'rpc', 'action_settle',
        null, null, array['{"note": "the attempt before this one ended without a result"}'::jsonb],
        p_session_id => p_session_id)
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id and u.state_code = 'intended';
    update stepwell.action_receipt as r set session_id = p_session_id, lease_no = p_lease_no, try_count = r.try_count + 1
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
end
$$;

-- Records that an effect is about to be made: a new receipt in the state intended, or a void one that is tried again. The
-- event has everything that the receipt says except values; of those it has size and salted hash.
-- Locks: the receipt that is tried again.
-- Raises: 40001 when another transaction wrote the same key (try again); SW004 when the registry refuses.
create or replace function stepwell._receipt_open(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb, p_document jsonb,
    p_verdict_id bigint, p_approval_id bigint, p_receipt_id bigint, p_is_again boolean
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_target constant text := stepwell._redact_text(p_action ->> 'target');
    v_request constant jsonb := jsonb_build_object('fields', stepwell._redact(p_action -> 'fields', stepwell._redaction_pattern()));
    v_requested_by constant text := coalesce(p_document ->> 'started_by', 'engine');
    v_acting constant text := coalesce(p_document ->> 'actor', 'session:' || p_session_id);
    v_payload jsonb := jsonb_strip_nulls(jsonb_build_object('idempotency_key', p_action ->> 'key', 'unit_id', p_unit_id,
        'step_id', p_document ->> 'step', 'verdict_id', p_verdict_id, 'approval_id', p_approval_id,
        'intent_token', coalesce(p_action ->> 'token', '')));
begin
    if p_is_again then
        perform stepwell._units_move(array[p_tenant_id], array[p_receipt_id], 'intended', 'executor_worker', 'rpc',
            'action_propose', null, null, array[v_payload], p_session_id => p_session_id);
        -- A void receipt with a key of the whole tenant may be that of another step: it belongs to who tries again.
        update stepwell.work_unit as u set parent_id = p_unit_id
        where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id and u.parent_id <> p_unit_id;
        update stepwell.action_receipt as r set unit_id = p_unit_id, run_id = stepwell._run_of(p_unit_id),
            step_id = p_document ->> 'step', session_id = p_session_id, lease_no = p_lease_no, intent_token = p_action ->> 'token', try_count = r.try_count + 1,
            settled_at = null, settled_by = null,
            response_metadata = null, verdict_id = p_verdict_id, approval_id = p_approval_id
        where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
        return p_receipt_id;
    end if;
    v_payload := v_payload || jsonb_strip_nulls(jsonb_build_object(
        'connector', p_action ->> 'connector', 'operation', p_action ->> 'operation', 'target', v_target,
        'action_hash', p_action ->> 'hash', 'writes', (p_action ->> 'writes')::boolean,
        'reversible', (p_action ->> 'reversible')::boolean, 'requested_by', v_requested_by, 'acting', v_acting,
        'reverses_receipt_id', (p_action ->> 'reverses')::bigint,
        'request', stepwell._value_digest(p_tenant_id, 'receipt:' || p_receipt_id || ':request', v_request)));
    insert into stepwell.action_receipt (
        tenant_id, receipt_id, unit_id, run_id, step_id, session_id, lease_no, intent_token, idempotency_key, connector, operation, target,
        action_hash, writes, reversible, request_metadata, verdict_id, approval_id, requested_by, acting, reverses_receipt_id, intended_at)
    values (p_tenant_id, p_receipt_id, p_unit_id, stepwell._run_of(p_unit_id), p_document ->> 'step', p_session_id, p_lease_no,
        p_action ->> 'token', p_action ->> 'key', p_action ->> 'connector', p_action ->> 'operation', v_target, p_action ->> 'hash',
        (p_action ->> 'writes')::boolean, (p_action ->> 'reversible')::boolean, v_request,
        p_verdict_id, p_approval_id, v_requested_by, v_acting, (p_action ->> 'reverses')::bigint, v_now);
    insert into stepwell.work_unit (
        tenant_id, unit_id, parent_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, p_receipt_id, p_unit_id, v_now, v_now, 'receipt', stepwell._machine_of('receipt'), 'intended');
    perform stepwell._event_born(p_tenant_id, p_receipt_id, 'receipt.intended', 'intended', 'session:' || p_session_id, v_payload,
        'executor_worker', 'session:' || p_session_id, v_now);
    return p_receipt_id;
exception when unique_violation then
    raise exception using errcode = '40001', message = 'another unit is making the same effect; try again';
end
$$;

-- Records what became of an intended effect: confirmed with its result, void when it certainly did not happen, unconfirmed
-- when nobody knows. Accepted from the session and attempt that has the receipt, also after the lease of the unit, or the
-- session, has ended: an effect that happened has happened.
-- Locks: the receipt and the one it reverses, in id order; then the write counts of the run and the runs above.
-- Idempotency: the same outcome again changes nothing and returns what is stored.
-- Raises: SW001 for an unknown outcome; SW003 when it is settled with another outcome; SW005 when another attempt has
--   the receipt; SW007 for another tenant and for the generator.
create or replace function stepwell.fn_action_settle(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_receipt_id bigint, p_outcome text,
    p_effect jsonb default '{}'
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._session_id_of(p_session_key);
    v_receipt stepwell.action_receipt;
    v_state text;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    perform stepwell._tenant_bound(p_tenant_id);
    if p_outcome is null or p_outcome not in ('confirmed', 'void', 'unconfirmed') then
        raise exception using errcode = 'SW001', column = 'outcome', message = 'outcome: confirmed, void or unconfirmed is accepted';
    end if;
    perform 1 from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id in (p_receipt_id, (select r.reverses_receipt_id
        from stepwell.action_receipt as r where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id))
    order by u.unit_id
    for update;
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    select u.state_code into v_state from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id;
    if v_session_id is null or coalesce(v_receipt.session_id, v_session_id) <> v_session_id
        or v_receipt.unit_id is distinct from p_unit_id or v_receipt.lease_no is distinct from p_lease_no then
        raise exception using errcode = 'SW005', message = format('receipt %s belongs to another attempt', stepwell._unit_ref(p_receipt_id));
    end if;
    if v_state <> p_outcome then
        if v_state not in ('intended', 'unconfirmed') then
            raise exception using errcode = 'SW003', message = format('receipt %s is already %s', stepwell._unit_ref(p_receipt_id), v_state);
        end if;
        perform stepwell._receipt_end(v_receipt, p_outcome, p_effect, row('executor_worker', 'rpc', 'action_settle', null,
            v_session_id, null, null, 0, null)::stepwell.transition_cause, null, '{}');
        perform stepwell._receipt_follow(v_receipt, p_outcome, left(p_effect ->> 'external_id', 500), 'session:' || v_session_id);
    end if;
    return jsonb_build_object('state', p_outcome, 'event', format('receipt.settled.%s.%s', p_receipt_id, v_receipt.try_count),
        'result', (select r.response_metadata -> 'result'
            from stepwell.action_receipt as r where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id));
end
$$;

-- A person has found out whether an effect in doubt happened: confirmed or void. The step that waits for it continues:
-- with the result that the person names, or by making the effect. Confirmed requires the result (the JSON value null
-- where the handler does not use it): the handler gets it as if it had made the effect.
-- Locks: the run or job, then the receipt.
-- Idempotency: the same outcome again changes nothing.
-- Raises: SW001 for an unknown outcome, no reason or no result; SW002 when there is no such receipt; SW003 when it is
--   not in doubt; SW006 when the result is too large; SW007 for another tenant.
create or replace function stepwell.fn_receipt_settle(
    p_tenant_id int, p_receipt_id bigint, p_outcome text, p_actor text, p_reason text, p_external_id text default null,
    p_result jsonb default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_receipt stepwell.action_receipt;
    v_state text;
begin
    p_external_id := stepwell._redact_text(p_external_id);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'problem.close');
    perform stepwell._unit_shown_check(p_tenant_id, p_receipt_id);
    if p_outcome is null or p_outcome not in ('confirmed', 'void') or coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001',
            column = case when p_outcome in ('confirmed', 'void') then 'reason' else 'outcome' end,
            message = case when p_outcome in ('confirmed', 'void') then 'reason: a text that says how this is known is required'
                else 'outcome: confirmed or void is accepted' end;
    end if;
    perform stepwell._settled_result_check(p_outcome, p_result);
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('receipt %s does not exist', stepwell._unit_ref(p_receipt_id));
    end if;
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id, p_tenant_id, p_tenant_id],
        array[v_receipt.unit_id, p_receipt_id, coalesce(v_receipt.reverses_receipt_id, p_receipt_id)]);
    select u.state_code into v_state from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id;
    if v_state = p_outcome then
        return v_state;
    end if;
    if v_state = 'intended' and not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = v_receipt.unit_id and u.lease_no = v_receipt.lease_no
            and u.lease_session_id is not null) then
        -- The attempt that was making the effect has ended without a result.
        perform stepwell._units_move(array[p_tenant_id], array[p_receipt_id], 'unconfirmed', 'system', 'event', 'lease_lost',
            'engine');
    elsif v_state <> 'unconfirmed' then
        raise exception using errcode = 'SW003', message = format('receipt %s is %s; only a receipt in doubt can be settled by hand',
            stepwell._unit_ref(p_receipt_id), v_state);
    end if;
    perform stepwell._receipt_end(v_receipt, p_outcome,
        jsonb_strip_nulls(jsonb_build_object('external_id', p_external_id, 'reason', p_reason)) || jsonb_build_object('result', p_result),
        row('reviewer', 'rpc', 'receipt_settle', p_actor, null, null, null, 0, null)::stepwell.transition_cause,
        jsonb_build_object('audit_ref', 'actor:' || p_actor), jsonb_build_object('reason', stepwell._redact_text(p_reason)));
    perform stepwell._receipt_follow(v_receipt, p_outcome, left(p_external_id, 500), p_actor);
    perform stepwell._news_deliver(p_tenant_id, v_receipt.unit_id, format('receipt.settled.%s.%s', p_receipt_id,
        v_receipt.try_count), jsonb_build_object('receipt_id', p_receipt_id, 'state', p_outcome));
    return p_outcome;
end
$$;

-- Refuses the result of a receipt that a person settles: confirmed requires one, void takes none.
-- Raises: SW001 naming the field; SW006 over the limit.
create or replace function stepwell._settled_result_check(p_outcome text, p_result jsonb) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_outcome = 'confirmed' and p_result is null then
        raise exception using errcode = 'SW001', column = 'result',
            message = 'result: the value that the handler gets from its action is required; null where it does not use it';
    end if;
    if p_outcome = 'void' and p_result is not null then
        raise exception using errcode = 'SW001', column = 'result', message = 'result: an effect that did not happen has none';
    end if;
    if octet_length(p_result::text) > stepwell._limit('limits.payload_bytes') / 2 then
        raise exception using errcode = 'SW006', column = 'result', message = format('result: at most %s bytes are accepted',
            stepwell._limit('limits.payload_bytes') / 2);
    end if;
    perform stepwell._values_check('result', 'result', array[p_result], 'limits.payload_bytes');
end
$$;

-- Delivers an event to a unit that waits for it, or will wait for it. The name of the event belongs to one approval or
-- receipt, so it is accepted once.
-- Locks: the caller holds the run or job.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._news_deliver(p_tenant_id int, p_unit_id bigint, p_event_type text, p_payload jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.event_inbox (tenant_id, event_key, run_id, event_type, payload, received_at)
    values (p_tenant_id, 'stepwell:' || p_event_type, stepwell._run_of(p_unit_id), p_event_type, p_payload, stepwell.now())
    on conflict (tenant_id, event_key) do nothing;
    if found then
        perform stepwell._waits_match(p_tenant_id, stepwell._run_of(p_unit_id), p_event_type);
    end if;
end
$$;

-- Receipts: what was attempted, what happened, how it is reversed, who requested it, the verdict, the cost.
create or replace view stepwell.v_action_receipt with (security_invoker = true) as
select
    r.tenant_id,
    r.receipt_id,
    u.state_code,
    case when s.scope is distinct from 'job' then r.run_id end as run_id,
    r.unit_id as step_run_id,
    r.step_id,
    r.idempotency_key,
    r.connector,
    r.operation,
    r.target,
    r.action_hash,
    r.writes,
    r.reversible,
    r.try_count,
    (
        select y.request_metadata from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as request_metadata,
    (
        select y.response_metadata from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as response_metadata,
    r.external_id,
    (
        select y.prior from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as prior,
    (
        select y.reversal from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as reversal,
    r.provider,
    r.model,
    r.input_tokens,
    r.output_tokens,
    r.cost_micros,
    r.currency,
    p.version_no as policy_version,
    d.rule_name,
    d.reason as policy_reason,
    r.approval_id,
    r.requested_by,
    r.acting,
    r.reverses_receipt_id,
    r.reversed_by_receipt_id,
    r.intended_at,
    r.settled_at,
    r.settled_by,
    -- Who finds out what became of an effect that is not settled: its attempt, the next one, or a person.
    case
        when u.state_code = 'intended' then 'attempt'
        when u.state_code <> 'unconfirmed' then null
        when s.unit_id is null or stepwell._has_ended(s.state_code) or s.state_code = 'waiting' then 'person'
        else 'attempt'
    end as waits_for
from stepwell.action_receipt as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
left join stepwell.work_unit as s on r.tenant_id = s.tenant_id and r.unit_id = s.unit_id
left join stepwell.policy_verdict as d
    on r.tenant_id = d.tenant_id and r.unit_id = d.unit_id and r.verdict_id = d.verdict_id
left join stepwell.policy_set as p on d.tenant_id = p.tenant_id and d.policy_set_id = p.policy_set_id;
