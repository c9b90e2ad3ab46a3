-- A demo: one row, written while the database is empty. Its people and runs are made up, and everybody must see that.

create table stepwell.demo (
    only_one boolean not null default true,
    tenant_id int not null,
    begun_at timestamptz not null,
    left_at timestamptz,
    left_by text,
    constraint demo_pkey primary key (only_one),
    constraint demo_has_one_row check (only_one),
    constraint demo_tenant_exists foreign key (tenant_id) references stepwell.tenant,
    constraint who_left_the_demo_is_named check ((left_at is null) = (left_by is null))
);
comment on table stepwell.demo is 'The database has the people and runs of the demo. left_at is set: nobody plays it any more. No row: no demo.';

insert into stepwell.event_type_registry (event_type, description) values
('demo.begun', 'The demo adds its people and runs to this database'),
('demo.left', 'The demo was turned off: its people and runs stay, nothing new comes');
