-- The outcome of an effect: what its receipt keeps, what its event says, and what follows from it.

-- Gives a receipt its outcome: stores result, external id, earlier values, how to reverse it, its cost; secrets are
-- replaced. The event of the outcome has the same time and facts, of values only size and salted hash, and p_told.
-- Locks: the caller holds the receipt.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipt_end(
    p_receipt stepwell.action_receipt, p_outcome text, p_effect jsonb, p_cause stepwell.transition_cause, p_evidence jsonb,
    p_told jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_pattern constant text := stepwell._redaction_pattern();
    v_fits constant boolean := octet_length(p_effect::text) <= stepwell._limit('limits.payload_bytes')
        and stepwell._values_problem('effect', array[p_effect]) is null;
    v_reversal constant jsonb := nullif(p_effect -> 'reversal', 'null');
    -- A reversal that contains a secret is not stored, and without it the effect is not reversible.
    v_way_back constant jsonb := case when v_fits and stepwell._redact(v_reversal, v_pattern) = v_reversal
        and v_reversal::text not like '%***%' then v_reversal end;
    v_label constant text := 'receipt:' || p_receipt.receipt_id || ':';
    v_kept stepwell.action_receipt;
    v_payload jsonb;
begin
    p_cause.at := stepwell.now();
    update stepwell.action_receipt as r set
        -- An effect in doubt is not settled.
        settled_at = case when p_outcome <> 'unconfirmed' then p_cause.at end,
        settled_by = case when p_outcome <> 'unconfirmed' then coalesce(p_cause.actor, 'session:' || p_cause.session_id) end,
        response_metadata = case when p_outcome = 'confirmed' then jsonb_strip_nulls(jsonb_build_object(
            'note', case when not v_fits then 'the result was larger or nested deeper than the limit and was not stored'
                else stepwell._redact_text(left(p_effect ->> 'reason', 2000)) end))
            || jsonb_build_object('result', case when v_fits then stepwell._redact(p_effect -> 'result', v_pattern) end)
            else jsonb_strip_nulls(jsonb_build_object('note', stepwell._redact_text(left(p_effect ->> 'reason', 2000)))) end,
        external_id = stepwell._redact_text(left(p_effect ->> 'external_id', 500)),
        prior = case when v_fits then stepwell._redact(nullif(p_effect -> 'prior', 'null'), v_pattern) end,
        reversal = v_way_back,
        reversible = r.reversible and (p_outcome <> 'confirmed' or v_way_back is not null),
        provider = left(p_effect -> 'usage' ->> 'provider', 200), model = left(p_effect -> 'usage' ->> 'model', 200),
        input_tokens = (p_effect -> 'usage' ->> 'input_tokens')::bigint,
        output_tokens = (p_effect -> 'usage' ->> 'output_tokens')::bigint,
        cost_micros = (p_effect -> 'usage' ->> 'cost_micros')::bigint,
        currency = left(p_effect -> 'usage' ->> 'currency', 10)
    where r.tenant_id = p_receipt.tenant_id and r.receipt_id = p_receipt.receipt_id
    returning r.* into v_kept;
    v_payload := jsonb_strip_nulls(jsonb_build_object('external_id', v_kept.external_id, 'reversible', v_kept.reversible,
        'provider', v_kept.provider, 'model', v_kept.model, 'input_tokens', v_kept.input_tokens,
        'output_tokens', v_kept.output_tokens, 'cost_micros', v_kept.cost_micros, 'currency', v_kept.currency,
        'response', stepwell._value_digest(p_receipt.tenant_id, v_label || 'response', v_kept.response_metadata),
        'prior', stepwell._value_digest(p_receipt.tenant_id, v_label || 'prior', v_kept.prior),
        'reversal', stepwell._value_digest(p_receipt.tenant_id, v_label || 'reversal', v_kept.reversal))) || p_told;
    perform stepwell._must_apply(array[row(p_receipt.tenant_id, p_receipt.receipt_id, p_outcome, null, p_evidence, v_payload,
        null, null)::stepwell.transition_request], p_cause);
end
$$;

-- Does what follows from the outcome of an effect: the write of a void receipt does not count any more; a confirmed reversal
-- marks the receipt that it reversed. Appends an event of the step.
-- Locks: the caller holds the receipt and the one it reverses; then the write counts of the run and the runs above.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipt_follow(
    p_receipt stepwell.action_receipt, p_outcome text, p_external_id text, p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_told constant jsonb := jsonb_build_object('receipt_id', p_receipt.receipt_id, 'idempotency_key', p_receipt.idempotency_key);
begin
    -- An effect may be settled after the end of its run.
    perform stepwell._evidence_renew(array[p_receipt.tenant_id], array[p_receipt.unit_id]);
    if p_outcome = 'void' and p_receipt.writes then
        perform stepwell._writes_return(p_receipt.tenant_id, array(
            select a.run_id from stepwell._runs_above(p_receipt.tenant_id, stepwell._run_of(p_receipt.unit_id)) as a));
    elsif p_outcome = 'unconfirmed' then
        perform stepwell._event_append(p_receipt.tenant_id, p_receipt.unit_id, 'action.unconfirmed', p_actor, v_told);
    elsif p_outcome = 'confirmed' then
        perform stepwell._event_append(p_receipt.tenant_id, p_receipt.unit_id, 'action.performed', p_actor,
            jsonb_strip_nulls(v_told || jsonb_build_object('external_id', p_external_id)));
        if p_receipt.reverses_receipt_id is not null then
            perform stepwell._units_move(array[p_receipt.tenant_id], array[p_receipt.reverses_receipt_id], 'reversed', 'system',
                'event', 'reversal_confirmed', p_actor,
                array[jsonb_build_object('audit_ref', 'receipt:' || p_receipt.receipt_id)],
                array[jsonb_build_object('reversed_by_receipt_id', p_receipt.receipt_id)]);
            update stepwell.action_receipt as r set reversed_by_receipt_id = p_receipt.receipt_id
            where r.tenant_id = p_receipt.tenant_id and r.receipt_id = p_receipt.reverses_receipt_id;
            perform stepwell._evidence_renew(array[r.tenant_id], array[r.unit_id]) from stepwell.action_receipt as r
            where r.tenant_id = p_receipt.tenant_id and r.receipt_id = p_receipt.reverses_receipt_id;
        end if;
    end if;
end
$$;
