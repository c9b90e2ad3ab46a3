-- Deadlines on every kind of step, not only on those of people.

-- True for a step that the engine or a worker carries out and that has a deadline: only these pay for one.
alter table stepwell.work_unit add column has_deadline boolean not null default false;
alter table stepwell.workflow_step_def add column has_deadline boolean not null default false;

-- A step that the engine carries out ends also when it is overdue.
insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, rollback_to, is_extension, reason)
values
('step.1', 'overdue', 'completed', 'mow_orchestrator', 'T7c', 'condition_resolved', null, 'predicate_fn', 'output_contract_met',
    'step.completed', false, null, true, 'A Map or a sub-workflow may end after its deadline; its overdue marks survive'),
('step.1', 'overdue', 'failed', 'mow_orchestrator', 'T9c', 'event', 'executor_failure', 'predicate_fn', 'failure_classified',
    'step.failed', true, null, true, 'A Map or a sub-workflow may fail after its deadline; its overdue marks survive');
refresh materialized view stepwell.transition_rule;
