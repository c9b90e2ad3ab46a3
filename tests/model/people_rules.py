"""What must always be true of human steps: name → query whose rows are the faults."""

from __future__ import annotations

STARTED = "('in_progress', 'waiting', 'blocked', 'overdue')"

RULES: dict[str, str] = {
    "a human step in progress has a person in charge": f"""
        select h.step_run_id, h.state_code from stepwell.v_human_step as h
        inner join stepwell.work_unit as u on h.step_run_id = u.unit_id
        where h.state_code in {STARTED} and u.pic_id is null""",
    "the person in charge is the last one in the log": """
        select u.unit_id, p.person_name, e.payload from stepwell.work_unit as u
        inner join lateral (select x.payload from stepwell.event_log as x where x.unit_id = u.unit_id
            and x.event_type in ('step.pic_changed', 'task.pic_changed')
            order by x.event_id desc limit 1) as e on true
        left join stepwell.person as p on u.pic_id = p.person_id
        where e.payload ->> 'pic' is distinct from p.person_name""",
    "only a waiting unit has rows in event_wait and wait timers": """
        select w.unit_id, u.state_code from stepwell.event_wait as w
        inner join stepwell.work_unit as u on w.unit_id = u.unit_id where u.state_code <> 'waiting'
        union all
        select t.unit_id, u.state_code from stepwell.timer as t
        inner join stepwell.work_unit as u on t.unit_id = u.unit_id
        where t.timer_kind in ('sleep', 'wait_timeout') and u.state_code <> 'waiting'""",
    "the primary facet is the one with the lowest ordinal": """
        select u.unit_id, u.waiting_facet, u.waiting_facets from stepwell.work_unit as u
        where u.state_code = 'waiting' and cardinality(u.waiting_facets) > 0 and u.waiting_facet <> (
            select f.facet_code from stepwell.state_facet_def as f
            where f.state_machine_id = u.state_machine_id and f.state_code = 'waiting'
                and f.facet_code = any (u.waiting_facets) order by f.primary_ordinal limit 1)""",
    "a blocked step has a reason, and only a blocked step is escalated": """
        select u.unit_id, u.state_code from stepwell.work_unit as u
        left join stepwell.step_block as b on u.unit_id = b.unit_id
        where u.scope in ('step', 'task') and ((u.state_code = 'blocked' and b.unit_id is null)
            or (u.blocked_escalated and u.state_code <> 'blocked'))""",
    "a late step has the time when it was first overdue": """
        select u.unit_id from stepwell.work_unit as u
        where (u.state_code = 'overdue' or u.completed_after_deadline) and u.overdue_first_at is null""",
    "an approval settles once": """
        select a.approval_id, u.state_code from stepwell.approval_detail as a
        inner join stepwell.work_unit as u on a.approval_id = u.unit_id
        where (select count(*) from stepwell.event_log as e where e.unit_id = a.approval_id
                and e.to_state in ('approved', 'rejected', 'expired', 'cancelled'))
            <> (u.state_code <> 'requested')::int
            or (a.decided_at is null) <> (u.state_code = 'requested')
            or (u.state_code = 'requested') <> exists (
                select from stepwell.timer as t where t.unit_id = a.approval_id)""",
    "the requester never decides": """
        select v.approval_id from stepwell.approval_vote as v
        inner join stepwell.approval_detail as a on v.approval_id = a.approval_id
        where v.voter = a.requested_by""",
    "no approval stays open after the end of its run": """
        select a.approval_id, r.state_code from stepwell.approval_detail as a
        inner join stepwell.work_unit as r on r.unit_id = (a.subject_unit_id >> 20) << 20
        where a.decided_at is null and (r.state_code = 'cancelled'
            or (a.action = 'workflow_cancel' and (r.state_code = 'completed'
                or (r.state_code = 'failed' and r.last_transition_at > a.requested_at))))""",
    "a correction is open only while its step is open": """
        select c.unit_id, c.cycle_no, u.state_code from stepwell.step_run_correction_cycle as c
        inner join stepwell.work_unit as u on c.unit_id = u.unit_id
        where c.closed_at is null and (
            u.state_code in ('completed', 'cannot_complete', 'cancelled', 'skipped')
            or not exists (select from stepwell.run_progress as p
                where p.run_id = c.unit_id >> 20 and p.needs_attention))""",
    "a step is corrected once at a time": """
        select c.unit_id from stepwell.step_run_correction_cycle as c where c.closed_at is null
        group by c.unit_id having count(*) > 1""",
    "the first completion of a reopened step is stored": """
        select e.unit_id from stepwell.event_log as e
        where e.event_type = 'step.reopened_for_correction' and not exists (
            select from stepwell.step_run_prior_audit as a
            where a.prior_audit_id = (e.payload ->> 'prior_audit_id')::bigint and a.unit_id = e.unit_id)""",
    "no step is completed while one of its tasks is open": """
        select t.step_run_id, u.state_code from stepwell.task_detail as t
        inner join stepwell.work_unit as u on t.unit_id = u.unit_id
        inner join stepwell.work_unit as s on t.step_run_id = s.unit_id
        where s.state_code = 'completed' and u.state_code not in ('completed', 'skipped')""",
    "no escalation level is notified twice": """
        select e.unit_id, e.payload ->> 'level' from stepwell.event_log as e
        where e.event_type in ('step.escalation_raised', 'task.escalation_raised')
        group by 1, 2 having count(*) > 1""",
    "the stored colour equals a recompute": """
        select p.run_id, p.rollup_state_code from stepwell.run_progress as p
        where p.rollup_state_code <> stepwell.fn_workflow_rollup_compute(p.run_id) ->> 'rollup_state_code'""",
}

# True after all due timers have fired: before that a block can be older than its threshold.
SETTLED: dict[str, str] = {
    "the counted severity of a block equals the shown one": """
        select u.unit_id, u.blocked_escalated, stepwell.fn_step_blocked_severity(u.unit_id)
        from stepwell.work_unit as u where u.state_code = 'blocked'
            and u.blocked_escalated <> (stepwell.fn_step_blocked_severity(u.unit_id) = 'red')""",
    "no step in progress is past its deadline": """
        select u.unit_id from stepwell.work_unit as u
        where u.scope in ('step', 'task') and u.state_code = 'in_progress'
            and u.deadline_at < stepwell.now()""",
}
