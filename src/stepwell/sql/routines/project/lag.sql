-- How far consumers are behind their producers: quantiles of each pair, its thresholds, and its trend.

-- How long events took to reach each consumer: quantiles over the window, what waits now, the thresholds of the pair, and its light. Red:
-- one in a hundred was later than accepted, or an event waits longer than that; yellow: the same of five in a hundred, or of half. The
-- pairs with the longest lag come first, at most limits.event_lag_pairs. The window begins with five whole minutes.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a window below 5 minutes or above 7 days.
create or replace function stepwell.fn_event_lag_compute(p_tenant_id int, p_window interval default '1 hour')
returns table (
    producer text, consumer text, event_count bigint, p50_ms numeric, p95_ms numeric, p99_ms numeric, waits_since timestamptz,
    waits_ms bigint, threshold_p50_ms int, threshold_p95_ms int, threshold_p99_ms int, light text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_since constant timestamptz := stepwell._lag_slot(v_now - p_window);
begin
    perform stepwell._lag_window_check(p_window);
    return query
    with counted as (
        select c.producer, c.consumer, c.bucket, sum(c.event_count) as event_count
        from stepwell.event_lag_count as c
        where c.tenant_id = p_tenant_id and c.slot_at >= v_since
        group by c.producer, c.consumer, c.bucket
    ), summed as (
        select c.producer, c.consumer, c.bucket, sum(c.event_count) over (partition by c.producer, c.consumer order by c.bucket) as upto,
            sum(c.event_count) over (partition by c.producer, c.consumer) as whole
        from counted as c
    ), measured as (
        select s.producer, s.consumer, max(s.whole)::bigint as event_count,
            stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.50))) as p50_ms,
            stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.95))) as p95_ms,
            stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.99))) as p99_ms
        from summed as s
        group by s.producer, s.consumer
    ), known as (
        select producer, consumer, m.event_count, m.p50_ms, m.p95_ms, m.p99_ms,
            stepwell._reader_waits_since(p_tenant_id, p.last_tx, p.last_event_id) as waits_since
        from measured as m
        full join (select v.* from stepwell.v_event_lag_position as v where v.tenant_id = p_tenant_id) as p using (producer, consumer)
    ), judged as (
        select k.*, (extract(epoch from v_now - k.waits_since) * 1000)::bigint as waits_ms,
            stepwell._lag_threshold(k.producer, k.consumer, 'p50') as threshold_p50_ms,
            stepwell._lag_threshold(k.producer, k.consumer, 'p95') as threshold_p95_ms,
            stepwell._lag_threshold(k.producer, k.consumer, 'p99') as threshold_p99_ms
        from known as k
    )
    select j.producer, j.consumer, coalesce(j.event_count, 0), j.p50_ms, j.p95_ms, j.p99_ms, j.waits_since, j.waits_ms, j.threshold_p50_ms,
        j.threshold_p95_ms, j.threshold_p99_ms,
        case when j.p99_ms > j.threshold_p99_ms or j.waits_ms > j.threshold_p99_ms then 'red'
            when j.p95_ms > j.threshold_p95_ms or j.p50_ms > j.threshold_p50_ms then 'yellow' else 'green' end
    from judged as j
    order by greatest(j.p99_ms, j.waits_ms) / j.threshold_p99_ms desc nulls last, j.producer, j.consumer
    limit stepwell._limit('limits.event_lag_pairs');
end
$$;

-- The quantiles of one pair over time, at most 300 points; five minutes are the shortest distance. A time without events has no point.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a window below 5 minutes or above 7 days.
create or replace function stepwell.fn_event_lag_trend(
    p_tenant_id int, p_producer text, p_consumer text, p_window interval default '1 day'
) returns table (at timestamptz, event_count bigint, p50_ms numeric, p95_ms numeric, p99_ms numeric)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_step constant interval := interval '5 minutes' * greatest(ceil(extract(epoch from p_window) / 300 / 290), 1);
    v_since constant timestamptz := date_bin(v_step, stepwell.now() - p_window, 'epoch');
begin
    perform stepwell._lag_window_check(p_window);
    return query
    with counted as (
        select date_bin(v_step, c.slot_at, 'epoch') as at, c.bucket, sum(c.event_count) as event_count
        from stepwell.event_lag_count as c
        where c.tenant_id = p_tenant_id and c.producer = p_producer and c.consumer = p_consumer
            and c.slot_at >= v_since
        group by 1, 2
    ), summed as (
        select c.at, c.bucket, sum(c.event_count) over (partition by c.at order by c.bucket) as upto,
            sum(c.event_count) over (partition by c.at) as whole
        from counted as c
    )
    select s.at, max(s.whole)::bigint,
        stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.50))),
        stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.95))),
        stepwell._lag_of_bucket(min(s.bucket) filter (where s.upto >= ceil(s.whole * 0.99)))
    from summed as s
    group by s.at
    order by s.at;
end
$$;

-- Raises: SW001 for a window that is too short or too long.
create or replace function stepwell._lag_window_check(p_window interval) returns void
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    if p_window is null or p_window < interval '5 minutes' or p_window > interval '7 days' then
        raise exception using errcode = 'SW001', column = 'window', message = 'window: 5 minutes to 7 days are accepted';
    end if;
end
$$;
