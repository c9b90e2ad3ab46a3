-- Events are found by type and by actor (fn_events_recent). Both indexes leave out what every step writes, so that a step
-- pays nothing for the first and a run one entry for the second (decision 0031).
create index events_by_type on stepwell.event_log (tenant_id, event_type, tx, event_id)
where event_type not in (
    'step.ready', 'step.started', 'step.completed', 'task.ready', 'task.started', 'task.completed', 'job.enqueued', 'job.ready',
    'job.started', 'job.completed', 'workflow.started', 'workflow.completed', 'checkpoint.saved', 'event.emitted');
create index events_by_actor on stepwell.event_log (tenant_id, actor, tx, event_id)
where actor_class <> 'executor_worker' and actor <> 'engine';

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.events_scan', '20000', 'Most events that one read of the newest events looks at');
