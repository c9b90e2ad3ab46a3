-- How the units of a tenant live in the log: for each kind and last state how many there are (and some of their numbers if
-- the state is open), and the changes that do not begin where the change before them ended. The streams in `begun` began in
-- months that the log no longer has.
with change as materialized (
    select e.unit_id, split_part(e.event_type, '.', 1) as kind, e.from_state, e.to_state, e.tx::text::bigint as tx, e.event_id,
        lag(e.to_state) over w as before, row_number() over w as place, lead(e.unit_id) over w is null as is_last
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and e.to_state is not null
    window w as (partition by e.unit_id order by e.event_id, e.tx)
)
select 'life', c.kind, c.to_state, count(*),
    case when not %(ends)s::jsonb -> c.kind ? c.to_state then (array_agg(c.unit_id order by c.unit_id))[1:%(limit)s] end, null, null
from change as c
where c.is_last and %(ends)s::jsonb ? c.kind
group by c.kind, c.to_state
union all
(
    select 'gap', c.kind, coalesce(c.before, 'its beginning'), c.unit_id, null, c.tx, c.event_id
    from change as c
    where %(ends)s::jsonb ? c.kind and (c.place > 1 and c.from_state is distinct from c.before
        or c.place = 1 and c.from_state <> 'not_started' and c.unit_id >> 20 <> all (%(begun)s))
    order by c.tx, c.event_id
    limit %(limit)s
)
order by 1, 2, 3
