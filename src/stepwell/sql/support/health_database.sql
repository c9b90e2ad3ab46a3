-- What the health page shows of the server. Each figure is cheap: no table of ours is read.
select
    current_setting('server_version'),
    pg_postmaster_start_time(),
    pg_database_size(current_database()),
    (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    current_setting('max_connections')::int;
