-- A Conditional whose step was cancelled before the branch around it was decided is held. When that branch is not taken,
-- the Conditional is skipped with it: until now it was decided, and opened a branch of its own inside the one not taken.
insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, rollback_to, is_extension, reason)
values
('step.1', 'ready', 'skipped', 'mow_orchestrator', 'Ts', 'condition_resolved', 'branch_not_taken', 'none', null,
    'step.skipped', false, null, true, 'A conditional that was held belongs to a branch that is not taken');
refresh materialized view stepwell.transition_rule;
