-- Remember the routines that are in force now.
insert into stepwell.schema_routine (sha256, function_names, view_names) values (%s, %s, %s)
on conflict (only_row) do update
set sha256 = excluded.sha256, function_names = excluded.function_names, view_names = excluded.view_names,
    applied_at = excluded.applied_at
