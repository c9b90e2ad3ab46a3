-- A row of the queue says which transaction put it there. So a session of the database finds what came into the queue since
-- it last looked, and need not walk over the rest again.

alter table stepwell.job_ready add column put_by xid8 not null default pg_current_xact_id();
comment on column stepwell.job_ready.put_by is 'The transaction that put this row into the queue. Rows are not updated, so it is also the transaction whose commit shows the row.';
create index job_ready_put_by_idx on stepwell.job_ready (put_by);

create type stepwell.queue_place as (tenant_id int, workspace_id int, rank int, operation_id int, unit_id bigint);
comment on type stepwell.queue_place is 'A place in the queue of an executor class, in the order of the key of job_ready.';
