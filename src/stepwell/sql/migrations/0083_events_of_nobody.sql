-- Who names nobody acts as `client`. The index of actors leaves these events out, as those of the engine: to enqueue a job
-- writes one, and the entry was a seventh of what the job costs (decision 0031).
drop index stepwell.events_by_actor;
create index events_by_actor on stepwell.event_log (tenant_id, actor, tx, event_id)
where actor_class <> 'executor_worker' and actor <> 'engine' and actor <> 'client';
