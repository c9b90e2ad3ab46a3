-- Which steps the bound principal sees, and which contents it reads. A step with rows in workflow_step_permission is shown to
-- whoever has one of their roles, may do the step, or is in charge of it; for the others it does not exist: row level security
-- hides its definition, its units and what belongs to them. What a transaction sees is part of its binding, so that whoever
-- sees everything pays one comparison for each table.

-- Whether this transaction sees everything. The setting is not proved here: whoever writes another one is bound to no tenant
-- and sees no row at all (read_tenant).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.sees_all_steps() returns boolean
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
begin
    return split_part(coalesce(current_setting('stepwell.binding', true), ''), ':', 4) not in ('5', '7');
end
$$;

-- What a principal may read: 0 nothing, 1 rows, 3 rows and payloads; 5 and 7 the same without what rows of permission hide
-- of steps and contents.
create or replace function stepwell._reads_of(p_tenant_id int, p_principal_id bigint, p_verbs text[]) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (select r.reads from stepwell._reads_at(p_tenant_id, p_principal_id, p_verbs) as r (reads));
end
$$;

-- The same as a row. It has no settings of its own, so that PostgreSQL makes it part of the statement that calls it.
create or replace function stepwell._reads_at(p_tenant_id int, p_principal_id bigint, p_verbs text[]) returns setof int
language sql stable rows 1
as $$
    select case when bool_or(a.verb = 'read') then case when bool_or(a.verb = 'payload.read') then 3 else 1 end
        + case when not bool_or(a.verb = 'step.read_all') and stepwell._rows_hide(p_tenant_id, p_principal_id) then 4 else 0 end
        else 0 end
    from stepwell.permission as a
    where a.tenant_id in (0, p_tenant_id) and a.verb in ('read', 'payload.read', 'step.read_all')
        and (p_verbs is null or a.verb = any (p_verbs))
        and a.role_name = any (text 'everybody' || array(select r.role_name from stepwell.principal_role as r
            where r.tenant_id = p_tenant_id and r.principal_id = p_principal_id))
$$;

-- Whether rows of permission keep anything from somebody with these roles. Most tenants have none.
create or replace function stepwell._rows_hide(p_tenant_id int, p_principal_id bigint) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_roles text[];
begin
    if not exists (select from stepwell.workflow_step_permission as s where s.tenant_id = p_tenant_id)
        and not exists (select from stepwell.information_unit_permission as c where c.tenant_id = p_tenant_id) then
        return false;
    end if;
    v_roles := stepwell._roles_held(p_tenant_id, p_principal_id);
    return exists (select from stepwell.workflow_step_permission as s where s.tenant_id = p_tenant_id
            group by s.workflow_id, s.step_id having not bool_or(s.role_name = any (v_roles)))
        or exists (select from stepwell.information_unit_permission as c where c.tenant_id = p_tenant_id
            group by c.iu_id having not bool_or(c.role_name = any (v_roles)));
end
$$;

-- The roles of a principal, with the one that everybody has.
create or replace function stepwell._roles_held(p_tenant_id int, p_principal_id bigint) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select text 'everybody' || array(select r.role_name from stepwell.principal_role as r
        where r.tenant_id = p_tenant_id and r.principal_id = p_principal_id)
$$;

-- The steps that the bound principal does not see, each as its version and its number in one number (_step_key), with all steps
-- inside of them. Empty for whoever sees everything.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.hidden_steps() returns bigint[]
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id constant int := stepwell.bound_tenant();
    v_principal_id constant bigint := stepwell.bound_principal();
    v_roles text[];
    v_name_key text;
begin
    if stepwell.sees_all_steps() then
        return '{}'::bigint[];
    end if;
    v_roles := stepwell._roles_held(v_tenant_id, v_principal_id);
    v_name_key := (select p.name_key from stepwell.principal as p where p.tenant_id = v_tenant_id and p.principal_id = v_principal_id);
    return array(
        with recursive barred as (
            select s.workflow_id, s.step_id from stepwell.workflow_step_permission as s
            where s.tenant_id = v_tenant_id
            group by s.workflow_id, s.step_id having not bool_or(s.role_name = any (v_roles))
        ), hidden as (
            select d.version_id, d.step_no
            from barred as b
            inner join stepwell.workflow_version as v on v.tenant_id = v_tenant_id and b.workflow_id = v.workflow_id
            inner join stepwell.workflow_step_def as d on d.tenant_id = v_tenant_id and v.version_id = d.version_id and b.step_id = d.step_id
            where not stepwell._may_do(d.config, v_roles, v_name_key)
                and not exists (select from stepwell.work_unit as u
                    inner join stepwell.work_unit as s on u.tenant_id = s.tenant_id
                        and s.unit_id = case u.scope when 'task' then u.parent_id else u.unit_id end
                    where u.tenant_id = v_tenant_id and u.pic_id = v_principal_id and s.version_id = d.version_id and s.def_no = d.step_no)
            union
            select d.version_id, d.step_no
            from hidden as h
            inner join stepwell.workflow_step_def as d
                on d.tenant_id = v_tenant_id and h.version_id = d.version_id and h.step_no = d.scope_no
        )
        select stepwell._step_key(h.version_id, h.step_no) from hidden as h order by 1);
