-- The rights of the roles of our processes: which functions each may call, which tables it may read, and row level
-- security. Applied after every migration, and when a role appears later.

-- Sets the rights: no function is open to the public, each role gets what _rights lists for it and loses everything else.
-- Only functions write tables. In every table with a tenant a role sees only the rows of the tenant that its transaction
-- is bound to (read_tenant), the rows of a table of payloads only if it may read payloads (payload_tenant), and nothing of steps
-- that rows of permission hide from whoever is bound (shown.sql).
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
                and pg_get_expr(p.polqual, p.polrelid) like '%read_tenant()%')
        order by c.relname
    loop
        execute format('alter table stepwell.%I enable row level security', v_object.relname);
        execute format('drop policy if exists tenant_is_bound on stepwell.%I', v_object.relname);
        execute format('create policy tenant_is_bound on stepwell.%I using (tenant_id = (select stepwell.read_tenant()))',
            v_object.relname);
    end loop;
    for v_object in
        select p.table_name, p.condition from stepwell._payload_rules() as p
        where not exists (select from pg_policy as y where y.polrelid = ('stepwell.' || p.table_name)::regclass
            and y.polname = 'payload_is_allowed')
        order by p.table_name
    loop
        execute format('create policy payload_is_allowed on stepwell.%I as restrictive using (%s)', v_object.table_name, v_object.condition);
    end loop;
    for v_object in
        select p.table_name, p.condition from stepwell._shown_rules() as p
        where not exists (select from pg_policy as y where y.polrelid = ('stepwell.' || p.table_name)::regclass
            and y.polname = 'step_is_shown')
        order by p.table_name
    loop
        execute format('create policy step_is_shown on stepwell.%I as restrictive using (%s)', v_object.table_name, v_object.condition);
    end loop;
    if not exists (select from pg_policy as y where y.polrelid = 'stepwell.permission'::regclass and y.polname = 'shared_is_read') then
        -- Tenant 0 has the verbs of the roles that every tenant has.
        create policy shared_is_read on stepwell.permission using (tenant_id = 0 and (select stepwell.read_tenant()) is not null);
    end if;
    -- An earlier release let workers read the table; fn_tenant_find is enough.
    drop policy if exists worker_finds_tenants on stepwell.tenant;
    revoke all on all functions in schema stepwell from public;
    for v_role in select r.rolname::text from pg_roles as r where r.rolname = any (stepwell._process_roles()) order by r.rolname loop
        execute format('grant usage on schema stepwell to %I', v_role);
        execute format('revoke all on all tables in schema stepwell from %I', v_role);
        execute format('revoke all on all functions in schema stepwell from %I', v_role);
        for v_object in select g.statement from stepwell._rights(v_role) as g order by g.statement loop
            execute v_object.statement;
        end loop;
    end loop;
end
$$;

-- The login roles, one for each process.
create or replace function stepwell._process_roles() returns text[]
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select array['stepwell_api', 'stepwell_keeper', 'stepwell_reader', 'stepwell_slack', 'stepwell_worker']
$$;

