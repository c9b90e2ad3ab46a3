-- Limits that nothing asked for: a worker claims and reports what its slots hold, and no call takes many transitions.
delete from stepwell.dot_config where config_key in ('limits.claim_batch', 'limits.report_batch', 'limits.transition_batch');

-- The sweep of what is older than its retention reads ended runs by the time they ended.
create index runs_by_end on stepwell.run_detail (finished_at) where finished_at is not null;

-- Which concurrency keys still have jobs. Only rows with such a key are in it, and the key never changes.
create index units_by_key on stepwell.work_unit (tenant_id, slot_key) where slot_key like 'key:%';

-- Versions with a Map whose list is a part of the input: its length is known, and checked, when the run starts.
alter table stepwell.workflow_version add column maps_input boolean not null default false;
comment on column stepwell.workflow_version.maps_input is 'A Map of every run reads its list from the input alone.';
update stepwell.workflow_version as v set maps_input = true
where exists (select from stepwell.workflow_step_def as d
    where d.tenant_id = v.tenant_id and d.version_id = v.version_id and d.step_kind = 'map' and d.scope_no = 0
        and d.branch_no is null and d.mandatory and d.config ->> 'over' ~ '^\$\.input(\.[A-Za-z_][A-Za-z0-9_]*)*$');
