-- When an app or a worker has registered an operation; null for one that only a workflow or a job has named.

alter table stepwell.operation add column registered_at timestamptz;
update stepwell.operation set registered_at = updated_at;
