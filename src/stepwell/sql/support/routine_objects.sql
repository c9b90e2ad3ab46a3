-- Functions and views of our schema with the place of their catalog row: "create or replace" always moves it.
select 'function' as kind,
       format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as name,
       p.ctid::text as place
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'stepwell'
union all
select 'view', format('%I.%I', n.nspname, c.relname), c.ctid::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'stepwell' and c.relkind = 'v'
