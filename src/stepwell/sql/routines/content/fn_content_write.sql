-- Purpose: writes a version of a content unit (Markdown), or of a bundle, which is a list of units as they are now. The
--   unit is made with its first version; labels are set with it.
-- Locks: the unit's row.
-- Idempotency: the same body, or the same list, as the latest version makes no new one.
-- Raises: SW001 for a bad code, body or label; SW002 when a unit of the list does not exist; SW003 when a unit becomes a
--   bundle or the other way round; SW006 over a limit; SW007 for another tenant.
create or replace function stepwell.fn_content_write(
    p_tenant_id int, p_code text, p_body text, p_actor text, p_labels jsonb default '{}', p_items text[] default null,
    p_note text default null
) returns table (iu_id bigint, version_no int, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_unit stepwell.information_unit;
    v_last record;
    v_hash text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_code is null or p_code !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$' or p_body is null then
        raise exception using errcode = 'SW001', column = 'code',
            message = 'code: letters, digits, _ . - are accepted, at most 200; body: a text is required';
    end if;
    if octet_length(p_body) > stepwell._limit('limits.content_bytes')
        or cardinality(p_items) > stepwell._limit('limits.bundle_items') then
        raise exception using errcode = 'SW006', message = format('body: at most %s bytes; items: at most %s',
            stepwell._limit('limits.content_bytes'), stepwell._limit('limits.bundle_items'));
    end if;
    insert into stepwell.information_unit (tenant_id, iu_code, is_bundle, created_at, created_by)
    values (p_tenant_id, p_code, p_items is not null, v_now, p_actor)
    on conflict (tenant_id, iu_code) do nothing;
    select u.* into v_unit from stepwell.information_unit as u
    where u.tenant_id = p_tenant_id and u.iu_code = p_code for update;
    if v_unit.is_bundle <> (p_items is not null) then
        raise exception using errcode = 'SW003', message = format('%s is %s', p_code,
            case when v_unit.is_bundle then 'a bundle; give its items' else 'no bundle; give no items' end);
    end if;
    insert into stepwell.information_unit_label (tenant_id, iu_id, lang, label)
    select p_tenant_id, v_unit.iu_id, l.key, l.value from jsonb_each_text(coalesce(p_labels, '{}')) as l
    on conflict (tenant_id, iu_id, lang) do update set label = excluded.label;
    v_hash := stepwell._content_hash(p_tenant_id, p_body, p_items);
    select v.version_no, v.content_hash into v_last
    from stepwell.information_unit_version as v
    where v.tenant_id = p_tenant_id and v.iu_id = v_unit.iu_id
    order by v.version_no desc limit 1;
    if v_last.content_hash = v_hash then
        return query select v_unit.iu_id, v_last.version_no, false;
        return;
    end if;
    insert into stepwell.information_unit_version (
        tenant_id, iu_id, version_no, body, content_hash, written_at, written_by, note)
    values (p_tenant_id, v_unit.iu_id, coalesce(v_last.version_no, 0) + 1, p_body, v_hash, v_now, p_actor, p_note);
    insert into stepwell.information_bundle_item (tenant_id, iu_id, version_no, place, item_iu_id, item_version_no)
    select p_tenant_id, v_unit.iu_id, coalesce(v_last.version_no, 0) + 1, x.place, c.iu_id, c.version_no
    from unnest(p_items) with ordinality as x (code, place)
    cross join lateral stepwell._content_current(p_tenant_id, x.code) as c;
    return query select v_unit.iu_id, coalesce(v_last.version_no, 0) + 1, true;
exception when check_violation then
    raise exception using errcode = 'SW001', message = format('labels: %s', sqlerrm),
        hint = 'accepted are labels {"vi": "…", "en": "…"} of 1 to 200 characters';
end
$$;
