-- Operations: what the applications can execute.

-- Declares the operations of an application: name, executor class, retry rule, time limit.
-- Locks: the operations' rows, in name order.
-- Idempotency: the same declaration again changes nothing.
-- Raises: SW001 when the executor class is not registered; SW007 for another tenant.
create or replace function stepwell.fn_operation_register(p_tenant_id int, p_operations jsonb) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_unknown text;
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    select x.executor into v_unknown
    from jsonb_to_recordset(p_operations) as x (executor text)
    where not exists (select from stepwell.executor_class as c where c.class_name = coalesce(x.executor, 'default'));
    if found then
        raise exception using errcode = 'SW001', message = format(
            'executor: %s is not registered; known are %s', v_unknown,
            (select string_agg(c.class_name, ', ' order by c.class_name) from stepwell.executor_class as c));
    end if;
    insert into stepwell.operation as o (
        tenant_id, operation_name, executor_class_id, max_attempts, retry_initial_seconds, retry_max_seconds, retry_multiplier,
        retry_delays_seconds, non_retryable, timeout_seconds, registered_at)
    select
        p_tenant_id, x.name, c.executor_class_id, coalesce(x.max_attempts, 5), coalesce(x.initial_seconds, 1),
        coalesce(x.max_seconds, 300), coalesce(x.multiplier, 2), x.delays_seconds, coalesce(x.non_retryable, '{}'), x.timeout_seconds,
        stepwell.now()
    from jsonb_to_recordset(p_operations) as x (
        name text, executor text, max_attempts smallint, initial_seconds real, max_seconds real, multiplier real,
        delays_seconds real[], non_retryable text[], timeout_seconds real)
    inner join stepwell.executor_class as c on c.class_name = coalesce(x.executor, 'default')
    order by x.name
    on conflict (tenant_id, operation_name) do update set
        executor_class_id = excluded.executor_class_id, max_attempts = excluded.max_attempts,
        retry_initial_seconds = excluded.retry_initial_seconds, retry_max_seconds = excluded.retry_max_seconds,
        retry_multiplier = excluded.retry_multiplier, retry_delays_seconds = excluded.retry_delays_seconds, non_retryable = excluded.non_retryable,
        timeout_seconds = excluded.timeout_seconds, updated_at = clock_timestamp(),
        registered_at = coalesce(o.registered_at, excluded.registered_at)
    where o.registered_at is null or (o.executor_class_id, o.max_attempts, o.retry_initial_seconds, o.retry_max_seconds, o.retry_multiplier,
        o.retry_delays_seconds, o.non_retryable, o.timeout_seconds) is distinct from (excluded.executor_class_id, excluded.max_attempts,
        excluded.retry_initial_seconds, excluded.retry_max_seconds, excluded.retry_multiplier,
        excluded.retry_delays_seconds, excluded.non_retryable, excluded.timeout_seconds);
end
$$;
