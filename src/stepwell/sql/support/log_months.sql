-- The months whose events are in the log. Read from the catalog, not from a view: a check of the log trusts no function
-- or view of the database.
select to_date(right(c.relname, 7), 'YYYY_MM')
from pg_inherits as i
inner join pg_class as c on i.inhrelid = c.oid
where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$'
