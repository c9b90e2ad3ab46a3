-- The rules of the roll-up as rows: which values they may have. transition/subruns.sql says how a change takes effect.

-- The first thing that is wrong with the rules of the active run machine: an unknown switch, a value without a meaning, a
-- binding rule that is missing. Null when nothing is.
create or replace function stepwell._rollup_policy_problem() returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    with policy as (
        select p.policy_code, p.policy_config_jsonb as config, p.policy_config_jsonb ->> 'rule' as rule
        from stepwell.rollup_policy_def as p
        inner join stepwell.state_machine_def as m on p.state_machine_id = m.state_machine_id and m.active and m.scope = 'workflow_run'
        where p.active
    ), known (rule, switches) as (
        values ('R-1', '{rule,classes}'::text[]), ('R-2', '{rule,semantic_class,best_colour}'), ('R-3', '{rule,excluded_states}'),
            ('R-4', '{rule,optional_excluded}'), ('R-5', '{rule,blocked_escalation_treats_as_red,empty_colour}'),
            ('R-6', '{rule,completed_states,colour,completes_run}')
    ), fixed (rule, switch, value) as (
        values ('R-2', 'semantic_class', '"wait"'::jsonb), ('R-3', 'excluded_states', '["skipped"]'), ('R-4', 'optional_excluded', 'true'),
            ('R-6', 'completed_states', '["completed"]'), ('R-6', 'colour', '"green"'), ('R-6', 'completes_run', 'true')
    ), class as (
        select c.value ->> 'semantic_class' as name, c.value ->> 'colour' as colour, c.value -> 'rank' as rank,
            array_position('{gray,green,yellow,red}', c.value ->> 'colour') as severity
        from policy as p
        cross join lateral jsonb_array_elements(case jsonb_typeof(p.config -> 'classes') when 'array' then p.config -> 'classes'
            else '[]' end) as c
        where p.rule = 'R-1'
    ), problem (place, said) as (
        select 1, format('%s: %s', p.policy_code, case when s.switch in ('weights', 'weight')
            then s.switch || ': the roll-up has no weights; the rules are R-1 to R-6'
            else s.switch || ': is unknown; accepted: ' || array_to_string(k.switches, ', ') end)
        from policy as p
        left join known as k on p.rule = k.rule
        cross join lateral jsonb_object_keys(p.config) as s (switch)
        where k.rule is not null and not s.switch = any (k.switches) or (k.rule is null and s.switch in ('weights', 'weight'))
        union all
        select 1, format('%s: classes: %s: is unknown; accepted: semantic_class, colour, rank', p.policy_code, s.switch)
        from policy as p
        cross join lateral jsonb_path_query(p.config, '$.classes[*] ? (@.type() == "object")') as c (class)
        cross join lateral jsonb_object_keys(c.class) as s (switch) where p.rule = 'R-1' and s.switch not in ('semantic_class', 'colour', 'rank')
        union all
        select 2, format('%s: rule: must be one of R-1 to R-6', p.policy_code)
        from policy as p where not exists (select from known as k where k.rule = p.rule)
        union all
        select 3, format('rule %s: exactly one active row is required, there are %s', k.rule, count(p.rule))
        from known as k left join policy as p on k.rule = p.rule group by k.rule having count(p.rule) <> 1
        union all
        select 4, format('%s: %s: only %s is accepted, rule %s is binding', p.policy_code, f.switch, f.value, f.rule)
        from policy as p inner join fixed as f on p.rule = f.rule where p.config -> f.switch is distinct from f.value
        union all
        select 5, format('%s: classes: red, wait, active and idle are required once each, with a colour (gray, green, yellow, red)'
            ' and a rank of its own', p.policy_code)
        from policy as p
        where p.rule = 'R-1' and ((select array_agg(c.name order by c.name) from class as c) is distinct from '{active,idle,red,wait}'
            or (select count(distinct c.rank) from class as c where jsonb_typeof(c.rank) = 'number') <> 4
            or exists (select from class as c where c.severity is null))
        union all
        select 6, format('%s: classes: %s', p.policy_code, case
            when (select c.severity from class as c where c.name = 'red') < 3 then 'a step in red keeps its run from being green (R-1)'
            else 'ranks: red comes before wait, wait before active, active before idle (R-1)' end)
        from policy as p
        where p.rule = 'R-1' and ((select c.severity from class as c where c.name = 'red') < 3
            or (select array_agg(c.name order by c.rank) from class as c) is distinct from '{red,wait,active,idle}')
        union all
        select 7, format('%s: best_colour: yellow or red is accepted, and class wait of R-1 must not be better', p.policy_code)
        from policy as p
        where p.rule = 'R-2' and (coalesce(p.config ->> 'best_colour', '') not in ('yellow', 'red')
            or (select c.severity from class as c where c.name = 'wait') < array_position('{gray,green,yellow,red}', p.config ->> 'best_colour'))
        union all
        select 8, format('%s: %s', p.policy_code, case
            when jsonb_typeof(p.config -> 'blocked_escalation_treats_as_red') is distinct from 'boolean'
                then 'blocked_escalation_treats_as_red: true or false is accepted'
            else 'empty_colour: must be the colour of class idle of R-1' end)
        from policy as p
        where p.rule = 'R-5' and (jsonb_typeof(p.config -> 'blocked_escalation_treats_as_red') is distinct from 'boolean'
            or p.config ->> 'empty_colour' is distinct from (select c.colour from class as c where c.name = 'idle'))
    )
    select p.said from problem as p order by p.place, p.said limit 1
$$;
