-- Before a table has statistics, an index that shares its first columns with the key costs the planner as much as the key,
-- and a lookup of one row may become a scan of a whole version or tenant. These indexes begin with the column that sets them
-- apart, so that only the key fits a lookup by key.

alter table stepwell.workflow_step_def drop constraint step_id_is_unique;
alter table stepwell.workflow_step_def
    add constraint step_id_is_unique unique (step_id, tenant_id, version_id);

alter table stepwell.operation drop constraint operation_name_is_unique;
alter table stepwell.operation
    add constraint operation_name_is_unique unique (operation_name, tenant_id);

drop index stepwell.relations_by_successor;
create index relations_by_successor
    on stepwell.workflow_step_relations (to_no, tenant_id, version_id, from_no);

drop index stepwell.runs_by_workflow;
create index runs_by_workflow on stepwell.run_detail (workflow_id, tenant_id, run_id);

-- The rules change rarely and are few: their statistics hold from the first call on.
analyze stepwell.transition_rule;
