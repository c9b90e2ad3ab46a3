-- How long events take from their producer to their consumer: histograms for each pair, and thresholds that a pair may have for itself.

create table stepwell.event_lag_count (
    tenant_id int not null,
    slot_at timestamptz not null,
    producer text not null,
    consumer text not null,
    bucket smallint not null,
    event_count int not null,
    constraint event_lag_count_pkey primary key (tenant_id, slot_at, producer, consumer, bucket),
    constraint lag_bucket_is_in_range check (bucket between 0 and 300),
    constraint something_is_counted check (event_count > 0)
) with (fillfactor = 70);
comment on table stepwell.event_lag_count is 'Of each pair of producer and consumer, and each five minutes: how many events arrived with a lag of this bucket. Bucket 0 is up to 1 ms; each next one reaches 10 percent further.';
create index lags_by_age on stepwell.event_lag_count (slot_at);

create table stepwell.event_lag_place (
    tenant_id int not null,
    last_tx xid8 not null,
    last_event_id bigint not null,
    last_block_no bigint not null,
    constraint event_lag_place_pkey primary key (tenant_id)
);
comment on table stepwell.event_lag_place is 'How far the keeper has sampled the lag of the queue and of the seal.';

-- The name of a consumer is that of a reader, a route or an operation.
alter table stepwell.dot_config drop constraint config_key_is_namespaced;
alter table stepwell.dot_config add constraint config_key_is_namespaced check (
    config_key ~ '^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_]+)+$'
    or config_key ~ '^event_lag\.threshold\.p(50|95|99)\.[a-z]+\.[^[:cntrl:]]{1,255}$');
insert into stepwell.dot_config (config_key, config_value, description) values
('event_lag.threshold.p50.queue', '5000', 'Half of the ready steps and jobs must be leased within this time (ms)'),
('event_lag.threshold.p95.queue', '30000', '95 in 100 ready steps and jobs must be leased within this time (ms)'),
('event_lag.threshold.p99.queue', '60000', '99 in 100 ready steps and jobs must be leased within this time (ms)'),
('event_lag.threshold.p50.approvals', '5000', 'Half of the changes of approvals must be shown within this time (ms)'),
('event_lag.threshold.p95.approvals', '15000', '95 in 100 changes of approvals must be shown within this time (ms)'),
('event_lag.threshold.p99.approvals', '60000', '99 in 100 changes of approvals must be shown within this time (ms)'),
('event_lag.threshold.p50.log.seal', '90000', 'Half of the events must be sealed within this time (ms); the log is sealed at intervals'),
('event_lag.threshold.p95.log.seal', '150000', '95 in 100 events must be sealed within this time (ms)'),
('event_lag.threshold.p99.log.seal', '300000', '99 in 100 events must be sealed within this time (ms)'),
('limits.event_lag_sample', '1000', 'Most events that one move of a reader, or one sample of the log, counts for the lag'),
('limits.event_lag_pairs', '500', 'Most pairs of producer and consumer that one answer about the lag has'),
('retention.event_lag_days', '8', 'So long the lag of events is kept');
