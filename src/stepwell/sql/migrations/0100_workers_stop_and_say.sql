-- Workers and executor classes that must not claim, good heartbeats, and sentences about them with their evidence.

alter table stepwell.worker_session add column claim_class_ids int[];
alter table stepwell.worker_session add column last_ok_at timestamptz;
alter table stepwell.worker_session add column held_count int not null default 0;
update stepwell.worker_session set claim_class_ids = executor_class_ids, last_ok_at = last_tick_at;
alter table stepwell.worker_session alter column claim_class_ids set not null;
alter table stepwell.worker_session add constraint a_session_claims_what_it_serves check (claim_class_ids <@ executor_class_ids);
alter table stepwell.worker_session add constraint nothing_is_held_below_zero check (held_count >= 0);
comment on column stepwell.worker_session.claim_class_ids is 'The executor classes of which it may claim now: those that it serves, without what is frozen; none while it drains.';
comment on column stepwell.worker_session.last_ok_at is 'Its last good heartbeat; null before the first one. To register is none.';
comment on column stepwell.worker_session.held_count is 'How many leases it had at its last heartbeat.';

create table stepwell.worker_stop (
    stop_id bigint generated always as identity,
    stop_kind text not null,
    worker_name text,
    executor_class_id int,
    reason text not null,
    stopped_by text not null,
    stopped_at timestamptz not null,
    constraint worker_stop_pkey primary key (stop_id),
    constraint stop_kind_is_known check (stop_kind in ('frozen', 'drain')),
    constraint a_worker_or_a_class_stops check ((worker_name is null) <> (executor_class_id is null)),
    constraint only_a_worker_drains check (stop_kind = 'frozen' or worker_name is not null),
    constraint stopped_class_exists foreign key (executor_class_id) references stepwell.executor_class
);
comment on table stepwell.worker_stop is 'Workers and executor classes that must not claim until somebody ends it. A worker is known by its name, which stays when it opens another session.';
create unique index a_worker_stops_once on stepwell.worker_stop (worker_name, stop_kind) where worker_name is not null;
create unique index a_class_stops_once on stepwell.worker_stop (executor_class_id) where executor_class_id is not null;

create table stepwell.governance_summary (
    tenant_id int not null,
    summary_id bigint generated always as identity,
    subject_kind text not null,
    subject text not null,
    category_code text not null,
    colour text not null,
    sentence_en text not null,
    sentence_vi text not null,
    source_event_count int not null,
    source_event_total int not null,
    source_event_refs text[] not null,
    window_start_at timestamptz not null,
    window_end_at timestamptz not null,
    summarizer_kind text not null,
    summarizer_ref text not null,
    summarizer_version text not null,
    confidence real,
    written_by text not null,
    written_at timestamptz not null,
    constraint governance_summary_pkey primary key (tenant_id, summary_id),
    constraint each_summarizer_says_one_sentence unique (tenant_id, subject_kind, subject, summarizer_kind, summarizer_ref),
    constraint summary_subject_is_known check (subject_kind in ('worker', 'executor', 'problem')),
    constraint summary_colour_is_known check (colour in ('green', 'yellow', 'red')),
    constraint a_sentence_is_short check (length(sentence_en) between 1 and 500 and length(sentence_vi) between 1 and 500),
    constraint a_summary_has_source_events check (source_event_count >= 1),
    constraint refs_are_some_and_few check (cardinality(source_event_refs) between 1 and 100),
    constraint refs_are_of_counted_events check (cardinality(source_event_refs) <= source_event_count),
    constraint the_total_has_all check (source_event_total >= source_event_count),
    constraint a_window_ends_after_it_begins check (window_start_at <= window_end_at),
    constraint summarizer_kind_is_known check (summarizer_kind in ('sql_fn', 'ai_agent', 'deterministic_rule')),
    constraint confidence_is_a_share check (confidence between 0 and 1),
    constraint an_agent_says_how_sure_it_is check (summarizer_kind <> 'ai_agent' or confidence is not null)
);
comment on table stepwell.governance_summary is 'One sentence about a worker, an executor class or a problem, with the events it was made from. It resolves nothing.';
comment on column stepwell.governance_summary.subject is 'The number of the worker session, the name of the executor class, the number of the problem.';
comment on column stepwell.governance_summary.source_event_refs is 'event:RUN:EVENT or heartbeat:SESSION; the first 100 of those that were counted.';
create index summaries_by_time on stepwell.governance_summary (tenant_id, written_at);

