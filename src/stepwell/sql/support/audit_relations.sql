-- What verify reads and is not the table that it should be: its name, and why. A view, a foreign table as a part of a table, or rules
-- for the rows that a caller sees, can show the verifier something else than the engine reads. Rules for all roles but the owner
-- exist on every table.
with recursive part (name, oid) as (
    select n.name, c.oid
    from unnest(%(names)s::text[]) as n (name)
    left join pg_class as c on c.relname = n.name and c.relnamespace = (select s.oid from pg_namespace as s where s.nspname = 'stepwell')
    union
    select p.name, i.inhrelid from part as p inner join pg_inherits as i on p.oid = i.inhparent
)
select p.name, min(case when c.oid is null then 'it does not exist' when c.relkind not in ('r', 'p') then 'it is no table'
    else 'its owner sees only some of its rows' end)
from part as p
left join pg_class as c on p.oid = c.oid
where c.oid is null or c.relkind not in ('r', 'p') or c.relforcerowsecurity
group by p.name
order by p.name
