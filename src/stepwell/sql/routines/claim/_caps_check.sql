-- Purpose: refuses settings of caps that are unknown or out of range.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 naming the setting and what is accepted.
create or replace function stepwell._caps_check(p_settings jsonb, p_known text[]) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_fault record;
begin
    select s.key, s.value, case when s.key like '%concurrency' or s.key = 'weight' then 1 else 0 end as least_value,
        case s.key when 'weight' then 1000 else 1000000 end as most_value
    into v_fault
    from jsonb_each(p_settings) as s
    where not s.key = any (p_known) or case jsonb_typeof(s.value)
        when 'null' then s.key = 'weight'
        when 'number' then not (s.value::text ~ '^[0-9]{1,7}$' and s.value::text::int
            between case when s.key like '%concurrency' or s.key = 'weight' then 1 else 0 end
            and case s.key when 'weight' then 1000 else 1000000 end)
        else true end
    limit 1;
    if found then
        raise exception using errcode = 'SW001', column = v_fault.key, message = case
            when v_fault.key = any (p_known) then format('%s: %s is not accepted; a whole number from %s to %s is',
                v_fault.key, v_fault.value, v_fault.least_value, v_fault.most_value)
            else format('%s: is no setting; known are %s', v_fault.key, array_to_string(p_known, ', ')) end;
    end if;
end
$$;
