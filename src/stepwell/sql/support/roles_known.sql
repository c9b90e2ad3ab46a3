-- The roles of processes that exist, and whether each may log in.
select r.rolname, r.rolcanlogin from pg_roles as r where r.rolname = any (%s)
