-- The keeper carries holds on: what one transaction could not do, what became ready or got a deadline meanwhile, and their end.

-- Carries the holds of every tenant that has one. A tenant whose holds cannot be carried on is set aside, the others go on.
-- Returns how much it did.
-- Locks: as _holds_carry, and the tenants.
-- Idempotency: what is done is not done again.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_holds_carry(p_limit int default 500) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_tenant_id int;
    v_count int := 0;
begin
    for v_tenant_id in
        select t.tenant_id from stepwell.tenant as t where t.has_hold and not stepwell._is_set_aside(t.tenant_id, 'holds', 'all', v_now)
        order by t.tenant_id limit 100
    loop
        begin
            v_count := v_count + stepwell._holds_carry(v_tenant_id, least(p_limit, 5000)) + stepwell._holds_end(v_tenant_id);
        exception when others then
            if not stepwell._is_fault_of_row(sqlstate) then
                raise;
            end if;
            perform stepwell._problem_open(v_tenant_id, 'set_aside', 'holds', 'all', null, sqlstate, sqlerrm);
        end;
    end loop;
    return v_count + stepwell._hold_evidences_make(least(p_limit, 20));
end
$$;
