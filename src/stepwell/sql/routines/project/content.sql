-- Content as people read it: all versions of a unit, and what a step of a run shows.

-- Every version of every content unit, with the labels of the unit by language.
create or replace view stepwell.v_content_version with (security_invoker = true) as
select
    u.tenant_id,
    u.iu_code,
    v.version_no,
    v.body,
    v.content_hash,
    v.written_at,
    v.written_by,
    v.note,
    coalesce((
        select jsonb_object_agg(l.lang, l.label) from stepwell.information_unit_label as l
        where l.tenant_id = u.tenant_id and l.iu_id = u.iu_id
    ), '{}') as labels
from stepwell.information_unit as u
inner join stepwell.information_unit_version as v on u.tenant_id = v.tenant_id and u.iu_id = v.iu_id;

-- The content that each step of each run shows; a pin belongs to a run and a step number, so all items of a map share it.
create or replace view stepwell.v_step_run_content with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as step_run_id,
    c.iu_code,
    c.pinned_version_no,
    c.body,
    c.label_vi,
    c.label_en,
    c.items
from stepwell.work_unit as u
inner join stepwell.v_step_content as c
    on u.tenant_id = c.tenant_id and stepwell._run_of(u.unit_id) = c.run_id and u.def_no = c.step_no
where u.scope = 'step';
