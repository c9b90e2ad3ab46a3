-- How much work there is, for the health page. Counting stops at a limit, so that it costs the same on a table of
-- ten rows and on one of ten million.
select 'workflows', (select count(*) from (select from stepwell.workflow_registry limit %s) as capped)
union all
select 'runs_open', (
    select count(*) from (select from stepwell.run_detail where finished_at is null limit %s) as capped
)
union all
select 'runs', (select count(*) from (select from stepwell.run_detail limit %s) as capped)
union all
select 'jobs_ready', (select count(*) from (select from stepwell.job_ready limit %s) as capped)
union all
select 'dead_letters', (
    select count(*) from (select from stepwell.job_dead_letter where resolved_at is null limit %s) as capped
)
union all
select 'workers_live', (
    select count(*) from stepwell.worker_session where closed_at is null and expires_at > stepwell.now()
);
