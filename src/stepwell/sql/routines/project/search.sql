-- Find things by a few letters: what the command palette of the console asks.

-- Runs by number, key, the beginning of a key or a label (customer:Acme); workflows, people, content and schedules by a part of
-- their name or title. At most p_limit of each kind, exact matches first. Rows of a kind that the caller may not read are not found.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a text that is too short or too long.
create or replace function stepwell.fn_search(p_tenant_id int, p_text text, p_limit int default 10)
returns table (kind text, id text, title text, detail text, rank int)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_text constant text := btrim(p_text);
    v_part constant text := '%' || replace(replace(replace(v_text, '\', '\\'), '%', '\%'), '_', '\_') || '%';
    v_limit constant int := least(greatest(p_limit, 1), 50);
begin
    if coalesce(length(v_text), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', column = 'text', message = 'text: 1 to 200 characters are accepted';
    end if;
    return query
    (select 'run', r.run_id::text, w.workflow_name || ' ' || coalesce(r.trigger_ref, '#' || r.run_id), u.state_code, 0
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = stepwell._run_unit(r.run_id)
    where r.tenant_id = p_tenant_id and v_text ~ '^#?[0-9]{1,12}$' and r.run_id = ltrim(v_text, '#')::bigint)
    union all
    (select 'run', k.run_id::text, k.workflow_name || ' ' || k.trigger_ref, u.state_code, case when k.trigger_ref = v_text then 0 else 1 end
    from (
        select f.run_id, w.workflow_name, f.trigger_ref
        from (select g.workflow_name from stepwell.workflow_registry as g where g.tenant_id = p_tenant_id
            order by g.workflow_name limit 500) as w
        cross join lateral (
            -- The index of triggers has the keys of each workflow in order.
            select r.run_id, r.trigger_ref from stepwell.run_detail as r
            where r.tenant_id = p_tenant_id and r.trigger_type = w.workflow_name and r.trigger_ref >= v_text
            order by r.trigger_ref limit v_limit) as f
        where starts_with(f.trigger_ref, v_text)
        order by f.trigger_ref <> v_text, f.trigger_ref limit v_limit
    ) as k
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(k.run_id))
    union all
    (select 'run', l.run_id::text, w.workflow_name || ' ' || coalesce(r.trigger_ref, '#' || l.run_id), u.state_code, 0
    from (
        select f.run_id from stepwell.run_label as f
        where f.tenant_id = p_tenant_id and v_text ~ '^[a-z][a-z0-9_.-]{0,62}:.' and f.label_key = split_part(v_text, ':', 1)
            and f.label_value = btrim(substr(v_text, strpos(v_text, ':') + 1))
        order by f.run_id desc limit v_limit
    ) as l
    inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and l.run_id = r.run_id
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(l.run_id))
    union all
    (select 'workflow', w.name, coalesce(w.title, w.name), null, case when w.name = v_text then 0 else 1 end
    from stepwell.v_workflow as w where w.tenant_id = p_tenant_id and (w.name ilike v_part or w.title ilike v_part)
    order by w.name <> v_text, w.name limit v_limit)
    union all
    (select p.kind, p.principal_name, coalesce(p.display_name, p.principal_name), null, case when p.principal_name = v_text then 0 else 1 end
    from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.is_active and (p.principal_name ilike v_part or p.display_name ilike v_part)
    order by p.principal_name <> v_text, p.principal_name limit v_limit)
    union all
    (select 'content', c.iu_code, c.iu_code, null, case when c.iu_code = v_text then 0 else 1 end
    from stepwell.information_unit as c where c.tenant_id = p_tenant_id and c.iu_code ilike v_part
    order by c.iu_code <> v_text, c.iu_code limit v_limit)
    union all
    (select 'schedule', s.schedule_name, s.schedule_name, s.workflow, case when s.schedule_name = v_text then 0 else 1 end
    from stepwell.v_schedule as s where s.tenant_id = p_tenant_id and s.schedule_name ilike v_part
    order by s.schedule_name <> v_text, s.schedule_name limit v_limit);
end
$$;
