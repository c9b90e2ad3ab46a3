-- Purpose: maps that wait again will make their items anew: the items they had stay in the history, no longer theirs.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._maps_forget(p_tenant_id int, p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_map_ids bigint[];
begin
    with gone as (
        delete from stepwell.map_item as m
        where m.tenant_id = p_tenant_id and m.unit_id = any (p_unit_ids)
        returning m.unit_id, m.item_no
    )
    select array_agg(distinct g.unit_id) into v_map_ids from gone as g;
    if v_map_ids is not null then
        update stepwell.work_unit as u set parent_id = null
        where u.tenant_id = p_tenant_id and u.parent_id = any (v_map_ids) and u.scope = 'step';
        delete from stepwell.concurrency_slot as s
        using unnest(v_map_ids) as m (unit_id)
        where s.tenant_id = p_tenant_id and (s.slot_key = format('run:%s:map:%s', m.unit_id >> 20, m.unit_id & 1048575)
            or s.slot_key like format('run:%s:%%:%s:%%', m.unit_id >> 20, m.unit_id & 1048575));
    end if;
end
$$;
