-- Purpose: refuses a start whose arguments are not sound, before anything is written.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._start_input_check(
    p_inputs jsonb[], p_trigger_refs text[], p_priority int, p_trace_id text
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_batch_limit constant int := stepwell._limit('limits.start_batch');
    v_bytes_limit constant int := stepwell._limit('limits.payload_bytes');
begin
    if coalesce(cardinality(p_inputs), 0) = 0 then
        raise exception using errcode = 'SW001', message = 'inputs: at least one input is required';
    end if;
    if cardinality(p_inputs) > v_batch_limit then
        raise exception using errcode = 'SW006',
            message = format('inputs: %s runs in one call, at most %s', cardinality(p_inputs), v_batch_limit);
    end if;
    if p_trigger_refs is not null and cardinality(p_trigger_refs) <> cardinality(p_inputs) then
        raise exception using errcode = 'SW001', message = 'trigger_refs: one for each input, or none at all';
    end if;
    if p_priority not between -1000 and 1000 then
        raise exception using errcode = 'SW001', message = 'priority: must be between -1000 and 1000';
    end if;
    if p_trace_id !~ '^[0-9a-f]{32}$' then
        raise exception using errcode = 'SW001', message = 'trace_id: must be 32 lowercase hex digits (W3C trace context)';
    end if;
    if exists (select from unnest(p_inputs) as i (input)
        where jsonb_typeof(i.input) <> 'object' and i.input is not null) then
        raise exception using errcode = 'SW001', message = 'inputs: each input must be an object of named values';
    end if;
    if exists (select from unnest(p_inputs) as i (input) where pg_column_size(i.input) > v_bytes_limit) then
        raise exception using errcode = 'SW006', message = format('inputs: an input is larger than %s bytes', v_bytes_limit);
    end if;
    if exists (select from unnest(p_trigger_refs) as t (trigger_ref) where length(t.trigger_ref) not between 1 and 500) then
        raise exception using errcode = 'SW001', message = 'trigger_refs: each must have 1 to 500 characters';
    end if;
end
$$;
