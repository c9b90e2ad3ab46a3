-- How long events take to their consumer, kept as a histogram for each pair of producer and consumer: nothing is stored for one event.

-- The bucket of a lag: 0 up to 1 ms, each next one reaches 10 percent further. So a quantile that is read from the buckets is wrong
-- by less than 5 percent, or by 1 ms.
create or replace function stepwell._lag_bucket(p_lag interval) returns smallint
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when extract(epoch from p_lag) <= 0.001 then 0
        else least(ceil(ln(extract(epoch from p_lag)::float8 * 1000) / ln(1.1::float8)), 300) end::smallint
$$;

-- The lag that stands for a bucket, in milliseconds: equally far from both ends, as a part of it.
create or replace function stepwell._lag_of_bucket(p_bucket smallint) returns numeric
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select round(case when p_bucket = 0 then 1 else 2 * power(1.1::float8, p_bucket) / 2.1 end::numeric, case when p_bucket < 50 then 1 else 0 end)
$$;

-- The five minutes that a moment belongs to.
create or replace function stepwell._lag_slot(p_at timestamptz) returns timestamptz
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select date_bin('5 minutes', p_at, 'epoch')
$$;

-- Adds lags that were measured now.
-- Locks: the rows of the pair, by bucket; the last locks of a transaction.
create or replace function stepwell._lag_note(p_tenant_id int, p_producer text, p_consumer text, p_lags interval[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.event_lag_count as c (tenant_id, slot_at, producer, consumer, bucket, event_count)
    select p_tenant_id, stepwell._lag_slot(stepwell.now()), p_producer, p_consumer, b.bucket, count(*)
    from (select stepwell._lag_bucket(l.lag) as bucket from unnest(p_lags) as l (lag)) as b
    group by b.bucket
    order by b.bucket
    on conflict (tenant_id, slot_at, producer, consumer, bucket) do update set event_count = c.event_count + excluded.event_count
$$;

-- Adds the lag of the events that a consumer of the log passes now: at most limits.event_lag_sample of one move, the oldest.
-- Locks: as _lag_note.
create or replace function stepwell._lag_note_passed(
    p_tenant_id int, p_consumer text, p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    perform stepwell._lag_note(p_tenant_id, 'log', p_consumer, array(
        select v_now - e.at from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and (e.tx, e.event_id) > (p_after_tx, p_after_event_id)
            and (e.tx, e.event_id) <= (p_upto_tx, p_upto_event_id)
        order by e.tx, e.event_id
        limit stepwell._limit('limits.event_lag_sample')));
end
$$;

-- The threshold of a pair in milliseconds, for p50, p95 or p99: its own (event_lag.threshold.p99.log.reader:mail), that of its producer
-- (event_lag.threshold.p99.queue), or that of all (event_lag.threshold.p99).
create or replace function stepwell._lag_threshold(p_producer text, p_consumer text, p_quantile text) returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((
        select (c.config_value #>> '{}')::int from stepwell.dot_config as c
        where c.config_key in ('event_lag.threshold.' || p_quantile, concat_ws('.', 'event_lag.threshold', p_quantile, p_producer),
            concat_ws('.', 'event_lag.threshold', p_quantile, p_producer, p_consumer))
        order by length(c.config_key) desc limit 1), 5000)
$$;
