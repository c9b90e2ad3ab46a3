-- Who waits for the end of a run says so here, and the transaction that ends the run tells it.

alter table stepwell.run_detail
    add column is_watched boolean not null default false;

comment on column stepwell.run_detail.is_watched is 'Somebody waits for the end and is told on channel stepwell_ended.';
