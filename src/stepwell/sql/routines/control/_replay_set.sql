-- Purpose: what must be replayed with one dead unit: the dead maps around it, and the dead steps inside it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._replay_set(p_tenant_id int, p_unit_id bigint) returns bigint[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select u.unit_id, u.parent_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        union
        select u.unit_id, u.parent_id
        from around as a
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = a.parent_id
        where u.scope = 'step' and u.state_code = 'cannot_complete'
    ), inside as (
        select p_unit_id as unit_id
        union
        select u.unit_id
        from inside as i
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id = i.unit_id
        where u.scope = 'step' and u.state_code = 'cannot_complete'
    )
    select array_agg(x.unit_id order by x.unit_id)
    from (select a.unit_id from around as a union select i.unit_id from inside as i) as x
$$;
