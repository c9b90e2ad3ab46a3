-- Purpose: what one group role gets, as grant statements. Reading functions run as their caller, so that row level
--   security holds in them; changing functions run as their owner and are given by name.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._privileges_of(p_role text)
returns table (statement text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with execution (name_pattern, role_name) as (
        values
        ('^fn_worker_', 'stepwell_worker'), ('^fn_action_', 'stepwell_worker'), ('^fn_job_(claim|report|enqueue)$', 'stepwell_worker'),
        ('^fn_(checkpoint_save|event_emit|operation_register|workflow_publish|run_start|run_start_here|signal)$', 'stepwell_worker'),
        ('^fn_(leases_recover|timers_fire|schedule_due|schedule_fire|partitions_ensure|retention_sweep|replays_settle)$',
            'stepwell_worker'), ('^fn_(audit_due|audit_seal|anchor_\w+)$', 'stepwell_worker'),
        ('^fn_slack_card', 'stepwell_worker')
    ), reserved (name_pattern) as (
        -- Neither the API's nor the workers': sessions and leases, the keeper's duties, the owner's own.
        values
        ('^fn_worker_'), ('^fn_action_'), ('^fn_job_(claim|report)$'), ('^fn_(run_start_here|checkpoint_save|event_emit)$'),
        ('^fn_(leases_recover|timers_fire|schedule_due|schedule_fire|partitions_ensure|retention_sweep|replays_settle)$'),
        ('^fn_(audit_due|anchor_\w+)$'), ('^fn_slack_card'), ('^fn_(privileges_apply|registry_refresh|tenant_set|policy_activate)$')
    )
    select format('grant execute on function stepwell.%I(%s) to %I', f.proname,
        pg_get_function_identity_arguments(f.oid), p_role)
    from pg_proc as f
    where f.pronamespace = 'stepwell'::regnamespace and f.prorettype <> 'trigger'::regtype and (
        f.proname in ('now', '_leased_count')
        or (f.provolatile <> 'v' and not f.prosecdef)
        or exists (select from execution as e where e.role_name = p_role and f.proname ~ e.name_pattern)
        or (p_role = 'stepwell_api' and f.proname ~ '^fn_'
            and not exists (select from reserved as r where f.proname ~ r.name_pattern)))
    union all
    select format('grant select on stepwell.%I to %I', c.relname, p_role)
    from pg_class as c
    where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
        and case p_role when 'stepwell_worker' then c.relname = 'tenant' else c.relname <> 'worker_lease' end
$$;
