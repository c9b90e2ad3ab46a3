-- What somebody may have meant by a name that does not exist.

-- The known name nearest to a misspelt one, as a question: did you mean order.process? Null when none is near. Kinds:
-- workflow, person, schedule, calendar, content, tenant, key (of a run of the workflow p_within), step (of the run p_within).
-- Of many names, the newest thousand of a similar length are compared.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_name_suggest(p_tenant_id int, p_kind text, p_word text, p_within text default null)
returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_word constant text := lower(left(p_word, 100));
    -- A third of the letters may be wrong.
    v_limit constant int := greatest(1, length(v_word) / 3);
    v_name text;
begin
    select n.name into v_name
    from stepwell._names_known(p_tenant_id, p_kind, p_within) as n
    cross join lateral (select case when lower(n.name) = v_word then 0
        when abs(length(n.name) - length(v_word)) <= v_limit then stepwell._edit_distance(v_word, lower(left(n.name, 100)))
        when length(v_word) >= 3 and (starts_with(lower(n.name), v_word) or starts_with(v_word, lower(n.name))) then v_limit
        end as distance) as d
    where d.distance <= v_limit and n.name <> p_word
    order by d.distance, n.name limit 1;
    return 'did you mean ' || v_name || '?';
end
$$;

-- What helps when nobody has this name: the person who may be meant, else how a person is added.
create or replace function stepwell._person_hint(p_tenant_id int, p_name text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_name),
        'add the person first: stepwell user add ' || case when stepwell._actor_plain(p_name) ~ '^[[:alnum:]._-]+$'
            then stepwell._actor_plain(p_name) else 'NAME' end || ' --role ROLE')
$$;

-- The names of a kind, at most a thousand; see fn_name_suggest.
create or replace function stepwell._names_known(p_tenant_id int, p_kind text, p_within text) returns table (name text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select x.name from (
        select w.workflow_name as name from stepwell.workflow_registry as w where p_kind = 'workflow' and w.tenant_id = p_tenant_id
        union all
        select p.person_name from stepwell.person as p where p_kind = 'person' and p.tenant_id = p_tenant_id and p.is_active
        union all
        select s.schedule_name from stepwell.workflow_schedule as s where p_kind = 'schedule' and s.tenant_id = p_tenant_id
        union all
        select c.calendar_name from stepwell.business_calendar as c where p_kind = 'calendar' and c.tenant_id = p_tenant_id
        union all
        select u.iu_code from stepwell.information_unit as u where p_kind = 'content' and u.tenant_id = p_tenant_id
        union all
        select t.tenant_code from stepwell.tenant as t where p_kind = 'tenant'
        union all
        (select r.trigger_ref from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where p_kind = 'key' and r.tenant_id = p_tenant_id and w.workflow_name = p_within and r.trigger_ref is not null
            order by r.run_id desc limit 1000)
        union all
        select d.step_id from stepwell.run_detail as r
        inner join stepwell.workflow_step_def as d on r.tenant_id = d.tenant_id and r.version_id = d.version_id
        where p_kind = 'step' and r.tenant_id = p_tenant_id and r.run_id = case when p_kind = 'step' then p_within::bigint end
    ) as x limit 1000;
end
$$;

-- How many letters must be added, removed, changed or swapped with their neighbour to make one word the other.
create or replace function stepwell._edit_distance(p_from text, p_to text) returns int
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_before int[];
    v_last int[] := array(select g.n from generate_series(0, length(p_to)) as g (n));
    v_row int[];
    v_cost int;
begin
    for v_i in 1 .. length(p_from) loop
        v_row := array[v_i];
        for v_j in 1 .. length(p_to) loop
            v_cost := (substr(p_from, v_i, 1) <> substr(p_to, v_j, 1))::int;
            v_row[v_j + 1] := least(v_last[v_j + 1] + 1, v_row[v_j] + 1, v_last[v_j] + v_cost);
            if v_i > 1 and v_j > 1 and substr(p_from, v_i, 1) = substr(p_to, v_j - 1, 1)
                and substr(p_from, v_i - 1, 1) = substr(p_to, v_j, 1) then
                v_row[v_j + 1] := least(v_row[v_j + 1], v_before[v_j - 1] + 1);
            end if;
        end loop;
        v_before := v_last;
        v_last := v_row;
    end loop;
    return v_last[length(p_to) + 1];
end
$$;
