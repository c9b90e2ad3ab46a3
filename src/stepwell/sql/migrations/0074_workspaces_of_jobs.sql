-- Free-standing jobs and schedules belong to a workspace too; without one they have no value here and cost nothing more.
alter table stepwell.job_detail add column workspace_id int;
comment on column stepwell.job_detail.workspace_id is 'The workspace of the job; null: none.';
alter table stepwell.workflow_schedule add column workspace_id int;
comment on column stepwell.workflow_schedule.workspace_id is 'The workspace in which the schedule starts its runs; null: none.';
