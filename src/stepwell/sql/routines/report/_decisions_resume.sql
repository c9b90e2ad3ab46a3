-- Purpose: decisions of a run that had to wait are made when nothing before them is open any more; one of them may be
--   what another waited for. True while one still waits.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._decisions_resume(p_tenant_id int, p_run_id bigint) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids bigint[];
    v_free_ids bigint[];
begin
    loop
        v_unit_ids := array(
            select u.unit_id
            from stepwell.work_unit as u
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            where u.tenant_id = p_tenant_id and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
                and u.state_code = 'ready' and u.class_id is null and d.step_kind = 'decision');
        v_free_ids := array(
            select x from unnest(v_unit_ids) as x
            except
            select b.waiting_id from stepwell._steps_behind(
                array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids) as b);
        exit when v_free_ids = '{}';
        perform stepwell._engine_steps(array_fill(p_tenant_id, array[cardinality(v_free_ids)]), v_free_ids);
    end loop;
    return v_unit_ids <> '{}';
end
$$;
