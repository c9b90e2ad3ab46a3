-- The migrations that were applied to this database.
select m.migration_no, m.name, m.sha256 from stepwell.schema_migration as m order by m.migration_no
