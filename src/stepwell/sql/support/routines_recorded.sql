-- The hash of the routines in force, and the names of what they made; no row before the first.
select r.sha256, r.view_names || r.function_names from stepwell.schema_routine as r
