-- A list of pauses between the attempts of an operation, besides the formula.
alter table stepwell.operation add column retry_delays_seconds real[];
alter table stepwell.operation add constraint retry_delays_are_bounded
    check (cardinality(retry_delays_seconds) between 1 and 100 and 0 <= all (retry_delays_seconds));
comment on column stepwell.operation.retry_delays_seconds is 'The pause after each attempt that failed; the last one repeats. Null: the formula applies.';
