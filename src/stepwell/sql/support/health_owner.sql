-- Whether this role may migrate: it has the rights of the owner of the schema, or may make the schema.
select coalesce((select pg_has_role(n.nspowner, 'member') from pg_namespace as n where n.nspname = 'stepwell'),
    has_database_privilege(current_database(), 'create'))
