-- For whom Stepwell created this database; no row when somebody else created it. Settings of the database are read from the
-- catalog, because an address may carry settings of a session.
select substr(c.setting, length('stepwell.created_for=') + 1)
from pg_db_role_setting as s
inner join pg_database as d on s.setdatabase = d.oid
cross join unnest(s.setconfig) as c (setting)
where d.datname = current_database() and s.setrole = 0 and c.setting like 'stepwell.created_for=%'
