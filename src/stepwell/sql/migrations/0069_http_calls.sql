-- Calls over HTTP: answers that are kept for repeats, refused calls in the log, links that sign in, limits of a call.

create table stepwell.http_answer (
    tenant_id int not null,
    principal_id bigint not null,
    idempotency_key text not null,
    request_digest bytea not null,
    made_at timestamptz not null,
    status int,
    position text,
    answer text,
    constraint http_answer_pkey primary key (tenant_id, principal_id, idempotency_key),
    constraint answer_principal_exists foreign key (tenant_id, principal_id) references stepwell.principal on delete cascade,
    constraint idempotency_key_has_a_length check (length(idempotency_key) between 1 and 200),
    constraint request_digest_is_sha256 check (length(request_digest) = 32)
);
comment on table stepwell.http_answer is 'The answer to a write with an Idempotency-Key; a repeat gets the same one. It is written in the transaction of the write.';
create index http_answers_by_age on stepwell.http_answer (made_at);

alter table stepwell.credential
    drop constraint link_purpose_is_known,
    add constraint link_purpose_is_known check (purpose in ('first_administrator', 'password_reset', 'sign_in'));

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.request_milliseconds', '30000', 'A statement of one HTTP request ends after so long'),
('limits.request_lock_milliseconds', '5000', 'One HTTP request waits for a lock so long'),
('limits.http_answer_bytes', '4194304', 'An answer that is larger is not kept for repeats'),
('retention.http_answer_hours', '24', 'So long the answer to a write with an Idempotency-Key is kept');

insert into stepwell.verb (verb, description) values
('metrics.read', 'See the figures for monitoring');
insert into stepwell.permission (tenant_id, role_name, verb) values
(0, 'operator', 'metrics.read'),
(0, 'admin', 'metrics.read');

insert into stepwell.event_type_registry (event_type, description) values
('call.refused', 'Somebody made a call that their rights do not allow');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('call.refused', 'name', 'string', true, 'Who made the call'),
('call.refused', 'token_id', 'number', true, 'The token or session of the call'),
('call.refused', 'call', 'string', true, 'Method and path of the call'),
('call.refused', 'reason', 'string', true, 'Why it was refused'),
('call.refused', 'count', 'number', true, 'How many calls this event stands for');
