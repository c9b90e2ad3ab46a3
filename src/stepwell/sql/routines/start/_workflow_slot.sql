-- Purpose: the concurrency key under which a workflow's steps stand in line when the workflow has a cap; nothing otherwise.
--   Steps of a Parallel or a Map with a limit of its own stand in that line instead.
-- Locks: the key's row, when its limit has changed.
-- Idempotency: the same cap gives the same key.
-- Raises: nothing.
create or replace function stepwell._workflow_slot(p_tenant_id int, p_workflow_id int) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_max_concurrency int;
begin
    select w.max_concurrency into v_max_concurrency
    from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id;
    if v_max_concurrency is null then
        return null;
    end if;
    insert into stepwell.concurrency_slot as s (tenant_id, slot_key, max_count)
    values (p_tenant_id, 'workflow:' || p_workflow_id, v_max_concurrency)
    on conflict (tenant_id, slot_key) do update set max_count = excluded.max_count where s.max_count <> excluded.max_count;
    return 'workflow:' || p_workflow_id;
end
$$;
