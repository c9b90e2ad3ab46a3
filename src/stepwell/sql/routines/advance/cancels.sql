-- What is cancelled with a run or with a step around sub-runs: the runs below it, to any depth, and their units. Callers hold
-- the locks of the runs around. SW004: the registry refuses.

-- The open runs below a run, or below some of its steps, to any depth, in id order.
create or replace function stepwell._subruns_open(p_tenant_id int, p_run_id bigint, p_unit_ids bigint[]) returns bigint[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive down as (
        select stepwell._run_of(u.unit_id) as run_id
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.parent_id = any (p_unit_ids)
            and u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
        union all
        select stepwell._run_of(u.unit_id)
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id
            and u.parent_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
        union all
        select stepwell._run_of(u.unit_id)
        from down as d
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id
            between stepwell._run_unit(d.run_id) + 1 and stepwell._run_last(d.run_id)
        where u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
    )
    select array_agg(d.run_id order by d.run_id) from down as d
$$;

-- Locks the open runs below a run, for calls that may cancel them. The caller holds the run itself. A run that begins
-- meanwhile is found in the next round, and has a lower number than one that is held: it is taken at once or not at all.
-- Locks: run_progress rows in run order; again without waiting.
-- Raises: 55P03 when such a new run is held by another transaction (try again).
create or replace function stepwell._runs_lock_down(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_locked bigint[] := '{}'::bigint[];
    v_open bigint[];
begin
    loop
        v_open := coalesce(stepwell._subruns_open(p_tenant_id, p_run_id, null), '{}');
        exit when v_open <@ v_locked;
        if v_locked = '{}' then
            perform stepwell._runs_lock(array_fill(p_tenant_id, array[cardinality(v_open)]),
                array(select stepwell._run_unit(r) from unnest(v_open) as r));
        else
            perform stepwell._runs_lock_now(p_tenant_id, v_open);
        end if;
        v_locked := v_locked || v_open;
    end loop;
end
$$;

-- Locks runs that come before others that the transaction may hold, so without waiting.
-- Locks: run_progress rows.
-- Raises: 55P03 when another transaction holds one (try again).
create or replace function stepwell._runs_lock_now(p_tenant_id int, p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform 1 from stepwell.run_progress as p
    where p.tenant_id = p_tenant_id and p.run_id = any (p_run_ids)
    for update nowait;
end
$$;

-- Cancels the open runs of these sub-workflow steps, to any depth.
-- Locks: these runs, without waiting: a report or a timer may hold later ones. A call that cancels on purpose has locked
--   them before (_runs_lock_down).
-- Raises: 55P03 when another transaction holds one (try again).
create or replace function stepwell._subruns_cancel(p_tenant_id int, p_unit_ids bigint[], p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids bigint[];
begin
    v_run_ids := stepwell._subruns_open(p_tenant_id, null, p_unit_ids);
    if v_run_ids is not null then
        perform stepwell._runs_lock_now(p_tenant_id, v_run_ids);
        -- Again: one of them may have ended, or begun another, before it was locked.
        v_run_ids := stepwell._subruns_open(p_tenant_id, null, p_unit_ids);
        perform stepwell._runs_lock_now(p_tenant_id, v_run_ids);
        perform stepwell._runs_clear(p_tenant_id, v_run_ids, null, p_actor, p_reason);
    end if;
end
$$;

-- Cancels sub-runs, and every open unit of them and of the cancelled run above them, all at once: so ready rows, units
-- and slots are each locked in one round.
create or replace function stepwell._runs_clear(
    p_tenant_id int, p_subrun_ids bigint[], p_run_id bigint, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array_remove(p_run_id || coalesce(p_subrun_ids, '{}'), null);
    v_tenant_ids constant int[] := array_fill(p_tenant_id, array[cardinality(v_run_ids)]);
    v_open record;
begin
    if cardinality(p_subrun_ids) > 0 then
        perform stepwell._units_move(array_fill(p_tenant_id, array[cardinality(p_subrun_ids)]),
            array(select stepwell._run_unit(r) from unnest(p_subrun_ids) as r), 'cancelled', 'system', 'rpc', 'workflow_cancel', p_actor);
    end if;
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_open
    from unnest(v_run_ids) as r (run_id)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id
        and u.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_last(r.run_id)
    where not stepwell._has_ended(u.state_code);
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._units_move(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'system', 'rpc', 'workflow_cancel',
            p_actor, null, array_fill(jsonb_build_object('reason', coalesce(p_reason, 'run cancelled')),
                array[cardinality(v_open.unit_ids)]));
        perform stepwell._receipts_doubt(v_open.tenant_ids, v_open.unit_ids, 'the run was cancelled meanwhile');
    end if;
    perform stepwell._runs_finish(v_tenant_ids, v_run_ids, 'cancelled');
    -- Corrections and approvals of the runs end with them.
    perform stepwell._attention_settle(p.tenant_id, p.run_id)
    from stepwell.run_progress as p
    where p.tenant_id = p_tenant_id and p.run_id = any (v_run_ids) and p.needs_attention;
end
$$;
