-- The columns of these tables and views that the role of this connection may read.
select c.relname, a.attname
  from pg_class as c
  join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
 where c.relnamespace = 'stepwell'::regnamespace and c.relname = any (%s)
   and has_column_privilege(c.oid, a.attnum, 'select')
 order by c.relname, a.attnum
