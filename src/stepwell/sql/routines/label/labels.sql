-- Labels of runs: by them people find a run. They are set at its start, by a handler or by a person.

-- Sets and removes labels of runs; returns the labels that each run has after it. A value that is null removes its label.
-- Values are stored without secrets. Each run whose labels change gets one event.
-- Locks: the rows of the runs in run_detail, in order.
-- Idempotency: labels that are so already change nothing.
-- Raises: SW001 naming the label; SW002 when a run does not exist; SW006 over a limit; SW007 for another tenant.
create or replace function stepwell.fn_run_label(p_tenant_id int, p_run_ids bigint[], p_labels jsonb, p_actor text)
returns table (run_id bigint, labels jsonb)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.label');
    return query select l.run_id, l.labels from stepwell._labels_set(p_tenant_id, p_run_ids, p_labels, p_actor, 'pic_human') as l;
end
$$;

-- Sets and removes labels, as fn_run_label says, for a caller who was checked.
-- Locks: the rows of the runs in run_detail, in order.
-- Raises: SW001, SW002 and SW006 as fn_run_label.
create or replace function stepwell._labels_set(
    p_tenant_id int, p_run_ids bigint[], p_labels jsonb, p_actor text, p_actor_class text
) returns table (run_id bigint, labels jsonb)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_limit constant int := stepwell._limit('limits.labels_per_run');
    v_set jsonb;
    v_removed text[];
    v_run record;
begin
    perform stepwell._labels_check(p_labels);
    if cardinality(p_run_ids) > stepwell._limit('limits.start_batch') then
        raise exception using errcode = 'SW006', column = 'runs',
            message = format('runs: %s are too many for one call; at most %s are accepted', cardinality(p_run_ids), stepwell._limit('limits.start_batch'));
    end if;
    select coalesce(jsonb_object_agg(l.key, stepwell._redact(to_jsonb(array[l.key, l.value #>> '{}']), stepwell._redaction_pattern()) -> 1)
            filter (where jsonb_typeof(l.value) = 'string'), '{}'),
        coalesce(array_agg(l.key) filter (where jsonb_typeof(l.value) = 'null'), '{}')
    into v_set, v_removed
    from jsonb_each(p_labels) as l;
    for v_run in
        select q.run_id, r.run_id is not null as is_there
        from (select distinct x.run_id from unnest(p_run_ids) as x (run_id)) as q
        left join stepwell.run_detail as r on r.tenant_id = p_tenant_id and q.run_id = r.run_id
        order by q.run_id
    loop
        if not v_run.is_there then
            raise exception using errcode = 'SW002', column = 'run', message = format('run %s does not exist', v_run.run_id);
        end if;
        perform from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = v_run.run_id for no key update;
        perform stepwell._label_run(p_tenant_id, v_run.run_id, v_set, v_removed, v_limit, p_actor, p_actor_class);
        return query select v_run.run_id, stepwell._labels_of(p_tenant_id, v_run.run_id);
    end loop;
end
$$;

-- Labels one run, and appends the event if something changes.
-- Locks: the caller holds the row of the run.
-- Raises: SW006 when the run would have too many labels.
create or replace function stepwell._label_run(
    p_tenant_id int, p_run_id bigint, p_set jsonb, p_removed text[], p_limit int, p_actor text, p_actor_class text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_set jsonb;
    v_removed text[];
begin
    with gone as (
        delete from stepwell.run_label as l
        where l.tenant_id = p_tenant_id and l.run_id = p_run_id and l.label_key = any (p_removed)
        returning l.label_key
    )
    select array_agg(g.label_key order by g.label_key) into v_removed from gone as g;
    with fresh as (
        insert into stepwell.run_label as l (tenant_id, run_id, label_key, label_value)
        select p_tenant_id, p_run_id, s.key, s.value from jsonb_each_text(p_set) as s order by s.key
        on conflict (tenant_id, run_id, label_key) do update set label_value = excluded.label_value
        where l.label_value <> excluded.label_value
        returning l.label_key, l.label_value
    )
    select jsonb_object_agg(f.label_key, f.label_value) into v_set from fresh as f;
    if (select count(*) from stepwell.run_label as l where l.tenant_id = p_tenant_id and l.run_id = p_run_id) > p_limit then
        raise exception using errcode = 'SW006', column = 'labels', message = format(
            'labels: run %s would have more than %s labels', p_run_id, p_limit), hint = 'remove one first';
    end if;
    if v_set is not null or v_removed is not null then
        perform stepwell._event_append(p_tenant_id, stepwell._run_unit(p_run_id), 'workflow.labelled', p_actor,
            jsonb_build_object('set', coalesce(v_set, '{}'), 'removed', to_jsonb(coalesce(v_removed, '{}'))), p_actor_class);
    end if;
end
$$;

-- Refuses labels that are none.
-- Raises: SW001 naming the label.
create or replace function stepwell._labels_check(p_labels jsonb) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bad record;
begin
    if jsonb_typeof(p_labels) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'labels', message = 'labels: an object of names and texts is required';
    end if;
    select l.key, l.key !~ '^[a-z][a-z0-9_.-]{0,62}$' as by_key into v_bad
    from jsonb_each(p_labels) as l
    where l.key !~ '^[a-z][a-z0-9_.-]{0,62}$' or jsonb_typeof(l.value) not in ('string', 'null')
        or jsonb_typeof(l.value) = 'string' and (length(l.value #>> '{}') not between 1 and 200 or l.value #>> '{}' ~ '[[:cntrl:]]')
    order by l.key limit 1;
    if found then
        raise exception using errcode = 'SW001', column = 'labels.' || left(v_bad.key, 63), message = format('labels.%s: %s', left(v_bad.key, 63),
            case when v_bad.by_key then 'a name begins with a lowercase letter and has up to 63 of a-z, 0-9, _ . -'
                else 'a text of one line with 1 to 200 characters is required' end);
    end if;
end
$$;

-- The labels of a run.
create or replace function stepwell._labels_of(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_object_agg(l.label_key, l.label_value), '{}') from stepwell.run_label as l
    where l.tenant_id = p_tenant_id and l.run_id = p_run_id
$$;
