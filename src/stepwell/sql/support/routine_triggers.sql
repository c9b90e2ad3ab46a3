-- Functions of our schema that triggers call: their result is always the same, and tables hang on them.
select format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'stepwell' and p.prorettype = 'pg_catalog.trigger'::regtype
