-- For each function of our schema the call of its language's validator, as text.
select format('%I.%I', n.nspname, p.proname) as name,
       format('select %s(%s)', l.lanvalidator::regproc, p.oid) as query
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_language l on l.oid = p.prolang
 where n.nspname = 'stepwell' and l.lanname in ('plpgsql', 'sql') and p.prokind <> 'a'
 order by name
