-- Evidence bundles that are made without being asked: which runs wait for one, and what became of it.

-- Notes that the run of a unit, and the run at the top of it, get a bundle when they end.
create or replace function stepwell._evidence_ask(p_tenant_id int, p_unit_id bigint) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.evidence_due (tenant_id, run_id, asked_at)
    select r.tenant_id, r.run_id, stepwell.now()
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    where r.tenant_id = p_tenant_id and w.makes_evidence
        and r.run_id in (stepwell._run_of(p_unit_id),
            (select a.run_id from stepwell._runs_above(p_tenant_id, stepwell._run_of(p_unit_id)) as a limit 1))
        and (select c.config_value = 'true' from stepwell.dot_config as c where c.config_key = 'evidence.automatic')
    on conflict (tenant_id, run_id) do nothing
$$;

-- A run that has a bundle already gets another one: it ends again, or an approval or receipt of it changed after its end.
-- Callers name the runs, or the steps that the approvals and receipts are about.
create or replace function stepwell._evidence_renew(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.evidence_due (tenant_id, run_id, asked_at)
    select distinct q.tenant_id, stepwell._run_of(q.unit_id), stepwell.now()
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where exists (select from stepwell.evidence_bundle as b
            where b.tenant_id = q.tenant_id and b.run_id = stepwell._run_of(q.unit_id))
        and exists (select from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = q.tenant_id and r.run_id = stepwell._run_of(q.unit_id) and w.makes_evidence)
        and (select c.config_value = 'true' from stepwell.dot_config as c where c.config_key = 'evidence.automatic')
    on conflict (tenant_id, run_id) do nothing
$$;

-- Runs that have ended and wait for their bundle, the longest waiting first.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_evidence_due_find(p_limit int)
returns table (tenant_id int, run_id bigint)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select d.tenant_id, d.run_id
    from stepwell.evidence_due as d
    inner join stepwell.run_detail as r on d.tenant_id = r.tenant_id and d.run_id = r.run_id
    where r.finished_at is not null and coalesce(d.retry_at <= stepwell.now(), true)
        and (d.tenant_id = (select stepwell.bound_tenant()) or (select stepwell._acts_for_all()))
    order by d.asked_at, d.run_id
    limit least(p_limit, 1000)
$$;

-- The bundle of a run could not be made: it is tried again after pauses that double, up to a day.
-- Locks: the row of the run.
-- Idempotency: each call counts.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_evidence_due_note(p_tenant_id int, p_run_id bigint, p_error text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    update stepwell.evidence_due as d set
        try_count = d.try_count + 1, last_error = left(stepwell._redact_text(p_error), 1000),
        retry_at = stepwell.now() + make_interval(secs => least(10 * 2.0 ^ least(d.try_count, 20), 86400))
    where d.tenant_id = p_tenant_id and d.run_id = p_run_id;
end
$$;

-- Switches the bundles of a workflow's runs on or off; those of runs that wait for one already stay.
-- Locks: the workflow's row.
-- Idempotency: yes.
-- Raises: SW002 when the workflow does not exist; SW007 for another tenant.
create or replace function stepwell.fn_workflow_evidence_set(p_tenant_id int, p_workflow_name text, p_makes_evidence boolean) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    update stepwell.workflow_registry as w set makes_evidence = p_makes_evidence
    where w.tenant_id = p_tenant_id and w.workflow_name = p_workflow_name;
    if not found then
        raise exception using errcode = 'SW002', column = 'workflow', message = format('workflow %s is not published', p_workflow_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'workflow', p_workflow_name), '');
    end if;
end
$$;

-- Somebody asks for the bundle of a run: a keeper makes it when the run has ended.
-- Locks: the row of the run in the list of bundles.
-- Idempotency: yes; a run that waits for its bundle waits once.
-- Raises: SW002 when there is no such run; SW003 when it has not ended; SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_evidence_request(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
begin
    perform stepwell._verb_check(p_tenant_id, 'evidence.seal');
    select r.finished_at into v_run from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'run_id', message = format('run %s does not exist', p_run_id);
    end if;
    if v_run.finished_at is null then
        raise exception using errcode = 'SW003', column = 'run_id', message = format('run %s has not ended; its bundle is made then', p_run_id);
    end if;
    insert into stepwell.evidence_due (tenant_id, run_id, asked_at) values (p_tenant_id, p_run_id, stepwell.now())
    on conflict (tenant_id, run_id) do update set retry_at = null;
end
$$;
