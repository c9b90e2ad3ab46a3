-- Purpose: everything wrong with a rule set, by the number of the rule, from 1; number 0 is the set as a whole.
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
