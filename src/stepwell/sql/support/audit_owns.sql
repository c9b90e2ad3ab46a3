-- Whether the role, and whether the session, owns every table of the schema: then no rule for rows hides one from it.
select bool_and(pg_has_role(c.relowner, 'usage')), bool_and(pg_has_role(session_user, c.relowner, 'usage'))
from pg_class as c
inner join pg_namespace as n on c.relnamespace = n.oid
where n.nspname = 'stepwell' and c.relkind in ('r', 'p')
