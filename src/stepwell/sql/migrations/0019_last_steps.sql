-- Which steps nothing follows: their outputs are the result of a run, and finding them must not mean reading all its steps.

alter table stepwell.workflow_step_def
    add column is_last boolean not null default false;

update stepwell.workflow_step_def as d set is_last = true
where d.scope_no = 0 and not exists (
    select from stepwell.workflow_step_relations as r
    where r.tenant_id = d.tenant_id and r.version_id = d.version_id and r.from_no = d.step_no);

create index last_steps on stepwell.workflow_step_def (tenant_id, version_id, step_no) where is_last;

comment on column stepwell.workflow_step_def.is_last is 'Nothing follows it: its output is the result of the run, or a part of it.';
