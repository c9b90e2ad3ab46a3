-- The lead of the keepers as a lease: it expires when its holder stops renewing it.

create table stepwell.keeper_lead (
    is_only boolean not null default true,
    fence bigint not null default 0,
    holder text,
    expires_at timestamptz not null default '-infinity',
    constraint keeper_lead_pkey primary key (is_only),
    constraint there_is_one_lead check (is_only)
);
comment on table stepwell.keeper_lead is 'Which keeper leads, until when, and under which number; the number grows each time the lead passes on.';
insert into stepwell.keeper_lead default values;
