-- What is wrong is counted by category and listed (vw_governance_*), and the events of a trace are found (fn_events_trace).

insert into stepwell.governance_category (category_code, severity, ui_label_i18n_key, remedy_i18n_key) values
('dead_letter', 'red', 'problem.category.dead_letter', 'problem.remedy.dead_letter'),
('silent_worker', 'red', 'problem.category.silent_worker', 'problem.remedy.silent_worker'),
('overdue_step', 'yellow', 'problem.category.overdue_step', 'problem.remedy.overdue_step'),
('schema_violation', 'yellow', 'problem.category.schema_violation', 'problem.remedy.schema_violation'),
('event_lag', 'yellow', 'problem.category.event_lag', 'problem.remedy.event_lag'),
('integrity_warning', 'yellow', 'problem.category.integrity_warning', 'problem.remedy.integrity_warning');

insert into stepwell.i18n_text (text_key, lang, text_value) values
('problem.category.dead_letter', 'en', 'Dead letters'),
('problem.category.dead_letter', 'vi', 'Công việc đã chết'),
('problem.remedy.dead_letter', 'en', 'Read its failures, mend the cause, then retry it or let it go.'),
('problem.remedy.dead_letter', 'vi', 'Đọc các lần lỗi, khắc phục nguyên nhân, rồi chạy lại hoặc bỏ qua.'),
('problem.category.silent_worker', 'en', 'Silent workers'),
('problem.category.silent_worker', 'vi', 'Worker im lặng'),
('problem.remedy.silent_worker', 'en', 'See whether its process still lives, and start another one. Others take over what it held.'),
('problem.remedy.silent_worker', 'vi', 'Kiểm tra tiến trình còn sống không và khởi động worker khác. Việc nó giữ được chuyển cho worker khác.'),
('problem.category.overdue_step', 'en', 'Overdue steps'),
('problem.category.overdue_step', 'vi', 'Bước quá hạn'),
('problem.remedy.overdue_step', 'en', 'Ask whoever is in charge, assign it to somebody else, or change the deadline.'),
('problem.remedy.overdue_step', 'vi', 'Hỏi người phụ trách, giao cho người khác, hoặc đổi hạn.'),
('problem.category.schema_violation', 'en', 'Rejected events'),
('problem.category.schema_violation', 'vi', 'Sự kiện bị từ chối'),
('problem.remedy.schema_violation', 'en', 'Register the event type, or send what its schema says.'),
('problem.remedy.schema_violation', 'vi', 'Đăng ký loại sự kiện, hoặc gửi đúng theo lược đồ của nó.'),
('problem.category.event_lag', 'en', 'Readers behind the log'),
('problem.category.event_lag', 'vi', 'Bộ đọc bị trễ so với nhật ký'),
('problem.remedy.event_lag', 'en', 'See whether the reader still runs; it goes on from its position.'),
('problem.remedy.event_lag', 'vi', 'Kiểm tra bộ đọc còn chạy không; nó tiếp tục từ vị trí của mình.'),
('problem.category.integrity_warning', 'en', 'Integrity warnings'),
('problem.category.integrity_warning', 'vi', 'Cảnh báo toàn vẹn'),
('problem.remedy.integrity_warning', 'en', 'Compare the content with what it was made from.'),
('problem.remedy.integrity_warning', 'vi', 'So sánh nội dung với nguồn đã tạo ra nó.');

insert into stepwell.dot_config (config_key, config_value, description) values
('governance.window_hours', '168', 'So far back the counts of dead letters, rejected events and integrity warnings look');

-- A unit is in this index only when it missed its deadline; nothing else writes to it.
create index units_overdue on stepwell.work_unit (tenant_id, overdue_first_at) where overdue_first_at is not null;
create index rejects_by_time on stepwell.event_validation_audit (tenant_id, rejected_at);
create index warnings_by_time on stepwell.iu_lifecycle_log (tenant_id, written_at) where severity = 'warning' or axis_inconsistency;
create index runs_by_trace on stepwell.run_detail (tenant_id, trace_id) where trace_id is not null;
create index jobs_by_trace on stepwell.job_detail (tenant_id, trace_id) where trace_id is not null;
create index events_by_trace on stepwell.event_log (tenant_id, trace_id, event_id) where trace_id is not null;
