-- Purpose: proves on the rows what must be true at every moment: one row per invariant, ok or with the first faults named.
--   Reads everything, in sets; for tests, for doctor and after an incident, not for every minute.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_invariants_check()
returns table (invariant text, ok boolean, detail text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with checks (check_no, invariant) as (
        values
        (1, 'leases_are_single_and_alive'),
        (2, 'every_open_unit_is_explained'),
        (3, 'states_are_the_fold_of_events'),
        (4, 'counters_equal_a_recount'),
        (5, 'pending_counts_equal_unfinished_predecessors'),
        (6, 'nothing_is_left_of_what_has_ended'),
        (7, 'slots_equal_their_holders'),
        (8, 'effects_agree_with_their_receipts')
    ), faults as (
        select f.invariant, f.fault from stepwell._invariant_leases() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_explained() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_fold() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_counts() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_leftovers() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_slots() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_effects() as f
    ), numbered as (
        select f.invariant, f.fault, row_number() over (partition by f.invariant order by f.fault) as place from faults as f
    )
    select
        c.invariant,
        count(f.fault) = 0,
        coalesce(string_agg(f.fault, '; ' order by f.place) filter (where f.place <= 10)
            || case when count(f.fault) > 10 then format('; and %s more', count(f.fault) - 10) else '' end, 'ok')
    from checks as c
    left join numbered as f on c.invariant = f.invariant
    group by c.check_no, c.invariant
    order by c.check_no;
end
$$;
