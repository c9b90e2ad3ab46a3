-- Saved views: a filter of a list and its columns under a name. A view belongs to one principal; a shared one is shown to
-- everybody of the tenant, and only its owner changes it.

-- Saves a view; with p_view_id it changes that one. Returns its number.
-- Locks: the row of the view.
-- Idempotency: the same view again changes nothing.
-- Raises: SW001 naming the field; SW002 when the caller has no such view; SW003 when the caller has another view of this
--   name; SW006 over a limit; SW007 when the caller may not share, or is nobody.
create or replace function stepwell.fn_view_save(
    p_tenant_id int, p_page text, p_name text, p_filter jsonb, p_columns text[], p_is_shared boolean, p_view_id bigint default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_owner_id constant bigint := stepwell._view_owner(p_tenant_id);
    v_view_id bigint;
    v_was record;
begin
    perform stepwell._view_check(p_page, p_name, p_filter, p_columns);
    perform stepwell._secret_refuse('name', p_name);
    p_filter := stepwell._redact(p_filter, stepwell._redaction_pattern());
    select v.is_shared into v_was from stepwell.saved_view as v
    where v.tenant_id = p_tenant_id and v.view_id = p_view_id and v.owner_id = v_owner_id for update;
    if p_view_id is not null and not found then
        raise exception using errcode = 'SW002', column = 'view', message = format('view %s does not exist, or is not yours', p_view_id);
    end if;
    if p_is_shared or v_was.is_shared then
        perform stepwell._verb_check(p_tenant_id, 'view.share');
    end if;
    if exists (select from stepwell.saved_view as v where v.tenant_id = p_tenant_id and v.owner_id = v_owner_id and v.page = p_page
        and v.name_key = stepwell._name_fold(p_name) and v.view_id is distinct from p_view_id) then
        raise exception using errcode = 'SW003', column = 'name', message = format('name: you have another view with the name %s', p_name);
    end if;
    if p_view_id is null then
        if (select count(*) from stepwell.saved_view as v where v.tenant_id = p_tenant_id and v.owner_id = v_owner_id)
            >= stepwell._limit('limits.views_per_person') then
            raise exception using errcode = 'SW006', column = 'name', message = format('a person saves %s views at most',
                stepwell._limit('limits.views_per_person'));
        end if;
        insert into stepwell.saved_view (tenant_id, page, view_name, name_key, filter, columns, owner_id, is_shared, changed_at)
        values (p_tenant_id, p_page, p_name, stepwell._name_fold(p_name), p_filter, p_columns, v_owner_id, p_is_shared, stepwell.now())
        returning view_id into v_view_id;
    else
        update stepwell.saved_view as v set page = p_page, view_name = p_name, name_key = stepwell._name_fold(p_name), filter = p_filter,
            columns = p_columns, is_shared = p_is_shared, changed_at = stepwell.now()
        where v.tenant_id = p_tenant_id and v.view_id = p_view_id
            and (v.page, v.view_name, v.filter, v.columns, v.is_shared) is distinct from (p_page, p_name, p_filter, p_columns, p_is_shared);
        v_view_id := p_view_id;
    end if;
    if p_is_shared or v_was.is_shared then
        perform stepwell._event_append(p_tenant_id, 0, 'view.saved', stepwell._caller_name(),
            jsonb_build_object('view_id', v_view_id, 'name', p_name, 'page', p_page), 'pic_human');
    end if;
    return v_view_id;
end
$$;

-- Deletes a view of the caller.
-- Locks: the row of the view.
-- Idempotency: none; a view that is gone does not exist.
-- Raises: SW002 when the caller has no such view; SW007 when the caller is nobody.
create or replace function stepwell.fn_view_delete(p_tenant_id int, p_view_id bigint) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_owner_id constant bigint := stepwell._view_owner(p_tenant_id);
    v_gone stepwell.saved_view;
begin
    delete from stepwell.saved_view as v
    where v.tenant_id = p_tenant_id and v.view_id = p_view_id and v.owner_id = v_owner_id
    returning v.* into v_gone;
    if not found then
        raise exception using errcode = 'SW002', column = 'view', message = format('view %s does not exist, or is not yours', p_view_id);
    end if;
    if v_gone.is_shared then
        perform stepwell._event_append(p_tenant_id, 0, 'view.deleted', stepwell._caller_name(),
            jsonb_build_object('view_id', p_view_id, 'name', v_gone.view_name, 'page', v_gone.page), 'pic_human');
    end if;
end
$$;

-- The views that the caller sees: the own ones, and those that are shared.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller is nobody.
create or replace function stepwell.fn_views_read(p_tenant_id int, p_page text default null)
returns table (
    view_id bigint, page text, view_name text, filter jsonb, columns text[], is_shared boolean, owner_name text, is_mine boolean,
    changed_at timestamptz
)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_owner_id constant bigint := stepwell._view_owner(p_tenant_id);
begin
    return query
    select v.view_id, v.page, v.view_name, v.filter, v.columns, v.is_shared, p.principal_name, v.owner_id = v_owner_id, v.changed_at
    from stepwell.saved_view as v
    inner join stepwell.principal as p on v.tenant_id = p.tenant_id and v.owner_id = p.principal_id
    where v.tenant_id = p_tenant_id and (v.owner_id = v_owner_id or v.is_shared) and (p_page is null or v.page = p_page)
    order by v.page, v.name_key, v.view_id
    limit stepwell._limit('limits.page_size');
end
$$;

-- Whose views the caller saves: the bound principal.
-- Raises: SW007 when the transaction is bound to nobody, or to another tenant.
create or replace function stepwell._view_owner(p_tenant_id int) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    if stepwell.bound_principal() is null then
        raise exception using errcode = 'SW007', message = 'a saved view belongs to a principal, and this transaction is bound to nobody',
            hint = 'give a token (STEPWELL_TOKEN), or call stepwell.fn_session_bind in the same transaction';
    end if;
    return stepwell.bound_principal();
end
$$;

-- Refuses a view that is none.
-- Raises: SW001 naming the field; SW006 when it is too large.
create or replace function stepwell._view_check(p_page text, p_name text, p_filter jsonb, p_columns text[]) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bad record;
begin
    select c.field, c.says into v_bad
    from (values
        (1, 'page', coalesce(p_page, '') !~ '^[a-z][a-z_]{0,39}$', 'the name of a page, such as runs, is required'),
        (2, 'name', p_name is null or length(btrim(p_name)) not between 1 and 80 or p_name ~ '[[:cntrl:]]',
            'a text of one line with 1 to 80 characters is required'),
        (3, 'filter', jsonb_typeof(p_filter) is distinct from 'object', 'an object of names and values is required'),
        (4, 'columns', p_columns is null or cardinality(p_columns) > 50 or exists (
            select from unnest(p_columns) as c (name) where coalesce(c.name, '') !~ '^[a-z][a-z0-9_.-]{0,62}$'),
            'a list of up to 50 names is required')
    ) as c (place, field, is_bad, says)
    where c.is_bad order by c.place limit 1;
    if found then
        raise exception using errcode = 'SW001', column = v_bad.field, message = format('%s: %s', v_bad.field, v_bad.says);
    end if;
    perform stepwell._values_check('filter', 'view', array[p_filter], 'limits.view_bytes');
end
$$;
