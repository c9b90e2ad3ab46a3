-- The lanes of the queue: what has the same executor class, tenant, workspace, rank and operation. The key of job_ready
-- begins with these, so that one look finds the next lane that has something, however much is in the lanes.

-- The first lane of an executor class that comes after this one in the order of the key and has something in it, and
-- its first unit; nothing when there is none. From (0, 0, 0, 0) it is the first lane of the class; with the highest
-- rank it is the first lane of the next workspace or tenant.
create or replace function stepwell._lane_next(
    p_executor_class_id int, p_tenant_id int, p_workspace_id int, p_rank int, p_operation_id int,
    out tenant_id int, out workspace_id int, out rank int, out operation_id int, out unit_id bigint
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_next stepwell.queue_place;
begin
    if current_setting('stepwell.gaps', true) = 'on' then
        v_next := stepwell._place_next(p_executor_class_id, row(
            p_tenant_id, p_workspace_id, p_rank, p_operation_id, 9223372036854775807)::stepwell.queue_place);
        tenant_id := v_next.tenant_id;
        workspace_id := v_next.workspace_id;
        rank := v_next.rank;
        operation_id := v_next.operation_id;
        unit_id := v_next.unit_id;
        return;
    end if;
    select r.tenant_id, r.workspace_id, r.rank::int, r.operation_id, r.unit_id into tenant_id, workspace_id, rank, operation_id, unit_id
    from stepwell.job_ready as r
    where r.executor_class_id = p_executor_class_id
        and (r.tenant_id, r.workspace_id, r.rank, r.operation_id) > (p_tenant_id, p_workspace_id, p_rank::smallint, p_operation_id)
    order by r.executor_class_id, r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id
    limit 1;
end
$$;

-- The workspace of a unit, as in the key of its row in job_ready: that of its run or job, or number 0.
create or replace function stepwell._workspace_of(p_tenant_id int, p_unit_id bigint) returns int
language sql stable parallel safe
as $$
    select coalesce((select p.workspace_id from stepwell.run_progress as p
        where p.tenant_id = p_tenant_id and p.run_id = stepwell._run_of(p_unit_id)),
        case when stepwell._unit_no(p_unit_id) = 0 then (select j.workspace_id from stepwell.job_detail as j
            where j.tenant_id = p_tenant_id and j.job_id = p_unit_id) end, 0)
$$;

-- Whether the queue has nothing of these executor classes, for any worker. Of no classes it has nothing.
create or replace function stepwell._classes_are_empty(p_executor_class_ids int[]) returns boolean
language plpgsql volatile
as $$
begin
    if current_setting('stepwell.gaps', true) = 'on' and stepwell._gaps_refresh() then
        for v_class_no in 1 .. coalesce(cardinality(p_executor_class_ids), 0) loop
            if (stepwell._lane_next(p_executor_class_ids[v_class_no], 0, 0, -32768, 0)).tenant_id is not null then
                return false;
            end if;
        end loop;
        return true;
    end if;
    return not exists (select from stepwell.job_ready as r where r.executor_class_id = any (p_executor_class_ids));
end
$$;
