-- Lists of runs: pages, counts, and where the pages begin. The filters have one meaning for all of them, and it is here. First the
-- numbers of the runs are found, by the order of an index; then each run of the page is looked up.

-- A run as a list shows it: the columns of workflow_run that cost no computation.
create or replace view stepwell.v_run_listed with (security_invoker = true) as
select
    r.tenant_id, r.run_id, r.unit_id, r.workflow, r.version_no, r.state_code, r.rollup_state_code, r.priority,
    r.open_count, r.mandatory_count, r.completed_count, r.skipped_count, r.failed_count, r.trigger_type, r.trigger_ref,
    r.started_by, r.parent_run_id, r.created_at, r.started_at, r.finished_at, r.frozen_at, r.deadline_at, r.input, r.labels
from stepwell.workflow_run as r;

-- The statement that finds the numbers of runs, the newest first. Its parameters: tenant, filter, the run after which the page begins,
-- and how many. It has a condition only for the filters that are given, so that each can use its index. Row level security lets no
-- function into an index that is not leakproof, and `<<` is not: so the number of the unit is a column before it is compared.
-- Raises: SW001 for a filter that does not exist.
create or replace function stepwell._runs_query(p_filter jsonb) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_unknown text;
    v_known constant jsonb := jsonb_build_object(
        'workflow', 'd.workflow_id = (select w.workflow_id from stepwell.workflow_registry as w
            where w.tenant_id = $1 and w.workflow_name = $2 ->> ''workflow'')',
        -- Few runs are open: the state of each is looked up. A join would read the states of all units.
        'state', case when stepwell._run_has_ended(p_filter ->> 'state') then 'd.finished_state = $2 ->> ''state'''
            else 'd.finished_at is null and (select u.state_code from stepwell.work_unit as u
                where u.tenant_id = d.tenant_id and u.unit_id = d.unit_id) = $2 ->> ''state''' end,
        'colour', 'p.rollup_state_code = $2 ->> ''colour''',
        'key', 'd.trigger_ref = $2 ->> ''key''',
        'source', 'd.trigger_type = $2 ->> ''source''',
        'parent', 'd.run_id in (select stepwell._run_of(u.unit_id) from stepwell.work_unit as u
            where u.tenant_id = $1 and u.scope = ''workflow_run''
                and u.parent_id between stepwell._run_unit(($2 ->> ''parent'')::bigint) and stepwell._run_last(($2 ->> ''parent'')::bigint))',
        'started_after', 'd.created_at >= ($2 ->> ''started_after'')::timestamptz',
        'started_before', 'd.created_at < ($2 ->> ''started_before'')::timestamptz',
        -- One condition for each label: where many runs have them, the page ends the search; a label of few runs is found by its index.
        'labels', (select string_agg(format('exists (select from stepwell.run_label as l where l.tenant_id = $1 and l.run_id = d.run_id
            and l.label_key = %1$L and l.label_value = $2 -> ''labels'' ->> %1$L)', k), ' and ')
            from jsonb_object_keys(p_filter -> 'labels') as k));
begin
    select string_agg(k, ', ') into v_unknown from jsonb_object_keys(p_filter) as k where not v_known ? k;
    if v_unknown is not null then
        raise exception using errcode = 'SW001', column = 'filter', message = format('filter: %s is not a filter of runs', v_unknown);
    end if;
    return 'select d.run_id, d.unit_id from (
            select x.tenant_id, x.run_id, x.workflow_id, x.finished_state, x.finished_at, x.trigger_ref, x.trigger_type, x.created_at,
                stepwell._run_unit(x.run_id) as unit_id
            from stepwell.run_detail as x) as d
        inner join stepwell.run_progress as p on d.tenant_id = p.tenant_id and d.run_id = p.run_id
        where d.tenant_id = $1 and ($3::bigint is null or d.run_id < $3)'
        || (select coalesce(string_agg(' and ' || (v_known ->> k), ''), '') from jsonb_object_keys(p_filter) as k)
        || ' order by d.run_id desc limit $4';
end
$$;

-- A page of runs, the newest first; p_after is the last run of the page before.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a filter that does not exist.
create or replace function stepwell.fn_runs_list(p_tenant_id int, p_filter jsonb, p_after bigint, p_limit int)
returns setof stepwell.v_run_listed
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_filter = '{}' then
        return query select r.* from stepwell._runs_newest(p_tenant_id, p_after, p_limit) as r;
        return;
    end if;
    -- `offset 0` keeps the planner from joining all runs before it takes a page.
    return query execute 'select r.* from (' || stepwell._runs_query(p_filter) || ') as page
        cross join lateral (select x.* from stepwell.v_run_listed as x
            where x.tenant_id = $1 and x.run_id = page.run_id and x.unit_id = page.unit_id offset 0) as r
        order by page.run_id desc'
    using p_tenant_id, p_filter, p_after, p_limit;
end
$$;

-- A page of all runs: what is asked for most often. It is planned once (base/plans.sql), because planning costs more than reading.
create or replace function stepwell._runs_newest(p_tenant_id int, p_after bigint, p_limit int) returns setof stepwell.v_run_listed
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return query select r.* from (select d.run_id, stepwell._run_unit(d.run_id) as unit_id from stepwell.run_detail as d
        where d.tenant_id = p_tenant_id and d.run_id < coalesce(p_after, 9223372036854775807)
        order by d.run_id desc limit p_limit) as page
    cross join lateral (select x.* from stepwell.v_run_listed as x
        where x.tenant_id = p_tenant_id and x.run_id = page.run_id and x.unit_id = page.unit_id offset 0) as r
    order by page.run_id desc;
end
$$;

-- How many runs match a filter.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a filter that does not exist.
create or replace function stepwell.fn_runs_count(p_tenant_id int, p_filter jsonb) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_count bigint;
begin
    execute 'select count(*) from (' || stepwell._runs_query(p_filter) || ') as found'
    into v_count using p_tenant_id, p_filter, null::bigint, null::int;
    return v_count;
end
$$;

-- Where the pages of a list of runs begin, the newest run first: every p_every-th number, and how many rows there are. At most
-- 200,000 rows are counted. Without a filter only one index is read.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a wrong number of rows or a filter that does not exist.
create or replace function stepwell.fn_runs_places(p_tenant_id int, p_every int, p_filter jsonb default '{}')
returns table (row_count int, is_at_least boolean, run_ids bigint[])
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_most constant int := 200000;
begin
    if p_every is null or p_every not between 1 and 1000 then
        raise exception using errcode = 'SW001', column = 'every', message = 'every: 1 to 1000 rows are accepted';
    end if;
    return query execute 'select least(count(*), $5)::int, count(*) > $5,
            coalesce(array_agg(x.run_id order by x.place) filter (where x.place % $6 = 0), ''{}'')
        from (select f.run_id, row_number() over (order by f.run_id desc) as place from ('
        || case when p_filter = '{}' then 'select r.run_id from stepwell.run_detail as r
                where r.tenant_id = $1 and $2 is not null and $3 is null order by r.run_id desc limit $4'
            else stepwell._runs_query(p_filter) end || ') as f) as x'
    using p_tenant_id, p_filter, null::bigint, v_most + 1, v_most, p_every;
end
$$;