end
$$;

-- A step of a version as one number: an expression without settings, which Postgres writes into the statement.
create or replace function stepwell._step_key(p_version_id int, p_step_no int) returns bigint
language sql immutable parallel safe
as $$ select (coalesce(p_version_id, 0)::bigint << 20) | coalesce(p_step_no, 0) $$;

-- Whether somebody with these roles and this name is asked to do a step, or a task of it.
create or replace function stepwell._may_do(p_config jsonb, p_roles text[], p_name_key text) returns boolean
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select exists (
        select from jsonb_array_elements(coalesce(p_config -> 'tasks', '[]') || p_config) as a (asks)
        where a.asks ->> 'role' = any (p_roles) or stepwell._name_fold(a.asks ->> 'assignee') = p_name_key)
$$;

-- The contents whose bodies the bound principal does not read. Empty for whoever sees everything.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.hidden_contents() returns bigint[]
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id constant int := stepwell.bound_tenant();
    v_roles text[];
begin
    if stepwell.sees_all_steps() then
        return '{}'::bigint[];
    end if;
    v_roles := stepwell._roles_held(v_tenant_id, stepwell.bound_principal());
    return array(select c.iu_id from stepwell.information_unit_permission as c where c.tenant_id = v_tenant_id
        group by c.iu_id having not bool_or(c.role_name = any (v_roles)) order by c.iu_id);
end
$$;

-- Whether a unit is shown to somebody who does not see these steps: a step, or what belongs to one. A unit that is gone is not
-- shown, because nobody knows what it was. An approval is also shown to whom it asks.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.unit_is_shown(p_tenant_id int, p_unit_id bigint, p_hidden_steps bigint[]) returns boolean
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_unit record;
begin
    if coalesce(p_unit_id, 0) = 0 or p_hidden_steps = '{}' then
        return true;
    end if;
    if stepwell.bound_tenant() is distinct from p_tenant_id then
        return false;
    end if;
    select u.scope, u.version_id, u.def_no, u.parent_id into v_unit
    from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    return case v_unit.scope
        when 'step' then stepwell._step_key(v_unit.version_id, v_unit.def_no) <> all (p_hidden_steps)
        when 'task' then stepwell.unit_is_shown(p_tenant_id, v_unit.parent_id, p_hidden_steps)
        when 'approval' then stepwell._approval_names_bound(p_tenant_id, p_unit_id) or stepwell.unit_is_shown(p_tenant_id, (
            select a.subject_unit_id from stepwell.approval_detail as a
            where a.tenant_id = p_tenant_id and a.approval_id = p_unit_id), p_hidden_steps)
        when 'receipt' then stepwell.unit_is_shown(p_tenant_id, (select r.unit_id from stepwell.action_receipt as r
            where r.tenant_id = p_tenant_id and r.receipt_id = p_unit_id), p_hidden_steps)
        else v_unit.scope is not null end;
end
$$;

