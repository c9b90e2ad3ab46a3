-- Purpose: the inbox of a person: what is in the person's hands, what is ready for one of the person's roles and in
--   nobody's hands, and what the person was told of because it stays open too long. Without a person, everybody's.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such person.
create or replace function stepwell.fn_inbox_read(
    p_tenant_id int, p_person text default null, p_role text default null, p_limit int default 100
) returns setof stepwell.v_inbox
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := case when p_person is not null then stepwell._person_find(p_tenant_id, p_person) end;
    v_roles constant text[] := array(select r.role_name from stepwell.person_role as r
        where r.tenant_id = p_tenant_id and r.person_id = v_person_id);
begin
    return query
    select i.*
    from stepwell.v_inbox as i
    where i.tenant_id = p_tenant_id
        and (p_role is null or i.role = p_role)
        and (p_person is null or i.pic = p_person
            or (i.pic is null and (i.assignee = p_person or i.role = any (v_roles) or (i.role is null and i.assignee is null)))
            or exists (select from stepwell.step_escalation as e
                where e.tenant_id = p_tenant_id and e.unit_id = i.step_run_id and e.told_at is not null
                    and (e.tell = p_person or e.tell = any (v_roles))))
    order by i.priority desc, i.deadline_at nulls last, i.step_run_id
    limit least(greatest(p_limit, 1), stepwell._limit('limits.page_size'));
end
$$;
