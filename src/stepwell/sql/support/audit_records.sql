-- Records beside the log that follow from single events, and differ from them: what it is, and the names of the columns; no
-- names: the log has no event of it; null: the log has its event, and the record is gone. A time is that of its event, give or take
-- five minutes: it was read from the clock earlier in the same transaction. Only a record of a month that the log no longer
-- has may have no event.
with told as materialized (
    select e.event_type, e.event_id, e.tx, e.at, e.unit_id, e.to_state, e.actor, e.actor_class, e.audit_ref, e.payload,
        case when jsonb_typeof(e.payload -> 'replay_request_id') = 'number' then (e.payload ->> 'replay_request_id')::numeric end as request_id,
        case when jsonb_typeof(e.payload -> 'prior_audit_id') = 'number' then (e.payload ->> 'prior_audit_id')::numeric end as prior_id,
        case when jsonb_typeof(e.payload -> 'comment_id') = 'number' then (e.payload ->> 'comment_id')::numeric end as comment_id
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and (e.event_type in ('policy.activated', 'evidence.sealed', 'proposal.drafted', 'proposal.merged')
        or e.event_type ~ '^dlq_replay\.|\.(replayed|reopened_for_correction|commented)$')
), activated as (
    select t.* from told as t where t.event_type = 'policy.activated' order by t.event_id desc limit 1
), policy_in_force as (
    select 'the policy in force' as what, case when a.tenant_id is null then null when t.event_id is null then '{}' else array_remove(array[
        case when (s.version_no::text, s.rules_hash) is distinct from (t.payload ->> 'version_no', t.payload ->> 'rules_hash')
            then 'policy_set_id' end,
        case when a.activated_by is distinct from t.actor then 'activated_by' end,
        case when coalesce(a.activated_at not between t.at - interval '5 minutes' and t.at + interval '5 minutes', true) then 'activated_at' end
    ], null) || case when count(*) over () > 1 then '{tenant_id}' else '{}'::text[] end end as names, t.event_id is not null
        or to_char(a.activated_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s) as is_explained
    from (select x.* from stepwell.policy_active as x where x.tenant_id = %(tenant_id)s) as a
    full join activated as t on true
    left join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
), bundle as (
    select format('the bundle %%s of run %%s', left(coalesce(b.contents_digest, t.payload ->> 'digest'), 12), coalesce(b.run_id, t.unit_id >> 20)),
        case when b.run_id is null then null when t.event_id is null then '{}' else array_remove(array[
        case when b.with_payloads::text is distinct from t.payload ->> 'with_payloads' then 'with_payloads' end,
        case when b.requested_by is distinct from t.actor then 'requested_by' end,
        case when coalesce(b.requested_at not between t.at - interval '5 minutes' and t.at + interval '5 minutes', true) then 'requested_at' end,
        case when (b.event_tx, b.event_id) is distinct from (t.tx, t.event_id) then 'event_id or event_tx' end
    ], null) || case when count(*) over (partition by t.event_id) > 1 then '{contents_digest}' else '{}'::text[] end end, t.event_id is not null
        or to_char(b.requested_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from (select x.* from stepwell.evidence_bundle as x where x.tenant_id = %(tenant_id)s) as b
    full join (select x.* from told as x where x.event_type = 'evidence.sealed') as t
        on b.run_id = t.unit_id >> 20 and b.contents_digest = t.payload ->> 'digest'
), request as (
    select format('replay request %%s', coalesce(r.replay_request_id::numeric, p.request_id)), case
        when r.replay_request_id is null then case when exists (select from stepwell.approval_detail as a
            where a.tenant_id = %(tenant_id)s and a.approval_id::text = p.payload ->> 'approval_id') then null else '{ok}'::text[] end
        when p.event_id is null then '{}' else array_remove(array[
        case when r.unit_id is distinct from p.unit_id then 'unit_id' end,
        case when r.approval_id::text is distinct from p.payload ->> 'approval_id' then 'approval_id' end,
        case when r.requested_by is distinct from p.actor then 'requested_by' end,
        case when coalesce(r.requested_at not between p.at - interval '5 minutes' and p.at + interval '5 minutes', true) then 'requested_at' end,
        case when r.idempotency_key !~ format('^replay:%%s:[0-9]+:%%s$', p.unit_id, p.payload ->> 'approval_id') or r.idempotency_key is null
            then 'idempotency_key' end,
        -- Of a reason that named a secret the log has another text.
        case when r.reason is distinct from a.reason and a.reason !~ '\[' then 'reason' end,
        case when (r.scheduled_at is not null) is distinct from (g.event_id is not null or coalesce(r.outcome_jsonb ->> 'state', '') = 'refused')
            or r.scheduled_at not between g.at - interval '5 minutes' and g.at + interval '5 minutes' then 'scheduled_at' end,
        case when r.proposal_state is distinct from case when coalesce(g.event_id, d.event_id) is not null then 'merged'
            when coalesce(r.outcome_jsonb ->> 'state', '') = 'refused' and l.plan_state = 'stopped' then 'approved'
            when u.state_code in ('rejected', 'expired', 'cancelled') or l.plan_state in ('stopped', 'completed', 'rejected') then 'rejected'
            when l.plan_state = 'running' then case r.proposal_state when 'rejected' then 'rejected' else 'approved' end
            else 'submitted' end then 'proposal_state' end,
        case when r.replay_state is distinct from case
            when d.event_id is not null then case d.payload ->> 'state' when 'completed' then 'completed' else 'failed' end
            when g.event_id is not null then 'scheduled'
            when coalesce(r.outcome_jsonb ->> 'state', '') = 'refused' and l.plan_state = 'stopped' then 'failed' end then 'replay_state' end,
        case when (r.outcome_at is not null) is distinct from coalesce(r.replay_state <> 'scheduled', r.proposal_state = 'rejected')
            or r.outcome_at not between d.at - interval '5 minutes' and d.at + interval '5 minutes' then 'outcome_at' end,
        case when d.event_id is not null then case when r.outcome_jsonb is distinct from jsonb_build_object('state', d.payload ->> 'state')
            then 'outcome_jsonb' end
            when r.proposal_state <> 'rejected' and coalesce(r.replay_state, 'scheduled') = 'scheduled' then case when r.outcome_jsonb is not null then 'outcome_jsonb' end
            when r.outcome_jsonb is not null and r.outcome_jsonb <> '{"reason": "its plan was stopped"}'
                and r.outcome_jsonb <> '{"reason": "it is not dead any more"}' and coalesce(r.outcome_jsonb ->> 'state', '') <> 'refused'
            then 'outcome_jsonb' end,
        case when r.plan_id is distinct from l.plan_id then 'plan_id' end,
        case when (r.stage_no is not null) is distinct from (l.plan_id is not null) or r.stage_no not between 1 and cardinality(l.stages) + 1
            or g.event_id is not null and r.stage_no > l.stage_no
            or g.event_id is not null and r.stage_no is distinct from s.stage_no and s.stage_no is not null then 'stage_no' end
    ], null) || case when count(*) over (partition by p.event_id) > 1 then '{replay_request_id}' else '{}'::text[] end end, p.event_id is not null
        or to_char(r.requested_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from (select x.* from stepwell.dlq_replay_request as x where x.tenant_id = %(tenant_id)s) as r
    full join (select x.* from told as x where x.event_type = 'dlq_replay.proposed') as p on r.replay_request_id = p.request_id
    left join stepwell.approval_detail as a on a.tenant_id = %(tenant_id)s and a.approval_id::text = p.payload ->> 'approval_id'
    left join stepwell.work_unit as u on u.tenant_id = %(tenant_id)s and u.unit_id = a.approval_id
    left join stepwell.dlq_replay_plan as l on l.tenant_id = %(tenant_id)s and l.approval_id = a.approval_id
    left join lateral (select x.event_id, x.at from told as x where x.request_id = p.request_id and x.unit_id = p.unit_id
        and x.event_type ~ '\.replayed$' order by x.event_id limit 1) as g on true
    left join lateral (select x.event_id, x.at, x.payload from told as x where x.request_id = p.request_id
        and x.event_type = 'dlq_replay.completed' order by x.event_id limit 1) as d on true
    left join lateral (select (x.payload ->> 'stage')::int as stage_no from told as x where x.unit_id = l.plan_id
        and x.event_type = 'dlq_replay.stage_started' and x.event_id < g.event_id order by x.event_id desc limit 1) as s on true
), plan as (
    select format('replay plan %%s', l.plan_id), case when t.event_id is null then '{}' else array_remove(array[
        case when a.subject_unit_id is distinct from l.plan_id then 'approval_id' end,
        case when l.letter_count::text is distinct from t.payload ->> 'letters' then 'letter_count' end,
        case when l.requested_by is distinct from t.actor then 'requested_by' end,
        case when l.requested_at is distinct from t.at then 'requested_at' end,
        case when l.reason is distinct from left(a.reason, 2000) and a.reason !~ '\[' then 'reason' end,
        case when to_jsonb(l.stages) is distinct from b.about -> 'stages' then 'stages' end,
        case when (l.reach -> 'letters', l.reach -> 'runs', l.reach -> 'effects')
            is distinct from (b.about -> 'letters', b.about -> 'runs', b.about -> 'effects') then 'reach' end,
        case when l.plan_state is distinct from case z.event_type when 'dlq_replay.plan_stopped' then 'stopped'
            when 'dlq_replay.plan_completed' then 'completed' else case u.state_code when 'merged' then 'running' when 'rejected' then 'rejected'
            else 'submitted' end end then 'plan_state' end,
        case when l.stage_no::text is distinct from coalesce(s.payload ->> 'stage', '0') then 'stage_no' end,
        case when (l.stage_at is null) is distinct from (s.event_id is null) or l.stage_at not between s.at - interval '5 minutes' and s.at + interval '5 minutes' then 'stage_at' end,
        case when (l.ended_at is not null) is distinct from (z.event_id is not null or u.state_code = 'rejected')
            or l.ended_at not between coalesce(z.at, u.last_transition_at) - interval '5 minutes' and coalesce(z.at, u.last_transition_at) + interval '5 minutes' then 'ended_at' end,
        case when l.ended_because is distinct from case z.event_type when 'dlq_replay.plan_stopped' then z.payload ->> 'reason'
            when 'dlq_replay.plan_completed' then 'every letter was replayed'
            else case when u.state_code = 'rejected' then 'approval ' || v.state_code end end then 'ended_because' end
    ], null) || case when count(*) over (partition by l.plan_id) > 1 then '{plan_id}' else '{}'::text[] end end, t.event_id is not null
        or to_char(l.requested_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from stepwell.dlq_replay_plan as l
    left join told as t on l.plan_id = t.unit_id and t.event_type = 'proposal.drafted'
    left join stepwell.approval_detail as a on l.tenant_id = a.tenant_id and l.approval_id = a.approval_id
    left join stepwell.v_audit_approval as b on l.tenant_id = b.tenant_id and l.approval_id = b.approval_id
    left join stepwell.work_unit as u on l.tenant_id = u.tenant_id and l.plan_id = u.unit_id
    left join stepwell.work_unit as v on l.tenant_id = v.tenant_id and l.approval_id = v.unit_id
    left join lateral (select x.event_id, x.at, x.event_type, x.payload from told as x where x.unit_id = l.plan_id
        and x.event_type in ('dlq_replay.plan_stopped', 'dlq_replay.plan_completed') order by x.event_id limit 1) as z on true
    left join lateral (select x.event_id, x.at, x.payload from told as x where x.unit_id = l.plan_id
        and x.event_type = 'dlq_replay.stage_started' order by x.event_id desc limit 1) as s on true
    where l.tenant_id = %(tenant_id)s
), prior as (
    select format('the end of unit %%s before correction %%s', p.unit_id, p.prior_audit_id), case when e.event_id is null then '{}' else array_remove(array[
        case when (p.closing_state, p.closed_by, p.actor_class, p.audit_ref) is distinct from (e.to_state, e.actor, e.actor_class, e.audit_ref)
            then 'closing_state, closed_by, actor_class or audit_ref' end,
        case when p.closed_at is distinct from e.at then 'closed_at' end,
        case when coalesce(p.written_at not between t.at - interval '5 minutes' and t.at + interval '5 minutes', true) then 'written_at' end,
        case when p.output is distinct from (select o.output from stepwell.unit_output as o where o.tenant_id = p.tenant_id
            and o.unit_id = p.unit_id and o.created_at < p.written_at order by o.lease_no desc limit 1) then 'output' end,
        case when t.unit_id is distinct from p.unit_id then 'unit_id' end
    ], null) || case when count(*) over (partition by p.prior_audit_id) > 1 then '{prior_audit_id}' else '{}'::text[] end end, e.event_id is not null
        or to_char(p.closed_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from stepwell.step_run_prior_audit as p
    left join stepwell.event_log as e on p.tenant_id = e.tenant_id and p.unit_id = e.unit_id and p.unit_id >> 20 = e.run_id and p.event_id = e.event_id
    left join told as t on t.event_type ~ '\.reopened_for_correction$' and t.prior_id = p.prior_audit_id
    where p.tenant_id = %(tenant_id)s
), cycle as (
    select format('correction %%s of unit %%s', c.cycle_no, coalesce(c.unit_id, t.unit_id)), case
        when c.unit_id is null then case when exists (select from stepwell.work_unit as w
            where w.tenant_id = %(tenant_id)s and w.unit_id = t.unit_id) then null else '{ok}'::text[] end
        when t.event_id is null then '{}' else array_remove(array[
        case when c.unit_id is distinct from t.unit_id then 'unit_id' end,
        case when c.cycle_no is distinct from row_number() over (partition by c.unit_id order by coalesce(t.event_id, 0), c.cycle_no) then 'cycle_no' end,
        -- An approval for the whole run opens any of its steps: then it is the one that was opened first.
        case when a.approval_id is not null and c.root_unit_id is distinct from
            case when a.subject_unit_id & 1048575 = 0 then f.unit_id else a.subject_unit_id end then 'root_unit_id' end,
        case when c.approval_id::text is distinct from t.payload ->> 'approval_id' then 'approval_id' end,
        case when c.correction_reason is distinct from coalesce(t.payload ->> 'correction_reason', '') then 'correction_reason' end,
        case when c.snapshot_id::text is distinct from t.payload ->> 'original_output_snapshot_id' then 'snapshot_id' end,
        case when c.reopened_by is distinct from t.actor then 'reopened_by' end,
        case when coalesce(c.reopened_at not between t.at - interval '5 minutes' and t.at + interval '5 minutes', true) then 'reopened_at' end,
        case when (c.closed_state, c.closed_at) is distinct from (z.to_state, z.at) then 'closed_state or closed_at' end
    ], null) || case when count(*) over (partition by t.event_id) > 1 then '{prior_audit_id}' else '{}'::text[] end end, t.event_id is not null
        or to_char(c.reopened_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from (select x.* from stepwell.step_run_correction_cycle as x where x.tenant_id = %(tenant_id)s) as c
    full join (select x.* from told as x where x.event_type ~ '\.reopened_for_correction$' and x.prior_id is not null) as t
        on c.prior_audit_id = t.prior_id
    left join stepwell.approval_detail as a on a.tenant_id = %(tenant_id)s and a.approval_id::text = t.payload ->> 'approval_id'
    left join lateral (select x.unit_id from told as x where x.tx = t.tx and x.event_type ~ '\.reopened_for_correction$'
        and x.prior_id is not null and x.payload ->> 'approval_id' = t.payload ->> 'approval_id' order by x.event_id limit 1) as f on true
    left join lateral (select x.to_state, x.at from stepwell.event_log as x where x.tenant_id = %(tenant_id)s
        and x.run_id = t.unit_id >> 20 and x.unit_id = t.unit_id and x.event_id > t.event_id
        and x.to_state in ('completed', 'skipped', 'cancelled', 'cannot_complete') order by x.event_id limit 1) as z on true
), snapshot as (
    select format('the output of unit %%s before correction', s.unit_id), case when c.unit_id is null then '{}' else array_remove(array[
        case when c.unit_id is distinct from s.unit_id then 'unit_id' end,
        -- A step that completed without an output has the snapshot null, of the attempt that completed.
        case when s.output is distinct from coalesce(o.output, 'null') then 'output'
            when o.unit_id is null and s.lease_no is distinct from (select e.request_id from stepwell.step_run_prior_audit as p
                inner join stepwell.event_log as e on e.tenant_id = p.tenant_id and e.run_id = p.unit_id >> 20 and e.event_id = p.event_id
                where p.tenant_id = c.tenant_id and p.prior_audit_id = c.prior_audit_id) then 'lease_no' end,
        case when coalesce(s.taken_at not between c.reopened_at - interval '5 minutes' and c.reopened_at + interval '5 minutes', true) then 'taken_at' end
    ], null) || case when count(*) over (partition by s.snapshot_id) > 1 then '{snapshot_id}' else '{}'::text[] end end, c.unit_id is not null
        or to_char(s.taken_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from stepwell.step_run_output_snapshot as s
    left join stepwell.step_run_correction_cycle as c on s.tenant_id = c.tenant_id and s.snapshot_id = c.snapshot_id
    left join stepwell.unit_output as o on s.tenant_id = o.tenant_id and s.unit_id = o.unit_id and s.lease_no = o.lease_no
    where s.tenant_id = %(tenant_id)s
    union all
    select format('the output of unit %%s before correction', c.unit_id), null, true
    from stepwell.step_run_correction_cycle as c
    where c.tenant_id = %(tenant_id)s and (c.snapshot_id is not null and not exists (select from stepwell.step_run_output_snapshot as s
        where s.tenant_id = c.tenant_id and s.snapshot_id = c.snapshot_id)
        or not exists (select from stepwell.step_run_prior_audit as p where p.tenant_id = c.tenant_id and p.prior_audit_id = c.prior_audit_id))
), comment as (
    select format('comment %%s', coalesce(c.comment_id::numeric, t.comment_id)), case
        when c.comment_id is null then case when exists (select from stepwell.work_unit as w
            where w.tenant_id = %(tenant_id)s and w.unit_id = t.unit_id) then null else '{ok}'::text[] end
        when t.event_id is null then '{}' else array_remove(array[
        case when c.unit_id is distinct from t.unit_id then 'unit_id' end,
        case when c.run_id is distinct from t.unit_id >> 20 then 'run_id' end,
        case when c.written_by is distinct from t.actor then 'written_by' end,
        case when coalesce(c.written_at not between t.at - interval '5 minutes' and t.at + interval '5 minutes', true) then 'written_at' end
    ], null) || case when count(*) over (partition by t.event_id) > 1 then '{comment_id}' else '{}'::text[] end end, t.event_id is not null
        or to_char(c.written_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
    from (select x.* from stepwell.task_comments as x where x.tenant_id = %(tenant_id)s) as c
    full join (select x.* from told as x where x.event_type ~ '\.commented$' and x.comment_id is not null) as t on c.comment_id = t.comment_id
), task as (
    select format('task %%s of unit %%s', t.task_no, t.step_run_id), array_remove(array[
        case when t.task_id is distinct from d.config -> 'tasks' -> (t.task_no - 1) ->> 'id' or t.task_no < 1 then 'task_id or task_no' end,
        case when t.title is distinct from d.config -> 'tasks' -> (t.task_no - 1) ->> 'title' then 'title' end,
        case when t.role is distinct from d.config -> 'tasks' -> (t.task_no - 1) ->> 'role' then 'role' end,
        case when t.assignee is distinct from d.config -> 'tasks' -> (t.task_no - 1) ->> 'assignee' then 'assignee' end,
        case when t.form is distinct from d.config -> 'tasks' -> (t.task_no - 1) -> 'form' then 'form' end,
        case when t.unit_id - t.task_no is distinct from min(t.unit_id - t.task_no) over (partition by t.step_run_id)
            or t.unit_id >> 20 is distinct from t.step_run_id >> 20 then 'unit_id' end,
        case when count(*) over (partition by t.step_run_id) is distinct from jsonb_array_length(d.config -> 'tasks') then 'step_run_id' end
    ], null), true
    from stepwell.task_detail as t
    left join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.step_run_id = u.unit_id
    left join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where t.tenant_id = %(tenant_id)s
), compared as (
    select * from policy_in_force union all select * from bundle union all select * from request union all select * from plan
    union all select * from prior union all select * from cycle union all select * from snapshot union all select * from comment
    union all select * from task
)
select c.what, c.names
from compared as c
where c.names is null or c.names <> '{ok}' and (c.names <> '{}' or c.is_explained is not true)
order by c.what
limit %(limit)s
