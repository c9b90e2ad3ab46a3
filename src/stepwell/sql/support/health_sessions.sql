-- The sessions of the database that hold others up; one row.
select stepwell.fn_sessions_in_the_way();
