-- Remember that a migration was applied.
insert into stepwell.schema_migration (migration_no, name, sha256) values (%s, %s, %s)
