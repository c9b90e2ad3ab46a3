-- Whether a role of a process was made after the last migration and has no rights yet.
select exists (select from pg_roles as r where r.rolname = any (%s)
    and not has_schema_privilege(r.oid, 'stepwell', 'usage'))
