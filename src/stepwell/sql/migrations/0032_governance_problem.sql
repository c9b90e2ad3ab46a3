-- What is wrong and needs somebody: problems, opened and closed only by events of the log.

create table stepwell.governance_category (
    category_code text not null,
    severity text not null,
    ui_label_i18n_key text not null,
    remedy_i18n_key text not null,
    constraint governance_category_pkey primary key (category_code),
    constraint severity_is_a_colour check (severity in ('yellow', 'red'))
);
comment on table stepwell.governance_category is 'Kinds of problems. A new kind is a row here.';

create table stepwell.governance_problem (
    tenant_id int not null,
    problem_id bigint generated always as identity,
    category_code text not null,
    duty text not null,
    subject text not null,
    unit_id bigint,
    reason text not null,
    error_code text,
    seen_count int not null default 1,
    opened_at timestamptz not null,
    last_seen_at timestamptz not null,
    retry_at timestamptz,
    opened_event_id bigint not null,
    closed_at timestamptz,
    closed_event_id bigint,
    closed_by text,
    constraint governance_problem_pkey primary key (tenant_id, problem_id),
    constraint category_exists foreign key (category_code) references stepwell.governance_category (category_code),
    constraint it_is_closed_by_an_event check (
        (closed_at is null) = (closed_event_id is null) and (closed_at is null) = (closed_by is null))
);
comment on table stepwell.governance_problem is 'Problems: open while closed_at is null. Each row is opened and closed by an event of the same transaction.';
comment on column stepwell.governance_problem.duty is 'What was being done when the problem was met: claim, report, timers, recovery, schedule, seal.';
comment on column stepwell.governance_problem.subject is 'What it is about: the number of a unit, the name of a schedule.';
comment on column stepwell.governance_problem.retry_at is 'What was set aside is not tried again before this time.';

create unique index problems_open_once on stepwell.governance_problem (tenant_id, category_code, duty, subject)
where closed_at is null;

insert into stepwell.governance_category (category_code, severity, ui_label_i18n_key, remedy_i18n_key) values
('set_aside', 'red', 'problem.category.set_aside', 'problem.remedy.set_aside');

insert into stepwell.event_type_registry (event_type, description) values
('problem.opened', 'Something is wrong and needs somebody'),
('problem.resolved', 'A problem is settled');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('problem.opened', 'category', 'string', true, 'A row of governance_category'),
('problem.opened', 'duty', 'string', true, 'What was being done when it was met'),
('problem.opened', 'subject', 'string', true, 'What it is about'),
('problem.opened', 'reason', 'string', true, 'What went wrong, in words'),
('problem.opened', 'error_code', 'string', false, 'The SQLSTATE of the error'),
('problem.resolved', 'problem_id', 'number', true, 'The problem that is settled'),
('problem.resolved', 'reason', 'string', true, 'What settled it, in words');

insert into stepwell.i18n_text (text_key, lang, text_value) values
('problem.category.set_aside', 'en', 'Set aside'),
('problem.category.set_aside', 'vi', 'Tạm gác lại'),
('problem.remedy.set_aside', 'en', 'Read the reason and mend its cause. It is tried again by itself; the problem closes when it goes on.'),
('problem.remedy.set_aside', 'vi', 'Đọc lý do và khắc phục nguyên nhân. Hệ thống tự thử lại; vấn đề đóng khi công việc đi tiếp.'),
('why.set_aside', 'en', '{name} was set aside until {until}: {reason}'),
('why.set_aside', 'vi', '{name} được tạm gác đến {until}: {reason}');

insert into stepwell.dot_config (config_key, config_value, description) values
('problem.retry_seconds', '30', 'So long the first retry of what was set aside waits; each further one waits twice as long'),
('problem.retry_max_seconds', '3600', 'So long a retry of what was set aside waits at most'),
('retention.governance_problem_days', '400', 'So long a closed problem is kept');
