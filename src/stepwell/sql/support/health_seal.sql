-- How far behind the seal of the log is, for the tenant furthest behind; one row.
select
    sum(s.block_count)::bigint,
    coalesce(max(extract(epoch from stepwell.now() - s.unsealed_since)), 0)::float,
    max(s.anchor_error),
    stepwell._limit('audit.seal_interval_seconds')
from stepwell.v_audit_seal as s
