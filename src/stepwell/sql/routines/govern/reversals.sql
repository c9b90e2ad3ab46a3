-- An effect that happened is reversed by another action.

-- Requests that an effect is reversed: creates a job that a worker with the connector carries out. It is an action like
-- any other, judged by policy, with its own receipt.
-- Locks: none beyond the new rows.
-- Idempotency: while a request is open, its job is returned.
-- Raises: SW002 when there is no such receipt; SW003 when its effect cannot be reversed; SW007 for another tenant.
create or replace function stepwell.fn_receipt_reverse(
    p_tenant_id int, p_receipt_id bigint, p_actor text, p_reason text default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
    v_job record;
    v_count int;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'problem.close');
    perform stepwell._unit_shown_check(p_tenant_id, p_receipt_id);
    if not exists (select from stepwell.action_receipt as r where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id) then
        raise exception using errcode = 'SW002', message = format('receipt %s does not exist', stepwell._unit_ref(p_receipt_id));
    end if;
    v_problem := stepwell._reversal_problem(p_tenant_id, p_receipt_id);
    if v_problem is not null then
        raise exception using errcode = 'SW003', message = v_problem;
    end if;
    select count(*)::int into v_count from stepwell.job_detail as j
    inner join stepwell.work_unit as u on j.tenant_id = u.tenant_id and j.job_id = u.unit_id
    where j.tenant_id = p_tenant_id and j.idempotency_key like format('stepwell.reverse:%s:%%', p_receipt_id)
        and u.state_code in ('completed', 'cancelled', 'cannot_complete');
    select e.job_id into v_job
    from stepwell.fn_job_enqueue(p_tenant_id, 'stepwell.reverse',
        array[jsonb_strip_nulls(jsonb_build_object('receipt_id', p_receipt_id, 'reason', p_reason))],
        array[format('stepwell.reverse:%s:%s', p_receipt_id, v_count)], p_actor => p_actor) as e;
    return v_job.job_id;
end
$$;

-- What a handler with a lease needs to reverse an effect: connector, operation, target and fields.
-- Locks: the unit row (shared).
-- Idempotency: reads only.
-- Raises: SW002 when there is no such receipt; SW004 when its effect cannot be reversed; SW005 when the session does not have
--   the lease any more; SW007 for another tenant and for the generator.
create or replace function stepwell.fn_action_reversal(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_receipt_id bigint
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_receipt stepwell.action_receipt;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._lease_hold(p_session_key, p_tenant_id, p_unit_id, p_lease_no);
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('receipt %s does not exist', stepwell._unit_ref(p_receipt_id));
    end if;
    if v_receipt.reversal is null then
        raise exception using errcode = 'SW004', message = format('the effect of receipt %s cannot be reversed', stepwell._unit_ref(p_receipt_id));
    end if;
    return v_receipt.reversal || jsonb_build_object('connector', v_receipt.connector);
end
$$;

-- Why an effect cannot be reversed; null when it can.
create or replace function stepwell._reversal_problem(p_tenant_id int, p_receipt_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when r.receipt_id is null then format('receipt %s does not exist', stepwell._unit_ref(p_receipt_id))
        when u.state_code = 'reversed' then format('receipt %s is reversed already, by receipt %s', stepwell._unit_ref(p_receipt_id),
            stepwell._unit_ref(r.reversed_by_receipt_id))
        when u.state_code <> 'confirmed' then format('receipt %s is %s; only a confirmed effect can be reversed',
            stepwell._unit_ref(p_receipt_id), u.state_code)
        when not r.reversible or r.reversal is null then format('the effect of receipt %s cannot be reversed', stepwell._unit_ref(p_receipt_id))
    end
    from (select 1) as one (row_no)
    left join stepwell.action_receipt as r on r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id
    left join stepwell.work_unit as u on u.tenant_id = r.tenant_id and u.unit_id = r.receipt_id
$$;
