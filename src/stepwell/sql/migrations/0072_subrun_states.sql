-- The colour of a sub-workflow is the state of the step around it, as the source document names it: red is failed, yellow is
-- blocked and waits for a dependency.

insert into stepwell.failure_class_registry (failure_class, classification, description, exception_names) values
('subworkflow_red', 'transient', 'A step of the sub-workflow is red; the step recovers with it', '{}');

insert into stepwell.state_facet_def (
    state_machine_id, state_code, facet_code, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, primary_ordinal)
select f.state_machine_id, 'blocked', f.facet_code, f.ui_icon_token, f.ui_icon_glyph, f.ui_label_i18n_key, f.primary_ordinal
from stepwell.state_facet_def as f
where f.state_machine_id = 'step.1' and f.state_code = 'waiting' and f.facet_code = 'waiting_dependency';

insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, rollback_to, is_extension, reason)
values
('step.1', 'blocked', 'failed', 'mow_orchestrator', 'T9c', 'event', 'executor_failure', 'predicate_fn', 'failure_classified',
    'step.failed', true, null, true, 'The sub-workflow of a blocked step turned red'),
('step.1', 'in_progress', 'blocked', 'mow_orchestrator', 'T4c', 'event', 'subworkflow_yellow', 'predicate_fn', 'block_reason_known',
    'step.blocked', true, 'in_progress', true, 'A step is blocked while its sub-workflow is yellow'),
('step.1', 'failed', 'blocked', 'mow_orchestrator', 'T4c', 'event', 'subworkflow_yellow', 'predicate_fn', 'block_reason_known',
    'step.blocked', true, 'in_progress', true, 'A step is blocked when its red sub-workflow turns yellow'),
('step.1', 'blocked', 'in_progress', 'mow_orchestrator', 'T4d', 'event', 'subworkflow_recovered', 'predicate_fn',
    'blocker_resolution_evidence', 'step.unblocked', true, null, true, 'A step goes on when its yellow sub-workflow does'),
('step.1', 'failed', 'in_progress', 'mow_orchestrator', 'T10c', 'event', 'subworkflow_recovered', 'predicate_fn',
    'facet_resolution_proof', 'step.resumed', false, null, true, 'A step goes on when its red sub-workflow has recovered');

-- A step that has failed with its sub-workflow is not tried again by hand: a step of the sub-workflow is.
insert into stepwell.guard_predicate (predicate_name, description) values
('failed_by_itself', 'The unit did not fail because its sub-workflow is red');
insert into stepwell.i18n_text (text_key, lang, text_value) values
('guard.failed_by_itself', 'en', 'it has failed because a step of its sub-workflow has; retry that step'),
('guard.failed_by_itself', 'vi', 'bước thất bại vì một bước của quy trình con thất bại; hãy thử lại bước đó');
update stepwell.transition_def set guard_kind = 'predicate_fn', guard_ref = 'failed_by_itself'
where state_machine_id = 'step.1' and transition_code = 'Tr';

insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('step.blocked', 'waiting_facet', 'string', false, 'waiting_dependency when the sub-workflow blocks the step'),
('step.blocked', 'run_id', 'number', false, 'The run of the sub-workflow that blocks the step'),
('step.failed', 'run_id', 'number', false, 'The run of the sub-workflow that is red');
refresh materialized view stepwell.transition_rule;

alter table stepwell.work_unit drop constraint waiting_always_has_a_facet;
alter table stepwell.work_unit add constraint waiting_always_has_a_facet check (case state_code
    when 'waiting' then waiting_facet is not null
    when 'blocked' then coalesce(waiting_facet, 'waiting_dependency') = 'waiting_dependency'
    else waiting_facet is null end);

-- Steps of live runs follow the colour of their sub-run now. A step that counts has counted under the class of this state
-- already, so no counter changes. Without a partition for this month the next change of the sub-run does the same.
create temporary table subrun_step on commit drop as
select s.tenant_id, s.unit_id, s.state_code as from_state, p.run_id, s.lease_no, n.at,
    case p.rollup_state_code when 'red' then 'failed' else 'blocked' end as to_state
from stepwell.run_progress as p
inner join stepwell.work_unit as w on p.tenant_id = w.tenant_id and p.run_id << 20 = w.unit_id
inner join stepwell.work_unit as s on w.tenant_id = s.tenant_id and w.parent_id = s.unit_id
cross join (select clock_timestamp() as at) as n
where p.parent_run_id is not null and p.rollup_state_code in ('red', 'yellow') and w.state_code in ('in_progress', 'paused')
    and s.state_code = 'in_progress'
    and to_regclass('stepwell.event_log_' || to_char(n.at at time zone 'UTC', 'YYYY_MM')) is not null;
update stepwell.work_unit as u set state_code = s.to_state, last_transition_at = s.at,
    waiting_facet = case s.to_state when 'blocked' then 'waiting_dependency' end,
    failure_class = case s.to_state when 'failed' then 'subworkflow_red' else u.failure_class end
from subrun_step as s
where u.tenant_id = s.tenant_id and u.unit_id = s.unit_id;
insert into stepwell.event_log (tenant_id, at, run_id, unit_id, request_id, event_type, from_state, to_state, actor_class, actor,
    audit_ref, payload)
select s.tenant_id, s.at, s.unit_id >> 20, s.unit_id, s.lease_no, 'step.' || s.to_state, s.from_state, s.to_state, 'mow_orchestrator',
    'engine', 'run:' || s.run_id, jsonb_build_object('run_id', s.run_id) || case s.to_state
        when 'failed' then '{"classification": "transient", "failure_class": "subworkflow_red"}'::jsonb
        else '{"block_reason": "subworkflow_waiting", "waiting_facet": "waiting_dependency"}' end
from subrun_step as s order by s.tenant_id, s.unit_id;
insert into stepwell.step_block (tenant_id, unit_id, block_reason, detail, blocked_by, blocked_at)
select s.tenant_id, s.unit_id, 'subworkflow_waiting', 'run:' || s.run_id, 'engine', s.at
from subrun_step as s where s.to_state = 'blocked'
on conflict (tenant_id, unit_id) do nothing;
insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
select s.tenant_id, s.unit_id, 'block_severity', s.at + interval '4 hours'
from subrun_step as s where s.to_state = 'blocked'
on conflict do nothing;

alter table stepwell.work_unit drop column subrun_class;
drop domain stepwell.subrun_class;
