-- A worker says which operations it was given and has no handler for: its claims leave them to others from then on.

alter table stepwell.worker_session add column unserved_ids int[];
comment on column stepwell.worker_session.unserved_ids is 'Operations that this worker has no handler for, as far as it has met them; null when it has met none.';

insert into stepwell.i18n_text (text_key, lang, text_value) values
('why.no_handler', 'en', '{name} can run, but no live worker serves operation {operation}.'),
('why.no_handler', 'vi', '{name} có thể chạy, nhưng không có worker nào phục vụ thao tác {operation}.');
