-- Definitions that differ from their hash, from the event of their publication, or from the rows that the engine reads:
-- what it is, and the names of the columns. Graphs of format 1 were hashed before they came to the database.
select x.what, x.names
from (
    select format('version %%s of workflow %%s', v.version_no, w.workflow_name) as what, array_remove(array[
        case when g.graph ->> 'format' is distinct from '1'
            and v.graph_hash is distinct from encode(sha256(convert_to(g.graph::text, 'UTF8')), 'hex') then 'graph' end,
        case when %(is_whole)s and not exists (select from stepwell.event_log as e
            where e.tenant_id = v.tenant_id and e.run_id = 0 and e.event_type = 'workflow.published'
                and e.payload ->> 'workflow' = w.workflow_name and e.payload ->> 'version' = v.version_no::text
                and e.payload ->> 'hash' = v.graph_hash and e.actor = v.published_by) then 'graph_hash, version_no or published_by' end,
        case when g.graph ->> 'format' is distinct from '1' and exists (
            select from (
                select (s.step ->> 'no')::int as step_no, s.step ->> 'id' as step_id, s.step ->> 'kind' as step_kind,
                    coalesce((s.step ->> 'scope')::int, 0) as scope_no, coalesce((s.step ->> 'mandatory')::boolean, true) as mandatory,
                    case when s.step ->> 'kind' = 'operation' then s.step ->> 'operation' end as operation_name
                from jsonb_array_elements(g.graph -> 'steps') as s (step)
            ) as s
            full join (
                select d.step_no, d.step_id, d.step_kind, d.scope_no, d.mandatory, o.operation_name
                from stepwell.workflow_step_def as d
                left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
                where d.tenant_id = v.tenant_id and d.version_id = v.version_id
            ) as d on s.step_no = d.step_no
            where (s.step_no, s.step_id, s.step_kind, s.scope_no, s.mandatory) is distinct from
                    (d.step_no, d.step_id, d.step_kind, d.scope_no, d.mandatory)
                or s.operation_name is distinct from d.operation_name) then 'steps' end
    ], null) as names
    from stepwell.workflow_version as v
    cross join lateral (select stepwell.version_graph(v.tenant_id, v.version_id) as graph offset 0) as g
    left join stepwell.workflow_registry as w on v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id
    where v.tenant_id = %(tenant_id)s
    union all
    select format('version %%s of the policy', p.version_no), array_remove(array[
        case when p.rules_hash is distinct from encode(sha256(convert_to(p.rules::text, 'UTF8')), 'hex') then 'rules' end,
        case when %(is_whole)s and not exists (select from stepwell.event_log as e
            where e.tenant_id = p.tenant_id and e.unit_id = p.proposal_id and e.event_type = 'proposal.drafted'
                and e.payload ->> 'rules_hash' = p.rules_hash and e.actor = p.proposed_by and e.at = p.proposed_at)
            then 'rules_hash, proposed_by or proposed_at' end,
        case when not exists (select from stepwell.approval_detail as a where a.tenant_id = p.tenant_id
            and a.approval_id = p.approval_id and a.subject_unit_id = p.proposal_id) then 'approval_id' end
    ], null)
    from stepwell.policy_set as p
    where p.tenant_id = %(tenant_id)s
) as x
where x.names <> '{}'
order by x.what
limit %(limit)s