insert into stepwell.governance_watch (watch_name) values ('summary');

insert into stepwell.verb (verb, description) values
('worker.stop', 'Freeze workers and executors, let workers drain'),
('summary.write', 'Write summaries with the events they were made from');
insert into stepwell.permission (tenant_id, role_name, verb) values
(0, 'operator', 'worker.stop'),
(0, 'admin', 'worker.stop'),
(0, 'operator', 'summary.write'),
(0, 'admin', 'summary.write');

insert into stepwell.event_type_registry (event_type, description) values
('worker.frozen', 'A worker or an executor must not claim until it is unfrozen'),
('worker.unfrozen', 'A frozen worker or executor may claim again'),
('worker.drain_asked', 'A worker finishes what it has and claims no more'),
('worker.drain_ended', 'A worker that drained may claim again'),
('summary.resolves', 'A summary says that an open problem is over; without the event that resolved it, it is refused');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select t.event_type, f.field_name, 'string', true, f.description
from (values ('worker.frozen'), ('worker.unfrozen'), ('worker.drain_asked'), ('worker.drain_ended')) as t (event_type)
cross join (values
    ('what', 'worker or executor'), ('name', 'The name of the worker or of the executor'), ('reason', 'Why, in words')
) as f (field_name, description);
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('summary.resolves', 'problem_id', 'number', true, 'The number of the open problem'),
('summary.resolves', 'resolved_event_id', 'number', true, 'The event that resolved it'),
('summary.resolves', 'summarizer', 'string', true, 'Who said so');

insert into stepwell.dot_config (config_key, config_value, description) values
('summary.window_seconds', '300', 'Sentences about workers are made from the events of so many seconds'),
('summary.events', '5000', 'Most events of a tenant that its sentences about workers are made from; a shorter window has them'),
('limits.worker_stops', '1000', 'So many workers and executors are frozen or drain at most'),
('limits.summaries_per_tenant', '10000', 'A tenant has so many sentences at most'),
('retention.summary_days', '7', 'So long a sentence is kept that is not written again');

insert into stepwell.i18n_text (text_key, lang, text_value)
select t.text_key, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('summary.worker.ok', 'Ổn', 'OK'),
    ('summary.worker.errors', 'Có lỗi', 'Errors'),
    ('summary.worker.silent', 'Im lặng {silence} giây', 'Silent for {silence} s'),
    ('summary.worker.watched', 'Có worker im lặng', 'A worker was silent'),
    ('summary.worker.frozen', 'Bị đóng băng', 'Frozen'),
    ('summary.worker.draining', 'Đang làm nốt', 'Draining'),
    ('summary.worker.drained', 'Đã làm xong phần còn lại', 'Drained'),
    ('summary.worker.closed', 'Đã dừng', 'Stopped'),
    ('summary.worker.busy', '{status}, {jobs} việc / {errors} lỗi / trễ {lag} giây p95', '{status}, {jobs} jobs / {errors} errors / lag {lag} s p95'),
    ('summary.worker.ended', '{status}, {jobs} việc / {errors} lỗi', '{status}, {jobs} jobs / {errors} errors'),
    ('summary.worker.idle', '{status}, không có việc trong {minutes} phút', '{status}, no jobs in {minutes} min')
) as t (text_key, vi, en)
cross join (values ('vi'), ('en')) as l (lang);
