-- Sentences of fn_why_not_running for cases in which a value of the common sentence is missing: a wait without an end, a step
-- that anybody may claim, and a step that a person has begun and cannot continue now.

insert into stepwell.i18n_text (text_key, lang, text_value) values
('why.event.open', 'en', '{name} waits for the event {event_type}.'),
('why.event.open', 'vi', '{name} chờ sự kiện {event_type}.'),
('why.human.anyone', 'en', '{name} waits for a person; anybody can claim it.'),
('why.human.anyone', 'vi', '{name} chờ một người thực hiện; ai cũng có thể nhận.'),
('why.human.parked', 'en', '{person} has begun {name} and cannot continue now: {facet}.'),
('why.human.parked', 'vi', '{person} đã bắt đầu {name} nhưng chưa thể tiếp tục: {facet}.');
