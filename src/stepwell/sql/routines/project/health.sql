-- What the doctor asks about all tenants.

-- Figures over all tenants, without names and rows: how many blocks are sealed, how long the oldest event waits for its seal,
-- the last error of an anchor, the interval of the seal; how many effects only a person can settle; how many ended runs wait
-- too long for their bundle, and the error of one. Counting stops at a limit.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_health_read(p_late_seconds int, p_limit int) returns table (
    block_count bigint, unsealed_seconds float8, anchor_error text, seal_interval_seconds int,
    doubt_count bigint, late_bundle_count bigint, late_bundle_error text
)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select s.block_count, s.unsealed_seconds, s.anchor_error, stepwell._limit('audit.seal_interval_seconds'),
        d.doubt_count, e.late_count, e.late_error
    from (
        select coalesce(sum(v.block_count), 0)::bigint as block_count, max(v.anchor_error) as anchor_error,
            coalesce(max(extract(epoch from stepwell.now() - v.unsealed_since)), 0)::float8 as unsealed_seconds
        from stepwell.v_audit_seal as v
    ) as s
    cross join (
        select count(*) as doubt_count from (
            select from stepwell.v_action_receipt as r
            where r.settled_at is null and r.waits_for = 'person'
            limit least(p_limit, 10000)
        ) as capped
    ) as d
    cross join (
        select count(*) as late_count, max(c.last_error) as late_error from (
            select b.last_error
            from stepwell.evidence_due as b
            inner join stepwell.run_detail as r on b.tenant_id = r.tenant_id and b.run_id = r.run_id
            where r.finished_at < stepwell.now() - make_interval(secs => p_late_seconds)
            limit least(p_limit, 10000)
        ) as c
    ) as e
$$;
