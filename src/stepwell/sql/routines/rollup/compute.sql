-- The colour of a run computed from its steps, without the counters: for people who ask why, and to check the counters.

-- The roll-up of a run computed from its steps and the policy rows: colour, the steps that it rests on, how many are
-- red, yellow, green, skipped or not mandatory, and the step that decides. A step with a sub-run has the state that the
-- colour of that run requires. A paused run keeps the colour it had.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell.fn_workflow_rollup_compute(p_workflow_run_id bigint, p_tenant_id int default 1) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_rules record;
    v_run record;
    v_found jsonb;
begin
    select p.frozen_at, p.rollup_state_code into v_run
    from stepwell.run_progress as p where p.tenant_id = p_tenant_id and p.run_id = p_workflow_run_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_workflow_run_id);
    end if;
    select
        coalesce(array(select jsonb_array_elements_text(x.rules -> 'excluded_states')), '{}') as excluded_states,
        coalesce((x.rules ->> 'optional_excluded')::boolean, false) as optional_excluded,
        coalesce(x.rules ->> 'empty_colour', 'gray') as empty_colour
    into v_rules
    from (
        select jsonb_object_agg(e.key, e.value) as rules
        from stepwell.rollup_policy_def as p
        inner join stepwell.state_machine_def as m on p.state_machine_id = m.state_machine_id and m.active
        cross join lateral jsonb_each(p.policy_config_jsonb) as e
        where p.active and e.key not in ('rule', 'classes', 'semantic_class', 'colour')
    ) as x;
    with step as (
        select u.unit_id, u.state_code, u.mandatory, b.class
        from stepwell.work_unit as u
        inner join stepwell.state_def as s on u.state_machine_id = s.state_machine_id and u.state_code = s.state_code
        cross join lateral (select case when u.blocked_escalated then 'red' else s.semantic_class end as class) as b
        where u.tenant_id = p_tenant_id and u.scope = 'step'
            and u.unit_id between stepwell._run_unit(p_workflow_run_id) + 1 and stepwell._run_last(p_workflow_run_id)
    ), counted as (
        select s.unit_id, s.state_code, s.class, r.colour, r.rank
        from step as s
        inner join stepwell.rollup_rule as r on s.class = r.semantic_class
        where (s.mandatory or not v_rules.optional_excluded) and not s.state_code = any (v_rules.excluded_states)
            and s.class <> 'idle'
    ), decisive as (
        select c.* from counted as c order by c.rank, c.unit_id limit 1
    )
    select jsonb_build_object(
        'rollup_state_code', case when v_run.frozen_at is not null then v_run.rollup_state_code
            else coalesce(d.colour, v_rules.empty_colour) end,
        'basis_step_run_ids', coalesce((select jsonb_agg(c.unit_id order by c.unit_id) from counted as c), '[]'),
        'red_count', (select count(*) from counted as c where c.colour = 'red'),
        'yellow_count', (select count(*) from counted as c where c.colour = 'yellow'),
        'green_count', (select count(*) from counted as c where c.colour = 'green'),
        'skipped_count', (select count(*) from step as s where s.state_code = any (v_rules.excluded_states)),
        'optional_excluded_count', (select count(*) from step as s where v_rules.optional_excluded and not s.mandatory),
        'decisive_step_run_id', d.unit_id, 'decisive_state_code', d.state_code,
        'critical_path', coalesce((select jsonb_agg(p.unit_id order by p.place)
            from stepwell.fn_run_critical_path(p_tenant_id, p_workflow_run_id) as p), '[]'),
        'frozen_at', v_run.frozen_at, 'computed_at', stepwell.now())
    into v_found
    from (select 1) as one
    left join decisive as d on true;
    return v_found;
end
$$;
