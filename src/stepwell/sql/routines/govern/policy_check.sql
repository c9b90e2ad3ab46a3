-- What is wrong with a rule set.

-- Everything that is wrong with a rule set, by the number of the rule, from 1; number 0 is the set as a whole.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; no rows when the set can be used.
create or replace function stepwell.fn_policy_check(p_rules jsonb)
returns table (rule_no int, field text, problem text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_limit constant int := stepwell._limit('limits.policy_rules');
begin
    if jsonb_typeof(p_rules) is distinct from 'array' or jsonb_array_length(p_rules) not between 1 and v_limit then
        return query select 0, 'rules', format('a list of 1 to %s rules is required', v_limit);
        return;
    end if;
    return query
    with rule as (
        select r.body, r.ord::int as rule_no from jsonb_array_elements(p_rules) with ordinality as r (body, ord)
    )
    select r.rule_no, p.field, p.problem
    from rule as r
    cross join lateral stepwell._policy_rule_problems(r.body) as p
    union all
    select r.rule_no, f.field, format('%s is the %s of rule %s already', f.word, f.field, f.first_no)
    from rule as r
    cross join lateral (
        select w.field, r.body ->> w.field as word, min(o.rule_no) as first_no
        from (values ('name'), ('priority')) as w (field)
        inner join rule as o on o.body ->> w.field = r.body ->> w.field and o.rule_no < r.rule_no
        group by w.field
    ) as f
    order by 1, 2 nulls first;
end
$$;

-- Everything that is wrong with one rule, field by field.
create or replace function stepwell._policy_rule_problems(p_rule jsonb)
returns table (field text, problem text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select c.field, c.problem
    from (values
        (null, case when jsonb_typeof(p_rule) is distinct from 'object' then 'a rule must be an object of named values' end),
        ('name', case when jsonb_typeof(p_rule -> 'name') is distinct from 'string'
            or length(p_rule ->> 'name') not between 1 and 100 then 'a text of 1 to 100 characters is required' end),
        ('priority', case when jsonb_typeof(p_rule -> 'priority') is distinct from 'number'
            or p_rule ->> 'priority' !~ '^[0-9]{1,7}$' then 'a whole number from 0 to 9999999 is required' end),
        ('match', case when jsonb_typeof(p_rule -> 'match') is distinct from 'string' then 'an expression is required'
            else stepwell._policy_match_problem(p_rule ->> 'match') end),
        ('effect', case when coalesce(p_rule ->> 'effect', '') not in ('allow', 'deny', 'needs_approval')
            then 'allow, deny or needs_approval is required' end),
        ('tier', case
            when p_rule ->> 'effect' = 'needs_approval' and coalesce(p_rule ->> 'tier', '') not in ('low', 'med', 'high')
                then 'low, med or high is required where the effect is needs_approval'
            when p_rule ->> 'effect' in ('allow', 'deny') and p_rule ? 'tier' then 'a tier is accepted only where the effect is needs_approval' end),
        ('two_person', case when p_rule ? 'two_person' and jsonb_typeof(p_rule -> 'two_person') <> 'boolean'
            then 'true or false is accepted'
            when p_rule ->> 'two_person' = 'true' and p_rule ->> 'effect' in ('allow', 'deny')
            then 'true is accepted only where the effect is needs_approval' end),
        ('same_effect', case when p_rule ? 'same_effect' and coalesce(p_rule ->> 'same_effect', '') not in ('again', 'return', 'refuse')
            then 'again, return or refuse is accepted'
            when p_rule ? 'same_effect' and p_rule ->> 'effect' = 'deny' then 'is accepted only where the effect is not deny' end),
        ('reason', case when jsonb_typeof(p_rule -> 'reason') is distinct from 'string'
            or length(p_rule ->> 'reason') not between 1 and 500 then 'a text of 1 to 500 characters is required' end),
        ('approvers', case when p_rule ? 'approvers' and (jsonb_typeof(p_rule -> 'approvers') <> 'array'
            or jsonb_path_exists(p_rule, 'strict $.approvers[*] ? (@.type() != "string")', '{}', true)
            or jsonb_array_length(p_rule -> 'approvers') not between 1 and 50) then 'a list of 1 to 50 names is accepted' end),
        ('role', case when p_rule ? 'role' and (jsonb_typeof(p_rule -> 'role') <> 'string'
            or length(p_rule ->> 'role') not between 1 and 200) then 'a text of 1 to 200 characters is accepted' end),
        ('expires_seconds', case when p_rule ? 'expires_seconds'
            and coalesce(p_rule ->> 'expires_seconds', '') !~ '^[1-9][0-9]{0,7}$'
            then 'a whole number of seconds is accepted' end)
    ) as c (field, problem)
    where c.problem is not null
    union all
    select k.field, 'is not known; name, priority, match, effect, tier, two_person, same_effect, reason, approvers, role and expires_seconds are'
    from jsonb_object_keys(case when jsonb_typeof(p_rule) = 'object' then p_rule else '{}' end) as k (field)
    where k.field not in ('name', 'priority', 'match', 'effect', 'tier', 'two_person', 'same_effect', 'reason', 'approvers', 'role',
        'expires_seconds')
$$;

-- Why a match expression cannot be used: it is too long, no SQL/JSON path, has a variable, or a root that no action has
-- (a mistyped root would never match, and a rule that never matches denies nothing). Null when it can be used. Every judgement
-- checks this.
create or replace function stepwell._policy_match_problem(p_match text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_known constant text[] := '{tenant,workflow,step,run_id,connector,operation,target,fields,reversible,writes,
        reverses,actor,started_by,attempt,input}'::text[];
    v_word text;
begin
    if octet_length(p_match) > stepwell._limit('limits.expression_bytes') then
        return format('at most %s bytes are accepted', stepwell._limit('limits.expression_bytes'));
    end if;
    if stepwell._jsonpath_problem(p_match) is not null then
        return 'not a SQL/JSON path: ' || stepwell._jsonpath_problem(p_match);
    end if;
    v_word := stepwell._path_unknown_root(p_match, v_known);
    return case
        when v_word like '$%' then format('variables are not accepted: %s; write $.%s for a field', v_word, substr(v_word, 2))
        when v_word is not null then format('an action has no %s; it has %s', v_word, array_to_string(v_known, ', ')) end;
end
$$;
