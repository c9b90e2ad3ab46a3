-- Definitions that differ from their hash, from the event of their publication, or from the rows that the engine reads:
-- what it is, and the names of the columns. Graphs of format 1 were hashed before they came to the database. Only what is of a
-- month that the log no longer has may have no event.
select x.what, x.names
from (
    select format('version %%s of workflow %%s', v.version_no, w.workflow_name) as what, array_remove(array[
        case when v.graph ->> 'format' is distinct from '1'
            and v.graph_hash is distinct from encode(sha256(convert_to(v.graph::text, 'UTF8')), 'hex') then 'graph' end,
        case when not coalesce((select coalesce(e.payload ->> 'hash' = v.graph_hash and e.actor = v.published_by
                -- The time was read from the clock before the event was written.
                and v.published_at between e.at - interval '5 minutes' and e.at + interval '5 minutes', false)
            from stepwell.event_log as e
            where e.tenant_id = v.tenant_id and e.run_id = 0 and e.event_type = 'workflow.published'
                and e.payload ->> 'workflow' = w.workflow_name and e.payload ->> 'version' = v.version_no::text
            order by e.event_id limit 1), to_char(v.published_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false) then 'graph_hash, version_no, published_by or published_at' end,
        case when v.step_count is distinct from jsonb_array_length(v.graph -> 'steps') and v.graph ->> 'format' is distinct from '1'
            then 'step_count' end,
        case when count(*) over (partition by v.version_id) > 1 or count(*) over (partition by v.workflow_id, v.version_no) > 1
            then 'version_id or version_no, which is there twice' end,
        case when v.is_template is distinct from (w.workflow_name ~ '^MOT:' and exists (select from stepwell.job_template as t
            where t.tenant_id = v.tenant_id and t.workflow_id = v.workflow_id)) then 'is_template' end,
        case when v.input_schema is distinct from v.graph -> 'input' then 'input_schema' end,
        case when v.failure_policy is distinct from coalesce(v.graph ->> 'failure_policy', 'continue-running') then 'failure_policy' end,
        case when v.graph ->> 'format' is distinct from '1' and exists (
            select from (
                select (s.step ->> 'no')::int as step_no, s.step ->> 'id' as step_id, s.step ->> 'kind' as step_kind,
                    coalesce((s.step ->> 'scope')::int, 0) as scope_no, (s.step ->> 'branch')::int as branch_no,
                    (s.step ->> 'group')::int as group_no, coalesce((s.step ->> 'mandatory')::boolean, true) as mandatory,
                    coalesce((s.step ->> 'priority')::smallint, 0) as priority,
                    -- A job of a graph waits for one of its parents, or for all, and for its delay.
                    case when s.step ->> 'join' = 'any' then case when s.step ? 'delay_seconds' then n.parent_count + 1 else 1 end
                        else n.parent_count + (s.step ? 'delay_seconds')::int end as pending_count,
                    case when s.step ->> 'kind' = 'operation' then s.step ->> 'operation' end as operation_name,
                    (s.step -> 'retry' ->> 'max_attempts')::smallint as max_attempts, (s.step ->> 'timeout_seconds')::real as timeout_seconds,
                    s.step ? 'form' or s.step ? 'postcondition' as has_contract, s.step -> 'inputs' as inputs, s.step - array['no', 'id',
                        'kind', 'scope', 'branch', 'group', 'mandatory', 'priority', 'operation', 'inputs'] as config,
                    coalesce((s.step ->> 'scope')::int, 0) = 0 and not exists (select from jsonb_to_recordset(v.graph -> 'edges')
                        as x ("from" int) where x."from" = (s.step ->> 'no')::int) as is_last,
                    s.step ? 'deadline' and s.step ->> 'kind' <> 'human' as has_deadline
                from jsonb_array_elements(v.graph -> 'steps') as s (step)
                cross join lateral (select count(*) as parent_count from jsonb_to_recordset(v.graph -> 'edges') as x ("to" int)
                    where x."to" = (s.step ->> 'no')::int) as n
            ) as s
            full join (
                select d.*, o.operation_name
                from stepwell.workflow_step_def as d
                left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
                where d.tenant_id = v.tenant_id and d.version_id = v.version_id
            ) as d on s.step_no = d.step_no
            where (s.step_no, s.step_id, s.step_kind, s.scope_no, s.mandatory) is distinct from
                    (d.step_no, d.step_id, d.step_kind, d.scope_no, d.mandatory)
                or (s.branch_no, s.group_no, s.priority, s.pending_count, s.has_contract) is distinct from
                    (d.branch_no, d.group_no, d.priority, d.pending_count, d.has_contract)
                or (s.inputs, s.config, s.is_last, s.has_deadline) is distinct from (d.inputs, d.config, d.is_last, d.has_deadline)
                -- What the graph leaves open is that of the operation when it was published.
                or s.max_attempts <> coalesce(d.max_attempts, -1) or s.timeout_seconds <> coalesce(d.timeout_seconds, -1)
                or s.operation_name is distinct from d.operation_name)
            or v.graph ->> 'format' is distinct from '1' and (select count(*) from stepwell.workflow_step_def as d
                where d.tenant_id = v.tenant_id and d.version_id = v.version_id) <> jsonb_array_length(v.graph -> 'steps') then 'steps' end,
        case when v.graph ->> 'format' is distinct from '1' and exists (
            (select x."from", x."to", x.branch from jsonb_to_recordset(v.graph -> 'edges') as x ("from" int, "to" int, branch int)
            except all
            select r.from_no, r.to_no, r.branch_no from stepwell.workflow_step_relations as r
            where r.tenant_id = v.tenant_id and r.version_id = v.version_id)
            union all
            (select r.from_no, r.to_no, r.branch_no from stepwell.workflow_step_relations as r
            where r.tenant_id = v.tenant_id and r.version_id = v.version_id
            except all
            select x."from", x."to", x.branch from jsonb_to_recordset(v.graph -> 'edges') as x ("from" int, "to" int, branch int)))
            then 'edges' end,
        case when v.graph ->> 'format' is distinct from '1' and exists (
            (select x.no, x.conditional, x.parent, x.negated
            from jsonb_to_recordset(v.graph -> 'branches') as x (no int, conditional int, parent int, negated boolean)
            except all
            select b.branch_no, b.conditional_no, b.parent_branch_no, b.negated from stepwell.workflow_branch as b
            where b.tenant_id = v.tenant_id and b.version_id = v.version_id)
            union all
            (select b.branch_no, b.conditional_no, b.parent_branch_no, b.negated from stepwell.workflow_branch as b
            where b.tenant_id = v.tenant_id and b.version_id = v.version_id
            except all
            select x.no, x.conditional, x.parent, x.negated
            from jsonb_to_recordset(v.graph -> 'branches') as x (no int, conditional int, parent int, negated boolean)))
            then 'branches' end,
        case when v.graph ->> 'format' is distinct from '1' and exists (
            (select x.no, x.max_concurrency from jsonb_to_recordset(v.graph -> 'groups') as x (no int, max_concurrency int)
            except all
            select g.group_no, g.max_concurrency from stepwell.workflow_group as g
            where g.tenant_id = v.tenant_id and g.version_id = v.version_id)
            union all
            (select g.group_no, g.max_concurrency from stepwell.workflow_group as g
            where g.tenant_id = v.tenant_id and g.version_id = v.version_id
            except all
            select x.no, x.max_concurrency from jsonb_to_recordset(v.graph -> 'groups') as x (no int, max_concurrency int)))
            then 'groups' end
    ], null) as names
    from stepwell.v_audit_version as v
    left join stepwell.workflow_registry as w on v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id
    where v.tenant_id = %(tenant_id)s
    union all
    select format('version %%s of the policy', p.version_no), array_remove(array[
        case when p.rules_hash is distinct from encode(sha256(convert_to(p.rules::text, 'UTF8')), 'hex') then 'rules' end,
        case when not coalesce((select coalesce(e.payload ->> 'rules_hash' = p.rules_hash and e.actor = p.proposed_by and e.at = p.proposed_at, false)
            from stepwell.event_log as e
            where e.tenant_id = p.tenant_id and e.unit_id = p.proposal_id and e.event_type = 'proposal.drafted'
            order by e.event_id limit 1), to_char(p.proposed_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false) then 'rules_hash, proposed_by or proposed_at' end,
        -- Retention removes the approval itself.
        case when not coalesce((select coalesce(e.payload ->> 'subject_unit_id' = p.proposal_id::text, false) from stepwell.event_log as e
            where e.tenant_id = p.tenant_id and e.run_id = p.approval_id >> 20 and e.unit_id = p.approval_id and e.event_type = 'approval.requested'
            order by e.event_id limit 1), to_char(p.proposed_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false) then 'approval_id' end,
        -- It was compared with the rules that were in force then.
        case when not coalesce(to_char(p.proposed_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false)
            and p.base_policy_set_id is distinct from coalesce((select b.policy_set_id
            from stepwell.event_log as d
            inner join stepwell.event_log as e on d.tenant_id = e.tenant_id and e.event_type = 'policy.activated' and e.event_id < d.event_id
            left join stepwell.policy_set as b on e.tenant_id = b.tenant_id and e.payload ->> 'version_no' = b.version_no::text
            where d.tenant_id = p.tenant_id and d.unit_id = p.proposal_id and d.event_type = 'proposal.drafted'
            order by e.event_id desc limit 1), case when exists (select from stepwell.policy_set as b where b.tenant_id = p.tenant_id
                and b.policy_set_id = p.base_policy_set_id and to_char(b.proposed_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s))
                then p.base_policy_set_id end) then 'base_policy_set_id' end,
        case when p.version_no is distinct from row_number() over (order by p.policy_set_id) then 'version_no or policy_set_id' end,
        case when exists (select from stepwell.approval_detail as a where a.tenant_id = p.tenant_id and a.approval_id = p.approval_id
            and a.reason is distinct from coalesce(p.reason, 'a change of policy') and a.reason !~ '\[') then 'reason' end,
        case when exists (select from stepwell.v_audit_approval as a where a.tenant_id = p.tenant_id and a.approval_id = p.approval_id
            and a.about is not null and a.about -> 'diff' is distinct from p.diff) then 'diff' end
    ], null)
    from stepwell.policy_set as p
    where p.tenant_id = %(tenant_id)s
    union all
    select format('workflow %%s', w.workflow_name), array['its versions or its class']
    from stepwell.workflow_registry as w
    where w.tenant_id = %(tenant_id)s and w.workflow_class is distinct from (
        select coalesce(v.graph ->> 'workflow_class', 'default') from stepwell.v_audit_version as v
        where v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id order by v.version_no desc limit 1)
) as x
where x.names <> '{}'
order by x.what
limit %(limit)s
