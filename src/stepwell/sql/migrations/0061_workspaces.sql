-- Workspaces below the tenant: a run may belong to one. They take turns in the queue and may have caps of their own. A run
-- without a workspace has no value here, and costs nothing more.
create table stepwell.workspace (
    tenant_id int not null,
    workspace_id int generated always as identity,
    workspace_name text not null,
    max_concurrency int,
    max_runs_per_min int,
    max_writes_per_run int,
    created_at timestamptz not null default clock_timestamp(),
    constraint workspace_pkey primary key (tenant_id, workspace_id),
    constraint workspace_name_is_unique unique (tenant_id, workspace_name),
    constraint workspace_name_is_plain check (workspace_name ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);
comment on table stepwell.workspace is 'A part of a tenant that takes turns with the other parts, and may have caps. Number 0, without a row here, has all runs without a workspace.';

alter table stepwell.run_progress add column workspace_id int;
comment on column stepwell.run_progress.workspace_id is 'The workspace of the run; null: none. A sub-run has that of the run above.';
create index runs_by_workspace on stepwell.run_progress (tenant_id, workspace_id, run_id) where workspace_id is not null;
