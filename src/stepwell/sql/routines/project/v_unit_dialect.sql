-- The state of every unit in the words of the other documents: linear (004), runtime (003), node (002), job (001).
-- A qualifier narrows a state where a document has two words for it; nothing executes on a dialect.
create or replace view stepwell.v_unit_dialect with (security_invoker = true) as
select
    q.tenant_id,
    q.unit_id,
    q.unit_id >> 20 as stream_id,
    q.scope,
    q.state_code,
    q.qualifier,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'linear' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as linear_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'runtime' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as runtime_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'node' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as node_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'job' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as job_code
from (
    select
        u.tenant_id,
        u.unit_id,
        u.scope,
        u.state_code,
        case when u.scope = 'workflow_run' then u.scope else 'step' end as word_scope,
        case
            when u.scope = 'workflow_run' then
                case when u.state_code = 'failed' and exists (
                    select from stepwell.run_progress as p
                    where p.tenant_id = u.tenant_id and p.run_id = u.unit_id >> 20 and p.completed_count > 0
                ) then 'partial' else '' end
            when u.state_code = 'not_started' then
                case when exists (
                    select from stepwell.workflow_step_relations as r
                    inner join stepwell.work_unit as b
                        on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
                    where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
                        and b.state_code in ('in_progress', 'overdue', 'waiting', 'blocked', 'failed')
                ) then 'predecessor_running' else '' end
            when u.state_code = 'in_progress' then
                case when exists (
                    select from stepwell.worker_session as s
                    where s.session_id = u.lease_session_id and s.last_tick_at <= u.last_transition_at
                ) then 'leased' else '' end
            when u.state_code = 'waiting' and u.waiting_facet = 'waiting_human' then
                case when exists (
                    select from stepwell.approval_detail as a
                    where a.tenant_id = u.tenant_id and a.subject_unit_id = u.unit_id and a.decided_at is null
                ) then 'approval' else '' end
            when u.state_code = 'failed' then coalesce((
                select f.classification from stepwell.unit_failure as f
                where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
                order by f.lease_no desc, f.failed_at desc limit 1
            ), 'transient')
            else ''
        end as qualifier
    from stepwell.work_unit as u
    where u.scope in ('workflow_run', 'step', 'task', 'job')
) as q;
