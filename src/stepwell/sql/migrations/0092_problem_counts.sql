-- Every problem is a row that an event opened; how many are open is counted when a row changes, so that nobody scans for it.

alter table stepwell.governance_problem add column title text;
comment on column stepwell.governance_problem.title is 'What people read as its subject: a step, a worker, a type of events, a reader.';
create index problems_open_by_time on stepwell.governance_problem (tenant_id, category_code, opened_at, problem_id)
where closed_at is null;
create index problems_by_subject on stepwell.governance_problem (tenant_id, category_code, subject, opened_at);
create index problems_closed on stepwell.governance_problem (tenant_id, category_code, closed_at) where closed_at is not null;

alter table stepwell.event_validation_audit add column last_at timestamptz;
comment on column stepwell.event_validation_audit.last_at is 'When the same reject came last; null when it came once.';

create table stepwell.governance_count (
    tenant_id int not null,
    category_code text not null,
    open_count int not null,
    constraint governance_count_pkey primary key (tenant_id, category_code),
    constraint nothing_is_counted_below_zero check (open_count >= 0)
);
comment on table stepwell.governance_count is 'Open problems of each tenant and category, kept by a trigger of governance_problem.';

create table stepwell.governance_trend (
    tenant_id int not null,
    category_code text not null,
    hour_at timestamptz not null,
    opened_count int not null default 0,
    closed_count int not null default 0,
    open_count int not null,
    constraint governance_trend_pkey primary key (tenant_id, category_code, hour_at)
);
comment on table stepwell.governance_trend is 'How many problems an hour opened and closed, and how many were open at its last change.';

create table stepwell.governance_watch (
    watch_name text not null,
    seen_at timestamptz,
    place bigint not null default 0,
    constraint governance_watch_pkey primary key (watch_name)
);
comment on table stepwell.governance_watch is 'How far the keeper has looked for problems.';
insert into stepwell.governance_watch (watch_name) values ('overdue_step'), ('schema_violation'), ('integrity_warning'), ('orphan_workflow');

insert into stepwell.governance_count (tenant_id, category_code, open_count)
select p.tenant_id, p.category_code, count(*) from stepwell.governance_problem as p where p.closed_at is null
group by p.tenant_id, p.category_code;

insert into stepwell.governance_category (category_code, severity, ui_label_i18n_key, remedy_i18n_key) values
('orphan_workflow', 'red', 'problem.category.orphan_workflow', 'problem.remedy.orphan_workflow');
insert into stepwell.i18n_text (text_key, lang, text_value) values
('problem.category.orphan_workflow', 'en', 'Orphan workflows'),
('problem.category.orphan_workflow', 'vi', 'Quy trình mồ côi'),
('problem.remedy.orphan_workflow', 'en', 'Nothing is left that could move this run. Retry its last step, or cancel the run.'),
('problem.remedy.orphan_workflow', 'vi', 'Không còn gì có thể đưa lượt chạy này tiếp tục. Thử lại bước cuối, hoặc hủy lượt chạy.');

-- What was counted as of a moment until now is a problem from now on; the keeper opens it when it looks first.
insert into stepwell.dot_config (config_key, config_value, description) values
('problem.orphan_runs', '20', 'So many open runs are asked in each look of the keeper whether anything can still move them'),
('retention.governance_trend_days', '30', 'So long the hours of the trend of problems are kept');
