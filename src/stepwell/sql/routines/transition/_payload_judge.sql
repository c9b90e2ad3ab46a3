-- Purpose: what is wrong with the payload of a transition's event, as _event_payload_problem says it; a payload that is
--   refused is kept for inspection, unless the transition is only tried.
-- Locks: none.
-- Idempotency: one row for each refusal.
-- Raises: nothing.
create or replace function stepwell._payload_judge(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_payload jsonb, p_now timestamptz, p_preview boolean
) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant text := stepwell._event_payload_problem(p_event_type, p_payload);
begin
    if v_problem is not null and not p_preview then
        insert into stepwell.event_validation_audit (tenant_id, event_type, unit_id, payload, problems, rejected_at)
        values (p_tenant_id, p_event_type, p_unit_id, p_payload, array[v_problem], p_now);
    end if;
    return v_problem;
end
$$;
