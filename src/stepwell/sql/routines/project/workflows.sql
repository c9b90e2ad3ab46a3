-- Published workflows as people know them: each with its newest version and its own caps, and all versions of each.

-- Workflows with their newest version and the caps that count for their runs instead of the tenant's. Templates of job graphs are
-- not among them: nobody starts them.
create or replace view stepwell.v_workflow with (security_invoker = true) as
select
    w.tenant_id,
    w.workflow_name as name,
    w.workflow_id,
    v.title,
    v.version_no,
    (
        select count(*)::int from stepwell.workflow_version as x
        where x.tenant_id = w.tenant_id and x.workflow_id = w.workflow_id
    ) as version_count,
    v.step_count,
    v.published_at,
    v.published_by,
    v.input_schema,
    w.max_concurrency,
    w.max_runs_per_min,
    w.max_writes_per_run,
    w.workflow_class
from stepwell.workflow_registry as w
cross join lateral (
    select x.version_no, x.title, x.step_count, x.published_at, x.published_by, x.input_schema
    from stepwell.workflow_version as x
    where x.tenant_id = w.tenant_id and x.workflow_id = w.workflow_id
    order by x.version_no desc limit 1
) as v
where not exists (select from stepwell.job_template as t where t.tenant_id = w.tenant_id and t.workflow_id = w.workflow_id);

-- Every version, as it was published; without the steps that the caller does not see.
create or replace view stepwell.v_workflow_version with (security_invoker = true) as
select
    v.tenant_id,
    w.workflow_name as name,
    v.version_id,
    v.version_no,
    v.title,
    v.failure_policy,
    v.step_count,
    stepwell.version_hash(v.version_id, v.graph_hash) as graph_hash,
    v.published_at,
    v.published_by,
    v.input_schema,
    stepwell.version_graph(v.tenant_id, v.version_id) as document
from stepwell.workflow_version as v
inner join stepwell.workflow_registry as w on v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id;
