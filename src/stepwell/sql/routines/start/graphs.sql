-- Job graphs are emitted: one workflow and its jobs, from a template, in one transaction.

-- Emits a graph of jobs from a template: one job workflow and all its jobs. It is the only way by which a template becomes jobs.
-- Who emits has the role MOT_template_generator and does nothing else: workers execute the jobs, and each job that ends moves the
-- workflow. A key that was used for the template before returns the workflow it emitted. Returns workflow_id, the numbers of the
-- jobs in the order of the template, their count, and whether the workflow is new.
-- Locks: as fn_run_start.
-- Idempotency: by template and key.
-- Raises: SW001 for params that the template does not accept or that are no signals; SW002 when the template or workspace does
--   not exist; SW006 over a limit; SW007 for who has not the role, or for another tenant.
create or replace function stepwell.fn_mot_graph_emit(
    p_tenant_id int,
    p_template_id text,
    p_template_params jsonb default '{}',
    p_correlation_id text default null,
    p_actor text default null,
    p_key text default null,
    p_priority int default 0,
    p_workspace text default null,
    p_trace_id text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_name constant text := 'MOT:' || p_template_id;
    v_problem text;
    v_started record;
    v_emitted record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'graph.emit');
    perform stepwell._generator_check(p_tenant_id, p_actor);
    if not exists (select from stepwell.job_template as t where t.tenant_id = p_tenant_id and t.template_id = p_template_id) then
        raise exception using errcode = 'SW002', column = 'template_id', message = format('template %s is not registered', p_template_id),
            hint = coalesce((select 'registered are ' || string_agg(t.template_id, ', ' order by t.template_id)
                from stepwell.job_template as t where t.tenant_id = p_tenant_id having count(*) between 1 and 20), '');
    end if;
    if jsonb_typeof(p_template_params) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'params', message = 'params: an object of named values is required';
    end if;
    if length(p_correlation_id) > 200 then
        raise exception using errcode = 'SW001', column = 'correlation_id', message = 'correlation_id: at most 200 characters are accepted';
    end if;
    p_template_params := stepwell._params_filled((select t.template -> 'params' from stepwell.job_template as t
        where t.tenant_id = p_tenant_id and t.template_id = p_template_id), p_template_params);
    v_problem := stepwell._signal_problem('params', p_template_params);
    if v_problem is not null then
        raise exception using errcode = 'SW001', column = 'params', message = v_problem;
    end if;
    v_started := stepwell._runs_start(p_tenant_id, v_name, array[p_template_params], case when p_key is not null then array[p_key] end,
        null, p_actor, null, p_priority, p_trace_id, p_correlation_id, false, p_workspace => p_workspace, p_is_emit => true);
    select s.run_id, s.is_new into v_emitted
    from stepwell._runs_started(p_tenant_id, v_name, case when p_key is not null then array[p_key] end, v_started.new_ids) as s;
    return (
        select jsonb_build_object('workflow_id', v_emitted.run_id,
            'step_job_ids', jsonb_agg(stepwell._run_unit(v_emitted.run_id) | d.step_no order by d.step_no),
            'count', count(*), 'is_new', v_emitted.is_new)
        from stepwell.run_detail as r
        inner join stepwell.workflow_step_def as d on r.tenant_id = d.tenant_id and r.version_id = d.version_id
        where r.tenant_id = p_tenant_id and r.run_id = v_emitted.run_id);
end
$$;

-- Checks that who emits is a generator. A binding has proved it by its verb; who acts without one names somebody, and that one
-- must have the role.
-- Raises: SW007.
create or replace function stepwell._generator_check(p_tenant_id int, p_actor text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        return;
    end if;
    if not exists (
        select from stepwell.principal as p
        inner join stepwell.principal_role as r on p.tenant_id = r.tenant_id and p.principal_id = r.principal_id
        inner join stepwell.permission as a on a.tenant_id in (0, p_tenant_id) and a.role_name = r.role_name and a.verb = 'graph.emit'
        where p.tenant_id = p_tenant_id and p.is_active and p.name_key = stepwell._actor_plain(p_actor)) then
        raise exception using errcode = 'SW007', column = 'actor', hint = 'give the role MOT_template_generator to who emits',
            message = format('actor: %s has not the role MOT_template_generator', coalesce(p_actor, 'nobody'));
    end if;
end
$$;
