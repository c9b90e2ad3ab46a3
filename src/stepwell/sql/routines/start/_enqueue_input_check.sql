-- Purpose: refuses an enqueue whose arguments are not sound, before anything is written.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._enqueue_input_check(
    p_payloads jsonb[], p_keys text[], p_priority int, p_concurrency_key text, p_max_concurrency int, p_trace_id text,
    p_rate_count int, p_rate_seconds double precision
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_batch_limit constant int := stepwell._limit('limits.enqueue_batch');
    v_bytes_limit constant int := stepwell._limit('limits.payload_bytes');
begin
    if coalesce(cardinality(p_payloads), 0) = 0 then
        raise exception using errcode = 'SW001', message = 'payloads: at least one job is required';
    end if;
    if cardinality(p_payloads) > v_batch_limit then
        raise exception using errcode = 'SW006',
            message = format('payloads: %s jobs in one call, at most %s', cardinality(p_payloads), v_batch_limit);
    end if;
    if p_keys is not null and (cardinality(p_keys) <> cardinality(p_payloads) or array_position(p_keys, null) is not null) then
        raise exception using errcode = 'SW001', message = 'keys: one for each job, or none at all';
    end if;
    if p_priority not between -1000 and 1000 then
        raise exception using errcode = 'SW001', message = 'priority: must be between -1000 and 1000';
    end if;
    if p_max_concurrency < 1 or (p_max_concurrency is not null and p_concurrency_key is null) then
        raise exception using errcode = 'SW001', message = 'max_concurrency: must be 1 or more, with a concurrency_key';
    end if;
    if (p_rate_count is null) <> (p_rate_seconds is null) or p_rate_count < 1 or p_rate_seconds <= 0
        or (p_rate_count is not null and p_concurrency_key is null) then
        raise exception using errcode = 'SW001', column = 'rate_limit',
            message = 'rate_limit: must be 1 or more within a time above zero, with a concurrency_key';
    end if;
    if p_trace_id !~ '^[0-9a-f]{32}$' then
        raise exception using errcode = 'SW001', message = 'trace_id: must be 32 lowercase hex digits (W3C trace context)';
    end if;
    if exists (select from unnest(p_payloads) as i (payload) where jsonb_typeof(i.payload) <> 'object') then
        raise exception using errcode = 'SW001', message = 'payloads: each payload must be an object of named values';
    end if;
    if exists (select from unnest(p_payloads) as i (payload) where pg_column_size(i.payload) > v_bytes_limit) then
        raise exception using errcode = 'SW006', message = format('payloads: one is larger than %s bytes', v_bytes_limit);
    end if;
end
$$;
