-- Runs that acted or were approved get their evidence bundle at their end, without being asked: here they wait for it.
create table stepwell.evidence_due (
    tenant_id int not null,
    run_id bigint not null,
    asked_at timestamptz not null,
    retry_at timestamptz,
    try_count int not null default 0,
    last_error text,
    constraint evidence_due_pkey primary key (tenant_id, run_id)
);
comment on table stepwell.evidence_due is 'Runs whose evidence bundle is made when they have ended. A run that neither acts nor is approved has no row.';

create table stepwell.evidence_file (
    tenant_id int not null,
    run_id bigint not null,
    contents_digest text not null,
    data bytea not null,
    stored_at timestamptz not null default clock_timestamp(),
    constraint evidence_file_pkey primary key (tenant_id, run_id, contents_digest)
);
comment on table stepwell.evidence_file is 'The bytes of bundles that were made at the end of a run, when no other place is configured for them.';

alter table stepwell.workflow_registry add column makes_evidence boolean not null default true;
comment on column stepwell.workflow_registry.makes_evidence is 'False: the runs of this workflow get no evidence bundle by themselves.';

insert into stepwell.dot_config (config_key, config_value, description) values
('evidence.automatic', 'true', 'Runs that acted or were approved get an evidence bundle when they end'),
('limits.evidence_bytes', '20000000', 'Largest evidence bundle that is stored in the database');
