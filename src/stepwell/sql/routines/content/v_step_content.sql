-- What steps of runs show: the pinned version with its body and labels; of a bundle, the bodies it holds, in order.
create or replace view stepwell.v_step_content with (security_invoker = true) as
select
    p.tenant_id,
    p.run_id,
    p.step_no,
    u.iu_id,
    u.iu_code,
    u.is_bundle,
    p.version_no as pinned_version_no,
    p.pinned_at,
    v.body,
    v.content_hash,
    (select l.label from stepwell.information_unit_label as l
        where l.tenant_id = u.tenant_id and l.iu_id = u.iu_id and l.lang = 'vi') as label_vi,
    (select l.label from stepwell.information_unit_label as l
        where l.tenant_id = u.tenant_id and l.iu_id = u.iu_id and l.lang = 'en') as label_en,
    (select jsonb_agg(jsonb_build_object('iu_code', i.iu_code, 'version_no', b.item_version_no, 'body', w.body) order by b.place)
        from stepwell.information_bundle_item as b
        inner join stepwell.information_unit as i on b.tenant_id = i.tenant_id and b.item_iu_id = i.iu_id
        inner join stepwell.information_unit_version as w
            on b.tenant_id = w.tenant_id and b.item_iu_id = w.iu_id and b.item_version_no = w.version_no
        where b.tenant_id = p.tenant_id and b.iu_id = p.iu_id and b.version_no = p.version_no) as items
from stepwell.step_content_pin as p
inner join stepwell.information_unit as u on p.tenant_id = u.tenant_id and p.iu_id = u.iu_id
inner join stepwell.information_unit_version as v
    on p.tenant_id = v.tenant_id and p.iu_id = v.iu_id and p.version_no = v.version_no;
