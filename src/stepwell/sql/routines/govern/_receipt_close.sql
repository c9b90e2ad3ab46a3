-- Purpose: what a settled receipt keeps: result, external id, prior values, how to undo it, what it cost; secrets replaced.
--   A void one gives its write back; the confirmation of a reversal marks what it undid. Told in the step's own stream.
-- Locks: the caller holds the receipt and the one it reverses; then the run's write count.
-- Idempotency: called once per change of state.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipt_close(
    p_receipt stepwell.action_receipt, p_outcome text, p_effect jsonb, p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_pattern constant text := stepwell._redaction_pattern();
    v_fits constant boolean := octet_length(p_effect::text) <= stepwell._limit('limits.payload_bytes');
    v_reversal constant jsonb := nullif(p_effect -> 'reversal', 'null');
    -- A way back that holds a secret is not kept, and without it there is no way back.
    v_way_back constant jsonb := case when v_fits and stepwell._redact(v_reversal, v_pattern) = v_reversal then v_reversal end;
    v_told constant jsonb := jsonb_build_object('receipt_id', p_receipt.receipt_id, 'idempotency_key', p_receipt.idempotency_key);
begin
    update stepwell.action_receipt as r set
        settled_at = stepwell.now(), settled_by = p_actor,
        response_metadata = case when p_outcome = 'confirmed' then jsonb_strip_nulls(jsonb_build_object(
            'note', case when not v_fits then 'what came back was larger than the limit and is not kept'
                else p_effect ->> 'reason' end))
            || jsonb_build_object('result', case when v_fits then stepwell._redact(p_effect -> 'result', v_pattern) end)
            else jsonb_strip_nulls(jsonb_build_object('note', stepwell._redact_text(left(p_effect ->> 'reason', 2000)))) end,
        external_id = left(p_effect ->> 'external_id', 500),
        prior = case when v_fits then stepwell._redact(nullif(p_effect -> 'prior', 'null'), v_pattern) end,
        reversal = v_way_back,
        reversible = r.reversible and (p_outcome <> 'confirmed' or v_way_back is not null),
        provider = left(p_effect -> 'usage' ->> 'provider', 200), model = left(p_effect -> 'usage' ->> 'model', 200),
        input_tokens = (p_effect -> 'usage' ->> 'input_tokens')::bigint,
        output_tokens = (p_effect -> 'usage' ->> 'output_tokens')::bigint,
        cost_micros = (p_effect -> 'usage' ->> 'cost_micros')::bigint,
        currency = left(p_effect -> 'usage' ->> 'currency', 10)
    where r.tenant_id = p_receipt.tenant_id and r.receipt_id = p_receipt.receipt_id;
    if p_outcome = 'void' and p_receipt.writes then
        update stepwell.run_write_count as c set write_count = greatest(c.write_count - 1, 0)
        where c.tenant_id = p_receipt.tenant_id and c.unit_id = (p_receipt.unit_id >> 20) << 20;
    elsif p_outcome = 'unconfirmed' then
        perform stepwell._event_append(p_receipt.tenant_id, p_receipt.unit_id, 'action.unconfirmed', p_actor, v_told);
    elsif p_outcome = 'confirmed' then
        perform stepwell._event_append(p_receipt.tenant_id, p_receipt.unit_id, 'action.performed', p_actor,
            jsonb_strip_nulls(v_told || jsonb_build_object('external_id', left(p_effect ->> 'external_id', 500))));
        if p_receipt.reverses_receipt_id is not null then
            perform stepwell._must_apply(array[p_receipt.tenant_id], array[p_receipt.reverses_receipt_id], 'reversed', 'system',
                'event', 'reversal_confirmed', p_actor,
                array[jsonb_build_object('audit_ref', 'receipt:' || p_receipt.receipt_id)],
                array[jsonb_build_object('reversed_by_receipt_id', p_receipt.receipt_id)]);
            update stepwell.action_receipt as r set reversed_by_receipt_id = p_receipt.receipt_id
            where r.tenant_id = p_receipt.tenant_id and r.receipt_id = p_receipt.reverses_receipt_id;
        end if;
    end if;
end
$$;
