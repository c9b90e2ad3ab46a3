-- Caps of a tenant, and of a workflow inside it, which override them; rate limits beside the limits of concurrency keys.

alter table stepwell.tenant
    add column max_concurrency int,
    add column max_runs_per_min int,
    add column max_writes_per_run int,
    add constraint tenant_caps_are_not_negative
        check (max_concurrency >= 1 and max_runs_per_min >= 0 and max_writes_per_run >= 0);
comment on column stepwell.tenant.max_concurrency is 'Units being worked on at once; nothing: as many as there are workers.';
comment on column stepwell.tenant.max_runs_per_min is 'Runs started within any 60 seconds.';
comment on column stepwell.tenant.max_writes_per_run is 'Side effects of one run.';

alter table stepwell.workflow_registry
    add column max_concurrency int,
    add column max_runs_per_min int,
    add column max_writes_per_run int,
    add constraint workflow_caps_are_not_negative
        check (max_concurrency >= 1 and max_runs_per_min >= 0 and max_writes_per_run >= 0);

-- What a tenant with a cap has in hand: one row per lease, cleared by the next claim that looks.
create table stepwell.tenant_lease (
    tenant_id int not null,
    unit_id bigint not null,
    lease_no int not null,
    constraint tenant_lease_pkey primary key (tenant_id, unit_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

alter table stepwell.concurrency_slot
    add column rate_count int,
    add column rate_seconds double precision,
    add column rate_used_count int not null default 0,
    add constraint rate_is_whole check ((rate_count is null) = (rate_seconds is null)),
    add constraint rate_is_positive check (rate_count >= 1 and rate_seconds > 0),
    add constraint rate_used_count_is_not_negative check (rate_used_count >= 0);

-- Entries that a rate limit has granted, and when each may be granted again.
create table stepwell.rate_token (
    tenant_id int not null,
    token_id bigint generated always as identity,
    slot_key text not null,
    token_count int not null,
    back_at timestamptz not null,
    constraint rate_token_pkey primary key (tenant_id, token_id)
);
create index tokens_by_return on stepwell.rate_token (back_at);

-- Two more sentences of fn_why_not_running.
insert into stepwell.i18n_text (text_key, lang, text_value) values
('why.tenant_cap', 'en', '{name} can run, but its tenant has {limit} in hand already, which is its cap.'),
('why.tenant_cap', 'vi', '{name} có thể chạy, nhưng đơn vị của nó đã có {limit} việc đang chạy, đúng mức trần.'),
('why.rate', 'en', '{name} stands in line for {key}, at place {place}; {limit} may enter within {seconds} s, the next at {at}.'),
('why.rate', 'vi', '{name} đang xếp hàng cho {key}, vị trí {place}; {limit} việc được vào trong {seconds} giây, lượt tới lúc {at}.');
