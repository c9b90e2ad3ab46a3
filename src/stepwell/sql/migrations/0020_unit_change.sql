-- What a change of a unit leaves to do beside the change: a slot to pass on, a place in the queue, a map to count.

create type stepwell.unit_change as (
    tenant_id int,
    unit_id bigint,
    has_slot boolean,
    class_id int,
    rank int,
    map_id bigint,
    open_count int
);

comment on type stepwell.unit_change is 'A unit that changed and has to be queued (class_id), counted by a map (map_id) or whose slot moves on.';

-- The same values as before. Written as one array a constraint is stored in little more than half the text, which each
-- statement that changes a row of these tables reads anew.
alter table stepwell.run_progress
    drop constraint rollup_is_a_colour,
    add constraint rollup_is_a_colour check (rollup_state_code = any ('{gray,green,yellow,red}'::text[]));

alter table stepwell.work_unit
    drop constraint a_class_is_lent_by_a_colour,
    add constraint a_class_is_lent_by_a_colour check (lent_class = any ('{red,wait,active}'::text[]));
