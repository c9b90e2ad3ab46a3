-- What a unit waits for, when it waits for several things: the facet with the lowest ordinal is the primary one.

-- These facets in the order of the machine, the primary one first, each once. A facet that the machine does not have comes
-- first, so that the registry refuses it by name.
create or replace function stepwell._facets_order(p_machine_id text, p_facets text[]) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select array_agg(x.facet order by f.primary_ordinal nulls first, x.facet)
    from (select distinct unnest(p_facets) as facet) as x
    left join stepwell.state_facet_def as f
        on f.state_machine_id = p_machine_id and f.state_code = 'waiting' and f.facet_code = x.facet
    where x.facet is not null
$$;
