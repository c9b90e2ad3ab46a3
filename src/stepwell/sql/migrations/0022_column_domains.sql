-- What a single column may hold is said by its type. Postgres reads the constraints of a table anew for each statement that
-- changes a row of it; a domain is looked at only where a value is written, and its constraint is kept prepared.

-- Views hold on to the types of their columns; they are made again with the routines.
do $$
declare
    v_view text;
begin
    for v_view in select unnest(r.view_names) from stepwell.schema_routine as r loop
        execute format('drop view if exists %s cascade', v_view);
    end loop;
end
$$;

alter table stepwell.work_unit
    drop constraint pending_count_is_not_negative,
    drop constraint a_class_is_lent_by_a_colour;

alter table stepwell.run_progress
    drop constraint open_count_is_not_negative,
    drop constraint rollup_is_a_colour;

create domain stepwell.pending_count as int constraint pending_count_is_not_negative check (value >= 0);
create domain stepwell.open_count as int constraint open_count_is_not_negative check (value >= 0);
create domain stepwell.rollup_colour as text
    constraint rollup_is_a_colour check (value = any ('{gray,green,yellow,red}'::text[]));
create domain stepwell.lent_class as text
    constraint a_class_is_lent_by_a_colour check (value = any ('{red,wait,active}'::text[]));

alter table stepwell.work_unit
    alter column pending_count type stepwell.pending_count,
    alter column lent_class type stepwell.lent_class;

alter table stepwell.run_progress
    alter column open_count type stepwell.open_count,
    alter column rollup_state_code type stepwell.rollup_colour;
