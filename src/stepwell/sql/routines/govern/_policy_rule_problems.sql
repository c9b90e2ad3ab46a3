-- Purpose: everything wrong with one rule, field by field.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._policy_rule_problems(p_rule jsonb)
returns table (field text, problem text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select c.field, c.problem
    from (values
        (null, case when jsonb_typeof(p_rule) is distinct from 'object' then 'a rule is a mapping' end),
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
            when p_rule ->> 'effect' in ('allow', 'deny') and p_rule ? 'tier' then 'only an approval has a tier' end),
        ('two_person', case when p_rule ? 'two_person' and jsonb_typeof(p_rule -> 'two_person') <> 'boolean'
            then 'true or false is accepted'
            when p_rule ->> 'two_person' = 'true' and p_rule ->> 'effect' in ('allow', 'deny')
            then 'only an approval is given by two' end),
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
    select k.field, 'is not known; name, priority, match, effect, tier, two_person, reason, approvers, role and expires_seconds are'
    from jsonb_object_keys(case when jsonb_typeof(p_rule) = 'object' then p_rule else '{}' end) as k (field)
    where k.field not in ('name', 'priority', 'match', 'effect', 'tier', 'two_person', 'reason', 'approvers', 'role',
        'expires_seconds')
$$;
