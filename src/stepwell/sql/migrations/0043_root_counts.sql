-- Writes and sub-runs are counted for the whole line of a run, up to its root, so that no cap is avoided by sub-workflows.

alter table stepwell.run_progress add column subrun_count int not null default 0;
comment on column stepwell.run_progress.subrun_count is 'The runs started below this run, at any depth; counted only for a root.';

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.subruns_per_run', '10000', 'Most sub-workflow runs that one run starts, at any depth');

insert into stepwell.failure_class_registry (failure_class, classification, description, exception_names) values
('too_many_subruns', 'permanent', 'The run has started as many sub-workflow runs as it may', '{}');

-- What runs below have written already counts for the runs above.
with recursive line as (
    select c.tenant_id, c.unit_id >> 20 as run_id, c.write_count from stepwell.run_write_count as c
    union all
    select l.tenant_id, r.parent_unit_id >> 20, l.write_count
    from line as l
    inner join stepwell.run_detail as r on l.tenant_id = r.tenant_id and l.run_id = r.run_id
    where r.parent_unit_id is not null
)
insert into stepwell.run_write_count (tenant_id, unit_id, write_count)
select l.tenant_id, l.run_id << 20, sum(l.write_count)::int from line as l group by l.tenant_id, l.run_id
on conflict (tenant_id, unit_id) do update set write_count = excluded.write_count;

update stepwell.run_progress as p set subrun_count = f.run_count
from (
    with recursive line as (
        select r.tenant_id, r.parent_unit_id >> 20 as run_id from stepwell.run_detail as r where r.parent_unit_id is not null
        union all
        select l.tenant_id, r.parent_unit_id >> 20
        from line as l
        inner join stepwell.run_detail as r on l.tenant_id = r.tenant_id and l.run_id = r.run_id
        where r.parent_unit_id is not null
    )
    select l.tenant_id, l.run_id, count(*)::int as run_count from line as l group by l.tenant_id, l.run_id
) as f
where p.tenant_id = f.tenant_id and p.run_id = f.run_id and p.parent_run_id is null;
