-- Purpose: why a unit (run, step, task or job) is not being worked on now, or who works on it: a code, one sentence in
--   each language, and who can change it. The sentences are texts of the registry (why.*).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such unit.
create or replace function stepwell.fn_why_not_running(p_unit_id bigint, p_tenant_id int default 1)
returns table (code text, sentence_en text, sentence_vi text, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_unit stepwell.work_unit;
    v_child stepwell.work_unit;
    v_found record;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('unit %s does not exist', p_unit_id);
    end if;
    if v_unit.scope = 'workflow_run' and v_unit.state_code = 'in_progress' then
        -- A run stands where its foremost unfinished step stands.
        select u.* into v_child
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between p_unit_id + 1 and p_unit_id + 1048575
            and u.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete')
        order by u.state_code = 'not_started', u.unit_id
        limit 1;
        if found then
            v_unit := v_child;
        end if;
    end if;
    select w.* into v_found from stepwell._why(v_unit) as w;
    return query
    select v_found.code, stepwell._text_fill('why.' || v_found.code, 'en', v_found.facts),
        stepwell._text_fill('why.' || v_found.code, 'vi', v_found.facts), v_found.who;
end
$$;
