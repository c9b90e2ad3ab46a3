-- Whether this role has the rights of one of the roles of processes.
select coalesce(bool_or(pg_has_role(r.oid, 'member')), false) from pg_roles as r where r.rolname = any (%s)
