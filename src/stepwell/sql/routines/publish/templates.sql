-- Templates of job graphs: each is checked and published as a version of the workflow MOT:<template_id>. Its jobs are steps of
-- that graph, its edges are the edges of the version.

-- Registers a template of job graphs, or a new version of it. The same template again changes nothing. Graphs that were
-- emitted before keep the version they have.
-- Locks: the registry row of its workflow, and the row of the template.
-- Idempotency: by the content of the template.
-- Raises: SW001 for a template that is not sound, naming the job and the field; SW006 over a limit; SW007 for another tenant.
create or replace function stepwell.fn_job_template_register(p_tenant_id int, p_template jsonb, p_actor text default null)
returns table (template_id text, version_no int, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_template_id constant text := p_template ->> 'template_id';
    v_problem text;
    v_graph jsonb;
    v_version record;
begin
    p_actor := coalesce(stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish'), 'client');
    v_problem := coalesce(stepwell._template_problem(p_template), stepwell._template_jobs_problem(p_tenant_id, p_template));
    if v_problem is not null then
        raise exception using errcode = 'SW001', column = 'template',
            message = format('template %s: %s', coalesce(left(v_template_id, 100), '?'), v_problem);
    end if;
    v_graph := stepwell._template_graph(p_template);
    select v.* into v_version from stepwell._graph_publish(p_tenant_id, v_graph, p_actor, true) as v;
    insert into stepwell.job_template as t (
        tenant_id, template_id, workflow_id, workflow_kind, description, template, registered_at, registered_by)
    select p_tenant_id, v_template_id, w.workflow_id, coalesce(p_template ->> 'workflow_kind', 'mot_template_v1'),
        coalesce(p_template ->> 'description', ''), p_template, stepwell.now(), p_actor
    from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_name = v_graph ->> 'name'
    on conflict (tenant_id, template_id) do update set
        workflow_kind = excluded.workflow_kind, description = excluded.description, template = excluded.template,
        registered_at = excluded.registered_at, registered_by = excluded.registered_by
    where (t.workflow_kind, t.description, t.template) is distinct from (excluded.workflow_kind, excluded.description, excluded.template);
    return query select v_template_id, v_version.version_no, v_version.is_new;
end
$$;

-- The first thing that is wrong with a template as a whole, in one line; null when nothing is.
create or replace function stepwell._template_problem(p_template jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.step_count');
    v_unknown text;
begin
    if jsonb_typeof(p_template) is distinct from 'object' then
        return 'an object with template_id and jobs is required';
    end if;
    if stepwell._value_size(p_template) > 16777216 then
        return stepwell._too_large('template', stepwell._value_size(p_template), 16777216);
    end if;
    -- A template is shown as it was written. Only texts are looked at: a param may have the name of a secret.
    if stepwell._redact(p_template, '$^') <> p_template then
        return 'a text contains what looks like a secret; a template is shown to everybody';
    end if;
    select k.key into v_unknown from jsonb_object_keys(p_template) as k (key)
    where k.key not in ('template_id', 'workflow_kind', 'description', 'params', 'jobs') order by k.key limit 1;
    if found then
        return format('%s: is unknown; known are template_id, workflow_kind, description, params and jobs', v_unknown);
    end if;
    if coalesce(p_template ->> 'template_id', '') !~ '^[a-z][a-z0-9._-]{0,99}$' then
        return 'template_id: 1 to 100 of a-z, 0-9, dot, dash and underscore are accepted, beginning with a letter';
    end if;
    if not exists (select from stepwell.job_workflow_kind as k
        where k.workflow_kind = coalesce(p_template ->> 'workflow_kind', 'mot_template_v1')) then
        return format('workflow_kind: %s is unknown; known are %s', p_template ->> 'workflow_kind',
            (select string_agg(k.workflow_kind, ', ' order by k.workflow_kind) from stepwell.job_workflow_kind as k));
    end if;
    if length(p_template ->> 'description') > 2000 then
        return 'description: at most 2000 characters are accepted';
    end if;
    if p_template ? 'params' and jsonb_typeof(p_template -> 'params') <> 'object' then
        return 'params: an object of names and JSON Schemas is required';
    end if;
    if (select count(*) from jsonb_object_keys(coalesce(p_template -> 'params', '{}'))) > 200 then
        return 'params: at most 200 are accepted';
    end if;
    select k.key into v_unknown from jsonb_object_keys(coalesce(p_template -> 'params', '{}')) as k (key)
    where k.key !~ '^[A-Za-z_][A-Za-z0-9_]{0,62}$' order by k.key limit 1;
    if found then
        return format('params.%s: 1 to 63 letters, digits and _ are accepted as a name, beginning with no digit', v_unknown);
    end if;
    if jsonb_typeof(p_template -> 'jobs') is distinct from 'array' or jsonb_array_length(p_template -> 'jobs') = 0 then
        return 'jobs: at least one job is required';
    end if;
    if jsonb_array_length(p_template -> 'jobs') > v_limit then
        return format('jobs: %s are too many; at most %s are accepted', jsonb_array_length(p_template -> 'jobs'), v_limit);
    end if;
    -- The names of params are those of signals too, and so are their defaults.
    return stepwell._signal_problem('params', (
        select jsonb_object_agg(k.key, k.value -> 'default') from jsonb_each(p_template -> 'params') as k (key, value)));
end
$$;

-- The first thing that is wrong with a job of a template, by its local_id and field; null when nothing is.
create or replace function stepwell._template_jobs_problem(p_tenant_id int, p_template jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_job record;
    v_problem text;
    v_numbers jsonb;
begin
    select x.place, x.local_id, x.use_no > 1 as is_used_twice into v_job
    from (
        select j.job, j.place, j.job ->> 'local_id' as local_id, row_number() over (partition by j.job ->> 'local_id' order by j.place) as use_no
        from jsonb_array_elements(p_template -> 'jobs') with ordinality as j (job, place)
    ) as x
    where jsonb_typeof(x.job) <> 'object' or coalesce(x.local_id, '') !~ '^[A-Za-z_][A-Za-z0-9_]{0,62}$' or x.use_no > 1
    order by x.place
    limit 1;
    if found then
        return case when v_job.is_used_twice and v_job.local_id is not null then format('job %s, local_id: is used twice', v_job.local_id)
            else format('jobs[%s], local_id: 1 to 63 letters, digits and _ are required, beginning with no digit', v_job.place - 1) end;
    end if;
    select jsonb_object_agg(j.job ->> 'local_id', j.place) into v_numbers
    from jsonb_array_elements(p_template -> 'jobs') with ordinality as j (job, place);
    v_problem := stepwell._template_parents_problem(p_template -> 'jobs', v_numbers);
    if v_problem is not null then
        return v_problem;
    end if;
    select min(j.job ->> 'local_id') as local_id, j.job ->> 'job_kind' as job_kind, count(distinct j.job ->> 'executor') as executor_count into v_job
    from jsonb_array_elements(p_template -> 'jobs') as j (job)
    group by j.job ->> 'job_kind'
    having count(distinct j.job ->> 'executor') > 1
    limit 1;
    if found then
        return format('job %s, executor: %s has %s executors; one is accepted', v_job.local_id, v_job.job_kind, v_job.executor_count);
    end if;
    for v_job in
        select j.job, j.job ->> 'local_id' as local_id from jsonb_array_elements(p_template -> 'jobs') with ordinality as j (job, place)
        order by j.place
    loop
        v_problem := coalesce(stepwell._template_job_problem(v_job.job), stepwell._template_work_problem(p_tenant_id, v_job.job),
            stepwell._template_inputs_problem(p_template, v_job.job));
        if v_problem is not null then
            return format('job %s, %s', v_job.local_id, v_problem);
        end if;
    end loop;
    return null;
end
$$;

-- What is wrong with the parents of the jobs: one that is no list, unknown, named twice or the job itself, or a cycle. Parents
-- come before their job, so a graph without a cycle can always be written.
create or replace function stepwell._template_parents_problem(p_jobs jsonb, p_numbers jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_edges jsonb;
    v_bad record;
    v_cycle int[];
begin
    select j.job ->> 'local_id' as local_id into v_bad
    from jsonb_array_elements(p_jobs) with ordinality as j (job, place)
    where j.job ? 'parents' and (jsonb_typeof(j.job -> 'parents') <> 'array'
        or exists (select from jsonb_array_elements(j.job -> 'parents') as p (parent) where jsonb_typeof(p.parent) <> 'string'))
    order by j.place limit 1;
    if found then
        return format('job %s, parents: a list of local_ids is required', v_bad.local_id);
    end if;
    select j.job ->> 'local_id' as local_id, p.parent, count(*) as uses into v_bad
    from jsonb_array_elements(p_jobs) with ordinality as j (job, place)
    cross join lateral jsonb_array_elements_text(coalesce(j.job -> 'parents', '[]')) as p (parent)
    group by j.job ->> 'local_id', p.parent, j.place
    having not p_numbers ? p.parent or count(*) > 1 or p.parent = j.job ->> 'local_id'
    order by j.place, p.parent limit 1;
    if found then
        return format('job %s, parents: %s %s', v_bad.local_id, v_bad.parent, case when not p_numbers ? v_bad.parent
            then 'is no job of this template' when v_bad.parent = v_bad.local_id then 'is the job itself' else 'is named twice' end);
    end if;
    select jsonb_agg(jsonb_build_object('from', p_numbers -> p.parent, 'to', j.place)) into v_edges
    from jsonb_array_elements(p_jobs) with ordinality as j (job, place)
    cross join lateral jsonb_array_elements_text(coalesce(j.job -> 'parents', '[]')) as p (parent);
    select x."from" as from_no, x."to" as to_no into v_bad
    from jsonb_to_recordset(coalesce(v_edges, '[]')) as x ("from" int, "to" int) where x."from" > x."to" order by x."to" limit 1;
    if not found then
        return null;
    end if;
    v_cycle := stepwell._cycle_find(jsonb_array_length(p_jobs), v_edges);
    if v_cycle is not null then
        return 'jobs: cycle ' || (select string_agg(p_jobs -> (c.no - 1) ->> 'local_id', ' → ' order by c.place)
            from unnest(v_cycle) with ordinality as c (no, place));
    end if;
    return format('job %s, parents: %s comes later; list parents before their jobs',
        p_jobs -> (v_bad.to_no - 1) ->> 'local_id', p_jobs -> (v_bad.from_no - 1) ->> 'local_id');
end
$$;

-- What is wrong with the plain fields of a job; null when nothing is.
create or replace function stepwell._template_job_problem(p_job jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bad record;
begin
    select k.key into v_bad from jsonb_object_keys(p_job) as k (key)
    where k.key not in ('local_id', 'job_kind', 'executor', 'parents', 'join', 'source_ref', 'target_ref', 'payload_ref',
        'delay_seconds', 'priority', 'max_attempts', 'timeout_seconds', 'inputs', 'template', 'params')
        or (p_job ? 'template' and k.key in ('executor', 'source_ref', 'target_ref', 'payload_ref', 'max_attempts', 'inputs'))
        or (not p_job ? 'template' and k.key = 'params')
    order by k.key limit 1;
    if found then
        return format('%s: is not accepted %s', v_bad.key, case when p_job ? 'template' then 'beside template' else 'here' end);
    end if;
    if coalesce(p_job ->> 'join', 'all') not in ('all', 'any') then
        return format('join: all or any is accepted, not %s', p_job ->> 'join');
    end if;
    if p_job ->> 'join' = 'any' and jsonb_array_length(coalesce(p_job -> 'parents', '[]')) = 0 then
        return 'join: any requires parents';
    end if;
    select f.field, f.least, f.most into v_bad
    from (values ('delay_seconds', 0, stepwell._limit('limits.job_delay_seconds')), ('priority', -1000, 1000),
        ('max_attempts', 1, 1000), ('timeout_seconds', 1, 31622400)) as f (field, least, most)
    where p_job ? f.field and (jsonb_typeof(p_job -> f.field) <> 'number'
        or (p_job ->> f.field)::numeric not between f.least and f.most
        or (f.field in ('priority', 'max_attempts') and p_job ->> f.field !~ '^-?[0-9]+$'))
    order by f.field limit 1;
    if found then
        return format('%s: %s to %s is accepted', v_bad.field, v_bad.least, v_bad.most);
    end if;
    select f.field into v_bad from unnest(array['source_ref', 'target_ref', 'payload_ref']) as f (field)
    where p_job ? f.field and (jsonb_typeof(p_job -> f.field) <> 'string' or length(p_job ->> f.field) not between 1 and 500)
    order by f.field limit 1;
    if found then
        return format('%s: a text of 1 to 500 characters is accepted, or $.input.<param>', v_bad.field);
    end if;
    return null;
end
$$;

-- What is wrong with what a job names: its operation and executor, or its template; null when nothing is.
create or replace function stepwell._template_work_problem(p_tenant_id int, p_job jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_executor constant text := coalesce(p_job ->> 'executor', 'default');
    v_declared text;
begin
    if p_job ? 'template' then
        if p_job ? 'job_kind' then
            return 'job_kind: a job has either a job_kind or a template';
        end if;
        return case when not exists (select from stepwell.job_template as t
            where t.tenant_id = p_tenant_id and t.template_id = p_job ->> 'template')
            then format('template: %s is not registered', p_job ->> 'template') end;
    end if;
    if coalesce(length(p_job ->> 'job_kind'), 0) not between 1 and 200 or jsonb_typeof(p_job -> 'job_kind') <> 'string' then
        return 'job_kind: the name of an operation is required, 1 to 200 characters';
    end if;
    if p_job ->> 'job_kind' ~ '^stepwell\.' then
        return 'job_kind: names that begin with stepwell. belong to the engine';
    end if;
    if stepwell._is_generator(v_executor) then
        return format('executor: %s is the generator, which never executes', v_executor);
    end if;
    if not exists (select from stepwell.executor_class as c where c.class_name = v_executor) then
        return format('executor: %s is not registered; registered are %s', v_executor,
            (select string_agg(c.class_name, ', ' order by c.class_name) from stepwell.executor_class as c));
    end if;
    select c.class_name into v_declared
    from stepwell.operation as o
    inner join stepwell.executor_class as c on o.executor_class_id = c.executor_class_id
    where o.tenant_id = p_tenant_id and o.operation_name = p_job ->> 'job_kind' and p_job ? 'executor';
    return case when v_declared <> v_executor
        then format('executor: %s runs on %s, not on %s', p_job ->> 'job_kind', v_declared, v_executor) end;
end
$$;

-- What is wrong with what a job reads: a plain path to a param or into the output of one of its parents; null when nothing is.
create or replace function stepwell._template_inputs_problem(p_template jsonb, p_job jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_field constant text := case when p_job ? 'template' then 'params' else 'inputs' end;
    v_bad record;
begin
    if p_job ? v_field and jsonb_typeof(p_job -> v_field) <> 'object' then
        return format('%s: an object of names and paths is required', v_field);
    end if;
    select r.field, r.path into v_bad
    from (
        select v_field || '.' || i.key as field, i.value as path from jsonb_each_text(p_job -> v_field) as i
        union all
        select f.field, p_job ->> f.field from unnest(array['source_ref', 'target_ref', 'payload_ref']) as f (field)
        where p_job ->> f.field like '$%'
    ) as r
    cross join lateral regexp_match(r.path,
        '^\$\.(?:input\.([A-Za-z_][A-Za-z0-9_]*)|steps\.([A-Za-z_][A-Za-z0-9_]*)\.output)(?:\.[A-Za-z_][A-Za-z0-9_]*)*$') as m (part)
    where m.part is null
        or (m.part[1] is not null and not coalesce(p_template -> 'params', '{}') ? m.part[1])
        or (m.part[2] is not null and (r.field like '%\_ref' or not coalesce(p_job -> 'parents', '[]') ? m.part[2]))
        or (r.field like '%\_ref' and r.path !~ '^\$\.input\.[A-Za-z_][A-Za-z0-9_]*$')
    order by r.field limit 1;
    if found then
        return format('%s: %s cannot be read; %s accepted', v_bad.field, v_bad.path, case when v_bad.field like '%\_ref'
            then '$.input.<param> is' else '$.input.<param> and $.steps.<parent>.output are' end);
    end if;
    return null;
end
$$;

-- The graph of a sound template. The references of a job are inputs of its handler too; a text is a path that is that text.
create or replace function stepwell._template_graph(p_template jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with job as (
        select j.job, j.place, j.job ->> 'local_id' as local_id
        from jsonb_array_elements(p_template -> 'jobs') with ordinality as j (job, place)
    )
    select jsonb_build_object('format', 2, 'name', 'MOT:' || (p_template ->> 'template_id'),
        'input', jsonb_build_object('type', 'object', 'properties', coalesce(p_template -> 'params', '{}'),
            'required', (select coalesce(jsonb_agg(p.key order by p.key), '[]') from jsonb_each(p_template -> 'params') as p
                where not p.value ? 'default'), 'additionalProperties', false),
        'steps', (
            select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'no', j.place, 'id', j.local_id, 'kind', case when j.job ? 'template' then 'subworkflow' else 'operation' end,
                    'operation', j.job ->> 'job_kind', 'workflow', 'MOT:' || (j.job ->> 'template'), 'executor', j.job ->> 'executor',
                    'priority', j.job -> 'priority', 'timeout_seconds', j.job -> 'timeout_seconds',
                    'retry', case when j.job ? 'max_attempts' then jsonb_build_object('max_attempts', j.job -> 'max_attempts') end,
                    'join', case when j.job ->> 'join' = 'any' then 'any' end,
                    'delay_seconds', case when (j.job ->> 'delay_seconds')::numeric > 0 then j.job -> 'delay_seconds' end,
                    'source_ref', j.job ->> 'source_ref', 'target_ref', j.job ->> 'target_ref', 'payload_ref', j.job ->> 'payload_ref',
                    'inputs', i.inputs, 'reads', case when i.inputs is not null then (
                        select coalesce(jsonb_agg(distinct b.place), '[]') from jsonb_each_text(i.inputs) as p
                        inner join job as b on b.local_id = substring(p.value from '^\$\.steps\.([A-Za-z0-9_]+)\.output')) end)) order by j.place)
            from job as j
            cross join lateral (
                select jsonb_object_agg(r.name, r.path) as inputs
                from (
                    select f.name, case when j.job ->> f.name like '$%' then j.job ->> f.name
                        else to_jsonb(j.job ->> f.name)::text end as path
                    from unnest(array['source_ref', 'target_ref', 'payload_ref']) as f (name) where j.job ? f.name
                    union all
                    select e.key, e.value from jsonb_each_text(coalesce(j.job -> 'inputs', j.job -> 'params')) as e
                ) as r
            ) as i),
        'edges', (
            select coalesce(jsonb_agg(jsonb_build_object('from', b.place, 'to', j.place) order by b.place, j.place), '[]')
            from job as j
            cross join lateral jsonb_array_elements_text(coalesce(j.job -> 'parents', '[]')) as p (parent)
            inner join job as b on b.local_id = p.parent),
        'branches', '[]'::jsonb)
$$;

-- What a step waits for when its run begins. All-of: each parent counts one, and its delay one. Any-of: one parent is enough; with
-- a delay of n parents the delay counts n, so that the parents alone never release it.
create or replace function stepwell._pending_first(p_step jsonb, p_parent_count int) returns int
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_step ->> 'join' = 'any' then case when p_step ? 'delay_seconds' then p_parent_count + 1 else 1 end
        else p_parent_count + (p_step ? 'delay_seconds')::int end
$$;

-- Refuses a graph that says what only templates of job graphs say: only fn_mot_graph_emit starts them.
-- Raises: SW001 naming the field.
create or replace function stepwell._graph_is_no_template(p_graph jsonb) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
begin
    if p_graph ->> 'name' ~ '^MOT:' then
        raise exception using errcode = 'SW001', column = 'name', hint = 'register the template with fn_job_template_register',
            message = format('workflow %s: name: names that begin with MOT: belong to templates of job graphs', p_graph ->> 'name');
    end if;
    select s.step ->> 'id' as step_id, case when s.step ->> 'workflow' ~ '^MOT:' then 'workflow'
        when s.step ? 'join' then 'join' else 'delay_seconds' end as field into v_step
    from jsonb_array_elements(case jsonb_typeof(p_graph -> 'steps') when 'array' then p_graph -> 'steps' else '[]' end) as s (step)
    where s.step ?| array['join', 'delay_seconds'] or s.step ->> 'workflow' ~ '^MOT:'
    limit 1;
    if found then
        raise exception using errcode = 'SW001', column = v_step.field,
            message = format('workflow %s: step %s, %s: is accepted only in templates of job graphs', p_graph ->> 'name', v_step.step_id, v_step.field);
    end if;
end
$$;
