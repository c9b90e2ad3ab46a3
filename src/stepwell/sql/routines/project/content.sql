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

-- The labels of content that steps of a graph show, in all languages, by the name of the content; of a bundle also the labels
-- of what its newest version holds. So people find a step by what it shows.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; content without labels is left out.
create or replace function stepwell.fn_content_labels(p_tenant_id int, p_codes text[]) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    with shown as (
        select u.iu_code, u.iu_id from stepwell.information_unit as u where u.tenant_id = p_tenant_id and u.iu_code = any (p_codes)
    ), held as (
        select s.iu_code, s.iu_id from shown as s
        union
        select s.iu_code, b.item_iu_id
        from shown as s
        inner join stepwell.information_bundle_item as b on b.tenant_id = p_tenant_id and s.iu_id = b.iu_id
        where b.version_no = (select max(v.version_no) from stepwell.information_unit_version as v
            where v.tenant_id = p_tenant_id and v.iu_id = s.iu_id)
    ), labelled as (
        select h.iu_code, array_agg(distinct l.label order by l.label) as labels
        from held as h
        inner join stepwell.information_unit_label as l on l.tenant_id = p_tenant_id and h.iu_id = l.iu_id
        group by h.iu_code
    )
    select coalesce(json_object_agg(l.iu_code, l.labels order by l.iu_code), '{}') from labelled as l
$$;
