-- How far a handler says it is: one row per unit, overwritten while the handler runs. No event, no history.

create table stepwell.unit_progress (
    tenant_id int not null,
    unit_id bigint not null,
    lease_no int not null,
    done float8 not null,
    total float8,
    note text,
    said_at timestamptz not null,
    constraint unit_progress_pkey primary key (tenant_id, unit_id),
    constraint done_is_a_number_from_zero check (done >= 0 and done < 'infinity'),
    constraint total_is_a_number_from_zero check (total >= 0 and total < 'infinity'),
    constraint note_is_short check (length(note) <= 200)
) with (fillfactor = 50);
comment on table stepwell.unit_progress is 'How far the handler of a unit said it is, last; of the attempt with this lease_no.';
