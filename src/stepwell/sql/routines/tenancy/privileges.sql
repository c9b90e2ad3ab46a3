-- The rights of the three group roles: grants and row level security, applied after every migration.

-- Sets the rights: no function is open to the public, the group roles get the functions they need, the API and readers
-- may read tables, only the functions write them. In every table with a tenant a role sees only the rows of the tenant
-- that its transaction is bound to (bound_tenant).
-- Locks: exclusive on a table that is not yet secured; catalog rows otherwise.
-- Idempotency: yes; a role that does not exist is left out.
-- Raises: nothing of its own.
create or replace function stepwell.fn_privileges_apply() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_object record;
    v_role text;
begin
    for v_object in
        select c.relname
        from pg_class as c
        inner join pg_attribute as a on c.oid = a.attrelid and a.attname = 'tenant_id' and not a.attisdropped
        where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and not exists (select from pg_policy as p where p.polrelid = c.oid and p.polname = 'tenant_is_bound'
                and pg_get_expr(p.polqual, p.polrelid) like '%bound_tenant()%')
        order by c.relname
    loop
        execute format('alter table stepwell.%I enable row level security', v_object.relname);
        execute format('drop policy if exists tenant_is_bound on stepwell.%I', v_object.relname);
        execute format('create policy tenant_is_bound on stepwell.%I using (tenant_id = (select stepwell.bound_tenant()))',
            v_object.relname);
    end loop;
    revoke all on all functions in schema stepwell from public;
    foreach v_role in array array['stepwell_api', 'stepwell_worker', 'stepwell_reader'] loop
        if exists (select from pg_roles as r where r.rolname = v_role) then
            execute format('grant usage on schema stepwell to %I', v_role);
            execute format('revoke all on all tables in schema stepwell from %I', v_role);
            execute format('revoke all on all functions in schema stepwell from %I', v_role);
            for v_object in select g.statement from stepwell._privileges_of(v_role) as g order by g.statement loop
                execute v_object.statement;
            end loop;
        end if;
    end loop;
    -- A worker must find its tenant by name before it can act for it.
    if exists (select from pg_roles as r where r.rolname = 'stepwell_worker') then
        drop policy if exists worker_finds_tenants on stepwell.tenant;
        create policy worker_finds_tenants on stepwell.tenant for select to stepwell_worker using (true);
    end if;
end
$$;

-- The rights of one group role, as grant statements. Functions that read run as their caller, so that row level
-- security holds in them; functions that change something run as their owner and are granted by name.
create or replace function stepwell._privileges_of(p_role text)
returns table (statement text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with execution (name_pattern, role_name) as (
        values
        ('^fn_worker_', 'stepwell_worker'), ('^fn_action_', 'stepwell_worker'),
        ('^fn_job_(claim|claim_each|report|report_free|report_set_aside|enqueue)$', 'stepwell_worker'),
        ('^fn_(checkpoint_save|progress_save|event_emit|expression_evaluate)$', 'stepwell_worker'),
        ('^fn_(operation_register|workflow_publish|run_start|run_start_here|signal)$', 'stepwell_worker'),
        ('^fn_(leases_recover|timers_fire|schedule_due|schedule_fire|partitions_ensure|retention_sweep|replays_settle)$',
            'stepwell_worker'),
        ('^fn_(leases_find|receipts_recover|problems_settle|duty_set_aside|keeper_lead)$', 'stepwell_worker'), ('^fn_(audit_due|audit_seal|anchor_\w+)$', 'stepwell_worker'),
        ('^fn_slack_card', 'stepwell_worker')
    ), reserved (name_pattern) as (
        -- Not for the API: sessions and leases, the work of the keeper, what belongs to the owner.
        values
        ('^fn_worker_'), ('^fn_action_'), ('^fn_job_(claim|claim_each|report|report_free|report_set_aside)$'),
        ('^fn_(run_start_here|checkpoint_save|progress_save|event_emit|expression_evaluate)$'),
        ('^fn_(leases_recover|timers_fire|schedule_due|schedule_fire|partitions_ensure|retention_sweep|replays_settle)$'),
        ('^fn_(leases_find|receipts_recover|problems_settle|duty_set_aside|keeper_lead)$'),
        ('^fn_(audit_due|anchor_\w+)$'), ('^fn_slack_card'), ('^fn_(privileges_apply|registry_refresh|tenant_set|policy_activate|clock_\w+)$')
    )
    select format('grant execute on function stepwell.%I(%s) to %I', f.proname,
        pg_get_function_identity_arguments(f.oid), p_role)
    from pg_proc as f
    where f.pronamespace = 'stepwell'::regnamespace and f.prorettype <> 'trigger'::regtype and (
        f.proname in ('now', '_leased_count', 'bound_tenant', 'bound_principal', 'fn_session_bind')
        or (f.provolatile <> 'v' and not f.prosecdef and f.proname not in ('_binding', '_stamp'))
        or exists (select from execution as e where e.role_name = p_role and f.proname ~ e.name_pattern)
        or (p_role = 'stepwell_api' and f.proname ~ '^fn_'
            and not exists (select from reserved as r where f.proname ~ r.name_pattern)))
    union all
    select format('grant select on stepwell.%I to %I', c.relname, p_role)
    from pg_class as c
    where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
        and case p_role when 'stepwell_worker' then c.relname = 'tenant'
            else c.relname not in ('worker_lease', 'binding_key', 'credential', 'access_token') end
$$;