-- Whether an approval names the bound principal, or a role of it, as who decides.
create or replace function stepwell._approval_names_bound(p_tenant_id int, p_approval_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (
        select from stepwell.approval_detail as a
        inner join stepwell.principal as p on a.tenant_id = p.tenant_id and p.principal_id = stepwell.bound_principal()
        where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id and p.tenant_id = stepwell.bound_tenant()
            and (a.approver_role = any (stepwell._roles_held(p_tenant_id, p.principal_id))
                or exists (select from unnest(a.approvers) as x (name) where stepwell._name_fold(x.name) = p.name_key)))
$$;

-- Whether a graph has no step that is hidden from the bound principal: a kept drawing shows all its steps.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.graph_is_shown(p_tenant_id int, p_graph_hash text, p_hidden_steps bigint[]) returns boolean
language sql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
    select stepwell.bound_tenant() = p_tenant_id and not exists (
        select from stepwell.workflow_version as v
        inner join unnest(p_hidden_steps) as h (step_key) on v.version_id = h.step_key >> 20
        where v.tenant_id = p_tenant_id and v.graph_hash = p_graph_hash)
$$;

-- The graph of a version as the bound principal sees it: without steps that are hidden, and with edges around them; null for
-- another tenant. Numbers of steps stay. The hash of a graph that is shown in part is its own.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.version_graph(p_tenant_id int, p_version_id int) returns jsonb
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_hidden constant int[] := stepwell._version_hides(p_version_id);
begin
    if stepwell.read_tenant() is distinct from p_tenant_id and stepwell.payload_tenant() is distinct from 0 then
        return null;
    end if;
    return (select case when v_hidden = '{}' then v.graph else stepwell._graph_shown(v.graph, v_hidden) end
        from stepwell.workflow_version as v where v.tenant_id = p_tenant_id and v.version_id = p_version_id);
end
$$;

-- The hash of what version_graph returns, from the hash of the whole graph.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.version_hash(p_version_id int, p_graph_hash text) returns text
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_hidden constant int[] := stepwell._version_hides(p_version_id);
begin
    return case when v_hidden = '{}' then p_graph_hash
        else encode(sha256(convert_to(p_graph_hash || ':' || array_to_string(v_hidden, ','), 'UTF8')), 'hex') end;
end
$$;

-- The numbers of the steps of a version that the bound principal does not see.
create or replace function stepwell._version_hides(p_version_id int) returns int[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when stepwell.sees_all_steps() then '{}'::int[] else array(
        select (h.step_key & 1048575)::int from unnest(stepwell.hidden_steps()) as h (step_key)
        where h.step_key >> 20 = p_version_id order by 1) end
$$;

-- A graph without these steps. What came after one of them comes after what was before it; what a hidden conditional decided is
-- no longer told.
create or replace function stepwell._graph_shown(p_graph jsonb, p_hidden int[]) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    with recursive edge as (
        select (e.value ->> 'from')::int as from_no, (e.value ->> 'to')::int as to_no, (e.value ->> 'branch')::int as branch
        from jsonb_array_elements(p_graph -> 'edges') as e
    ), branch as (
        select b.value as body, (b.value ->> 'no')::int as no,
            coalesce(b.value ->> 'conditional', b.value ->> 'decision')::int = any (p_hidden) as is_hidden
        from jsonb_array_elements(p_graph -> 'branches') as b
    ), walk as (
        select e.from_no, e.to_no, e.branch from edge as e where not e.from_no = any (p_hidden)
        union
        select w.from_no, e.to_no, w.branch from walk as w
        inner join edge as e on w.to_no = e.from_no
        where w.to_no = any (p_hidden)
    ), gone as (
        select coalesce(array_agg(b.no), '{}') as nos from branch as b where b.is_hidden
    )
    select p_graph || jsonb_build_object(
        case when p_graph ? 'nodes' then 'nodes' else 'steps' end, (
            select coalesce(jsonb_agg(case when (s.value ->> 'branch')::int = any (g.nos) then s.value - 'branch' else s.value end
                - '{reads,catches}'::text[] order by s.place), '[]')
            from jsonb_array_elements(coalesce(p_graph -> 'steps', p_graph -> 'nodes')) with ordinality as s (value, place)
            where not (s.value ->> 'no')::int = any (p_hidden)),
        'edges', (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('from', w.from_no, 'to', w.to_no, 'branch', w.branch))
            order by w.from_no, w.to_no), '[]')
            from (select x.from_no, x.to_no, case when count(distinct coalesce(x.branch, 0)) = 1 then min(x.branch) end as branch from walk as x
                where not x.to_no = any (p_hidden) group by x.from_no, x.to_no) as w),
        'branches', (select coalesce(jsonb_agg(case when (b.body ->> 'parent')::int = any (g.nos) then b.body - 'parent' else b.body end
            order by b.no), '[]') from branch as b where not b.is_hidden))
    from gone as g
$$;

-- Refuses a unit that the bound principal does not see, in the words for one that does not exist.
-- Raises: SW002.
create or replace function stepwell._unit_shown_check(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell.sees_all_steps() and not stepwell.unit_is_shown(p_tenant_id, p_unit_id, stepwell.hidden_steps()) then
        raise exception using errcode = 'SW002', column = 'unit', message = format('%s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
end
$$;