-- The functions that each process calls, by name: the one place that opens a function. A function that is not listed is
-- closed to every role but the owner. A process is the part of the role name after stepwell_.
create or replace function stepwell._function_rights() returns table (process text, function_name text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select p.process, f.function_name
    from (values
        ('all', '{now, bound_tenant, bound_principal, read_tenant, payload_tenant, sees_all_steps, hidden_steps,
            hidden_contents, unit_is_shown, graph_is_shown, version_graph, version_hash, fn_session_bind, fn_tenant_find, fn_caller_read,
            fn_mode_read, fn_demo_read, fn_verbs_read, fn_rights_missing}'::text[]),
        ('worker', '{fn_worker_register, fn_worker_serves, fn_worker_heartbeat, fn_worker_close, fn_worker_leases_read,
            fn_job_claim, fn_job_claim_each, fn_job_report, fn_job_report_free, fn_job_report_set_aside, fn_run_start_here,
            fn_checkpoint_save, fn_progress_save, fn_event_emit, fn_run_label_here, fn_run_start_labelled, fn_event_type_register, fn_event_reject_note, fn_expression_evaluate,
            fn_action_propose, fn_action_limit, fn_action_settle, fn_action_reversal,
            fn_operation_register, fn_workflow_publish, fn_run_start, fn_job_enqueue, fn_signal, fn_job_workflows_refresh}'),
        ('keeper', '{fn_keeper_lead, fn_partitions_ensure, fn_leases_recover, fn_leases_find, fn_receipts_recover,
            fn_timers_fire, fn_replays_settle, fn_replay_plans_carry, fn_schedule_due, fn_schedule_fire, fn_problems_settle, fn_problems_watch, fn_event_lag_sample, fn_summaries_write, fn_holds_carry, fn_duty_set_aside,
            fn_retention_sweep, fn_audit_due, fn_audit_seal, fn_anchor_due, fn_anchor_headers, fn_anchor_written,
            fn_evidence_due_find, fn_evidence_due_note, fn_evidence_due_run, fn_evidence_due_chain, fn_evidence_due_blocks,
            fn_evidence_due_entries, fn_evidence_due_hashes, fn_evidence_due_places, fn_evidence_due_events, fn_evidence_due_values,
            fn_evidence_due_seal, fn_evidence_due_store, fn_health_read, fn_names_refused, fn_job_workflow_refresh_due, fn_event_routes_follow,
            fn_watch_mark, fn_integrity_watch, fn_integrity_look, fn_sessions_in_the_way}'),
        ('slack', '{fn_slack_cards_take, fn_slack_card_note, fn_slack_callback_accept, fn_slack_user_find, fn_slack_approval_decide}'),
        ('api', '{fn_run_start, fn_job_enqueue, fn_signal, fn_runs_watch, fn_run_follow, fn_run_state_at,
            fn_run_cancel, fn_run_pause, fn_run_resume, fn_run_retry, fn_change_once, fn_run_label, fn_run_start_labelled, fn_view_save, fn_view_delete,
            fn_views_read, fn_layout_keep, fn_actions_read, fn_tokens_read_allowed, fn_step_inputs_read, fn_job_cancel, fn_job_retry, fn_state_transition_validate,
            fn_step_claim, fn_step_release, fn_step_assign, fn_step_delegate, fn_step_complete, fn_step_cannot_complete,
            fn_step_wait, fn_step_resume, fn_step_block, fn_step_unblock, fn_step_block_escalate, fn_step_escalate,
            fn_step_deadline_change, fn_step_reopen_for_correction, fn_step_comment,
            fn_approval_request, fn_approval_decide, fn_approval_withdraw, fn_event_type_register, fn_event_reject_note,
            fn_workflow_publish, fn_operation_register, fn_workflow_caps_set, fn_workspace_set, fn_content_write,
            fn_iu_op_split, fn_iu_op_merge, fn_iu_op_restage, fn_iu_op_retry, fn_iu_op_cancel,
            fn_schedule_set, fn_schedule_pause, fn_schedule_delete,
            fn_policy_propose, fn_policy_activate, fn_action_limit, fn_receipt_settle, fn_receipt_reverse, fn_problem_close, fn_worker_stop, fn_worker_go_on, fn_executor_freeze, fn_executor_unfreeze, fn_summary_write, fn_replay_rehearse, fn_replay_propose, fn_hold_open, fn_hold_release, fn_replay_stop,
            fn_job_template_register, fn_mot_graph_emit, fn_job_workflow_refresh, fn_job_workflow_retry, fn_event_route_set, fn_event_route_delete,
            fn_audit_seal, fn_evidence_seal, fn_evidence_record, fn_evidence_request, fn_workflow_evidence_set, fn_events_ack,
            fn_trigger_set, fn_trigger_delete, fn_triggers_read, fn_trigger_fire,
            fn_person_set, fn_principal_set, fn_principal_change, fn_principal_rename, fn_step_permission_set, fn_content_permission_set, fn_permissions_read, fn_calendar_set, fn_token_create, fn_token_revoke, fn_tokens_read,
            fn_request_open, fn_request_close, fn_request_refused,
            fn_sign_in_salt, fn_sign_in, fn_sign_out, fn_sessions_read, fn_sessions_revoke, fn_password_set, fn_link_create, fn_link_use,
            fn_link_enter, fn_account_read, fn_roles_read, fn_tokens_page,
            fn_slack_user_map, fn_slack_user_unmap,
            fn_run_critical_path, fn_run_blocked_downstream, _leased_count, _leased_units, _transaction_holder, _reader_waits_since, _stop_told, _step_is_own, _approval_is_asked}'),
        ('reader', '{fn_run_state_at, fn_run_critical_path, fn_run_blocked_downstream, _leased_count, _leased_units, _transaction_holder, _reader_waits_since, _stop_told, _step_is_own, _approval_is_asked}')
    ) as p (process, function_names)
    cross join lateral unnest(p.function_names) as f (function_name)
$$;

-- Columns and tables that no role reads: what proves who somebody is, and payloads beside other columns, which the views of
-- payloads.sql show to whoever may read them.
create or replace function stepwell._hidden_columns() returns table (table_name text, column_name text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    values ('binding_key', null), ('credential', null), ('access_token', null), ('worker_lease', null),
    ('development_mode', null), ('demo', null), ('sign_in_throttle', null), ('http_trigger', null), ('http_answer', null), ('saved_view', null), ('workflow_step_permission', null), ('information_unit_permission', null),
    ('workflow_version', 'graph'), ('worker_session', 'session_key_hash'), ('worker_stop', 'stopped_by'), ('worker_stop', 'reason'),
    ('run_detail', 'input'), ('job_detail', 'payload'), ('approval_detail', 'about'), ('workflow_schedule', 'input'),
    ('action_receipt', 'request_metadata'), ('action_receipt', 'response_metadata'), ('action_receipt', 'prior'),
    ('action_receipt', 'reversal'), ('event_inbox', 'payload'), ('unit_wake', 'payload'), ('event_validation_audit', 'payload')
$$;

-- The tables whose rows are payloads, and the event that carries one: who may read them. Of all other values the log has only
-- size and salted hash.
create or replace function stepwell._payload_rules() returns table (table_name text, condition text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select t.table_name, '(select stepwell.payload_tenant()) is not null' from unnest(array['unit_output', 'unit_checkpoint',
        'map_item', 'step_input', 'step_run_output_snapshot', 'step_run_prior_audit', 'evidence_file']) as t (table_name)
    union all
    select 'event_log', 'event_type <> ''event.emitted'' or (select stepwell.payload_tenant()) is not null'
$$;

-- The rules of row level security that hide steps and contents. Every table with units is in it, also one that comes later.
create or replace function stepwell._shown_rules() returns table (table_name text, condition text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select r.table_name, 'case when (select stepwell.sees_all_steps()) then true else ' || r.condition || ' end'
    from (
        select c.relname::text, case c.relname when 'event_log' then 'event_type <> ''permission.changed'' and ' else '' end
            || 'stepwell.unit_is_shown(tenant_id, unit_id, (select stepwell.hidden_steps()))'
        from pg_class as c
        inner join pg_attribute as t on c.oid = t.attrelid and t.attname = 'tenant_id' and not t.attisdropped
        inner join pg_attribute as a on c.oid = a.attrelid and a.attname = 'unit_id' and not a.attisdropped
        where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'work_unit'
        union all
        select x.name, 'stepwell.unit_is_shown(tenant_id, approval_id, (select stepwell.hidden_steps()))'
        from unnest(array['approval_detail', 'approval_vote', 'slack_card']) as x (name)
        union all
        values
        ('work_unit', 'case scope when ''step'' then stepwell._step_key(version_id, def_no) <> all ((select stepwell.hidden_steps())::bigint[])'
            || ' when ''workflow_run'' then true when ''job'' then true'
            || ' else stepwell.unit_is_shown(tenant_id, unit_id, (select stepwell.hidden_steps())) end'),
        ('workflow_step_def', 'stepwell._step_key(version_id, step_no) <> all ((select stepwell.hidden_steps())::bigint[])'),
        ('workflow_step_relations', 'stepwell._step_key(version_id, from_no) <> all ((select stepwell.hidden_steps())::bigint[])'
            || ' and stepwell._step_key(version_id, to_no) <> all ((select stepwell.hidden_steps())::bigint[])'),
        ('workflow_branch', 'stepwell._step_key(version_id, conditional_no) <> all ((select stepwell.hidden_steps())::bigint[])'),
        ('step_content_pin', 'stepwell.unit_is_shown(tenant_id, stepwell._run_unit(run_id) + step_no, (select stepwell.hidden_steps()))'),
        ('graph_layout', 'stepwell.graph_is_shown(tenant_id, graph_hash, (select stepwell.hidden_steps()))'),
        ('information_unit_version', 'iu_id <> all ((select stepwell.hidden_contents())::bigint[])'),
        ('evidence_file', 'false')
    ) as r (table_name, condition)
$$;

-- What the roles of processes lack, in words for people; nothing when all is well. A role that does not exist lacks
-- itself, and one that exists without login lacks that. For the doctor, with any role.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_rights_missing() returns table (role_name text, lacks text, missing_right text)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select p.role_name, case when r.oid is null then 'role' else 'login' end, null::text
    from unnest(stepwell._process_roles()) as p (role_name)
    left join pg_roles as r on r.rolname = p.role_name
    where r.oid is null or not (r.rolcanlogin or exists (select from pg_auth_members as m where m.roleid = r.oid))
    union all
    select r.rolname::text, 'right', g.right_name
    from pg_roles as r
    cross join lateral stepwell._rights(r.rolname::text) as g
    where r.rolname = any (stepwell._process_roles()) and not g.is_granted
$$;

-- The rights of one role, as grant statements, with a name for people, and whether the role has it. The API and
-- readers read tables and views, under row level security; functions that only read run as their caller, so that it
-- holds in them too, and these two roles may call them all. Functions that change something run as their owner and
-- are granted by name. The other roles read only what says which release the database has, and the clock of tests.
create or replace function stepwell._rights(p_role text)
returns table (statement text, right_name text, is_granted boolean)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select format('grant execute on function stepwell.%I(%s) to %I', f.proname, pg_get_function_identity_arguments(f.oid), p_role),
        'execute ' || f.proname, has_function_privilege(p_role, f.oid, 'execute') and has_schema_privilege(p_role, 'stepwell', 'usage')
    from pg_proc as f
    where f.pronamespace = 'stepwell'::regnamespace and f.prorettype <> 'trigger'::regtype and (
        exists (select from stepwell._function_rights() as r
            where r.process in ('all', substr(p_role, 10)) and r.function_name = f.proname)
        or (p_role in ('stepwell_api', 'stepwell_reader') and f.provolatile <> 'v' and not f.prosecdef
            and f.proname not in ('_binding', '_stamp')))
    union all
    select case when string_agg(h.column_name, '') is null then format('grant select on stepwell.%I to %I', c.relname, p_role)
        else format('grant select (%s) on stepwell.%I to %I', (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
            from pg_attribute as a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and a.attname <> all (array_agg(h.column_name))), c.relname, p_role) end,
        'read ' || c.relname, has_any_column_privilege(p_role, c.oid, 'select')
    from pg_class as c
    left join stepwell._hidden_columns() as h on c.relname = h.table_name
    where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
        and (p_role in ('stepwell_api', 'stepwell_reader') or c.relname in ('clock_shift', 'schema_migration', 'schema_routine'))
        and (h.table_name is null or h.column_name is not null)
    group by c.oid, c.relname
$$;
