-- Content that steps show: content units with immutable versions, and bundles of them. A run keeps the versions that
-- were current when it started.

-- Writes a version of a content unit (Markdown), or of a bundle, which is a list of content units in their current
-- versions. The first version creates the unit; labels are set with each version.
-- Locks: the unit's row.
-- Idempotency: the same body, or the same list, as the latest version makes no new one.
-- Raises: SW001 for a bad code, body or label; SW002 when a unit of the list does not exist; SW003 when a unit would
--   become a bundle or a bundle a unit; SW006 over a limit; SW007 for another tenant.
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
    p_note := stepwell._redact_text(p_note);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if p_code is null or p_code !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$' or p_body is null then
        raise exception using errcode = 'SW001', column = case when p_body is null then 'body' else 'code' end,
            message = case when p_body is null then 'body: a text is required'
                else 'code: 1 to 200 letters, digits, _ . and - are accepted, beginning with a letter or digit' end;
    end if;
    if octet_length(p_body) > stepwell._limit('limits.content_bytes')
        or cardinality(p_items) > stepwell._limit('limits.bundle_items') then
        raise exception using errcode = 'SW006', message = case
            when octet_length(p_body) > stepwell._limit('limits.content_bytes')
                then format('body: at most %s bytes are accepted', stepwell._limit('limits.content_bytes'))
            else format('items: at most %s are accepted', stepwell._limit('limits.bundle_items')) end;
    end if;
    insert into stepwell.information_unit (tenant_id, iu_code, is_bundle, created_at, created_by)
    values (p_tenant_id, p_code, p_items is not null, v_now, p_actor)
    on conflict (tenant_id, iu_code) do nothing;
    select u.* into v_unit from stepwell.information_unit as u
    where u.tenant_id = p_tenant_id and u.iu_code = p_code for update;
    if v_unit.replaced_by is not null then
        raise exception using errcode = 'SW003', column = 'code', message = format('content %s was replaced by cut %s', p_code,
            stepwell._run_of(v_unit.replaced_by)), hint = 'restage a version of it, or write the content that replaced it';
    end if;
    if v_unit.is_bundle <> (p_items is not null) then
        raise exception using errcode = 'SW003', message = format('items: content %s is %s', p_code,
            case when v_unit.is_bundle then 'a bundle and needs its items' else 'no bundle and has no items' end);
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
    perform stepwell._lifecycle_note(p_tenant_id, p_code, 'written', 'info', format('version %s', coalesce(v_last.version_no, 0) + 1),
        null, p_actor);
    return query select v_unit.iu_id, coalesce(v_last.version_no, 0) + 1, true;
exception when check_violation then
    raise exception using errcode = 'SW001', message = format('labels: %s', sqlerrm),
        hint = 'accepted are labels {"vi": "…", "en": "…"} of 1 to 200 characters';
end
$$;

-- Adds a line to the life of a content unit: what happened to it, and how bad that is.
create or replace function stepwell._lifecycle_note(
    p_tenant_id int, p_code text, p_what text, p_severity text, p_detail text, p_cut_request_id bigint, p_actor text,
    p_axis_inconsistency boolean default false
) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.iu_lifecycle_log (
        tenant_id, iu_code, what, severity, axis_inconsistency, detail, cut_request_id, written_by, written_at)
    values (p_tenant_id, p_code, p_what, p_severity, p_axis_inconsistency, left(p_detail, 2000), p_cut_request_id, p_actor, stepwell.now())
$$;

-- The current version of a content unit.
-- Raises: SW002 when there is no such unit.
create or replace function stepwell._content_current(p_tenant_id int, p_code text)
returns table (iu_id bigint, version_no int, content_hash text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select v.iu_id, v.version_no, v.content_hash
    from stepwell.information_unit as u
    inner join stepwell.information_unit_version as v on u.tenant_id = v.tenant_id and u.iu_id = v.iu_id
    where u.tenant_id = p_tenant_id and u.iu_code = p_code
    order by v.version_no desc limit 1;
    if not found then
        raise exception using errcode = 'SW002', column = 'code', message = format('content %s does not exist', p_code),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'content', p_code), '');
    end if;
end
$$;

-- The hash by which two versions are the same: the body and, of a bundle, the versions in it, in order.
-- Raises: SW002 when an item does not exist.
create or replace function stepwell._content_hash(p_tenant_id int, p_body text, p_items text[]) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select encode(sha256(convert_to(p_body || coalesce((
        select string_agg(E'\n' || x.code || ':' || c.version_no, '' order by x.place)
        from unnest(p_items) with ordinality as x (code, place)
        cross join lateral stepwell._content_current(p_tenant_id, x.code) as c), ''), 'UTF8')), 'hex')
$$;

-- Refuses every change of a written version, and of the log of its life: a change is a new version.
-- Raises: SW007.
create or replace function stepwell._content_refuse() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', hint = 'write a new version',
        message = format('%s: what is written cannot be changed; %s is refused', tg_table_name, lower(tg_op));
end
$$;
create or replace trigger versions_are_final
before update or delete or truncate on stepwell.information_unit_version
for each statement execute function stepwell._content_refuse();
create or replace trigger bundle_items_are_final
before update or delete or truncate on stepwell.information_bundle_item
for each statement execute function stepwell._content_refuse();
create or replace trigger lifecycle_is_final
before update or delete or truncate on stepwell.iu_lifecycle_log
for each statement execute function stepwell._content_refuse();

-- Stores for new runs which versions their steps show: those that are current now. Later versions do not change these
-- runs. A step whose content does not exist shows none.
create or replace function stepwell._content_pin(p_tenant_id int, p_version_id int, p_run_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.step_content_pin (tenant_id, run_id, step_no, iu_id, version_no, pinned_at)
    select p_tenant_id, r.run_id, d.step_no, c.iu_id, c.version_no, stepwell.now()
    from unnest(p_run_ids) as r (run_id)
    cross join stepwell.workflow_step_def as d
    inner join stepwell.information_unit as u on u.tenant_id = d.tenant_id and u.iu_code = d.config ->> 'content'
    cross join lateral (
        select v.iu_id, v.version_no from stepwell.information_unit_version as v
        where v.tenant_id = u.tenant_id and v.iu_id = u.iu_id
        order by v.version_no desc limit 1
    ) as c
    where d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.config ? 'content'
    on conflict do nothing
$$;

-- What steps of runs show: the stored version with its body and labels; of a bundle, the bodies in it, in order.
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
        left join stepwell.information_unit_version as w
            on b.tenant_id = w.tenant_id and b.item_iu_id = w.iu_id and b.item_version_no = w.version_no
        where b.tenant_id = p.tenant_id and b.iu_id = p.iu_id and b.version_no = p.version_no) as items
from stepwell.step_content_pin as p
inner join stepwell.information_unit as u on p.tenant_id = u.tenant_id and p.iu_id = u.iu_id
-- Whoever may not read a content sees that the step shows it.
left join stepwell.information_unit_version as v
    on p.tenant_id = v.tenant_id and p.iu_id = v.iu_id and p.version_no = v.version_no;
