-- The faults of the next runs, and where the following ones begin; one row.
select stepwell.fn_integrity_look(%s, %s, %s);
