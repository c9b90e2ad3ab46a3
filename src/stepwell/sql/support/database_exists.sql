-- One row when the server has a database of this name.
select d.datname from pg_database as d where d.datname = %s
