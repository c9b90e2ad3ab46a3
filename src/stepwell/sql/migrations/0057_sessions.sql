-- How somebody signs in: passwords, links that work once, sessions, and how often somebody may try. The HTTP server adds
-- only HTTP to it.

alter table stepwell.credential
    add column purpose text,
    add column created_by text not null default 'owner',
    add constraint a_link_has_a_purpose check ((kind = 'link') = (purpose is not null)),
    add constraint link_purpose_is_known check (purpose in ('first_administrator', 'password_reset'));
create index credentials_by_principal on stepwell.credential (tenant_id, principal_id);
create unique index link_is_stored_once on stepwell.credential (secret_hash) where kind = 'link';

alter table stepwell.access_token
    add column last_seen_at timestamptz,
    add column idle_seconds int,
    add column address text,
    add column user_agent text;
update stepwell.access_token set kind = 'api' where kind = 'session';
alter table stepwell.access_token
    add constraint a_session_ends_when_it_is_idle check (
        (kind = 'session') = (last_seen_at is not null) and (kind = 'session') = (idle_seconds is not null)),
    add constraint user_agent_has_a_length check (length(user_agent) <= 400),
    add constraint session_address_has_a_length check (length(address) <= 100);

-- Wrong passwords, counted for a name at an address, and for an address as a whole (tenant 0, empty name). Nothing is counted
-- for a name alone, so that nobody elsewhere can lock its owner out.
create table stepwell.sign_in_throttle (
    tenant_id int not null,
    name_key text not null,
    address text not null,
    failure_count int not null default 0,
    failed_at timestamptz,
    blocked_until timestamptz,
    signed_in_at timestamptz,
    constraint sign_in_throttle_pkey primary key (tenant_id, name_key, address),
    constraint only_an_address_has_no_name check ((tenant_id = 0) = (name_key = ''))
);
create index throttles_by_age on stepwell.sign_in_throttle (failed_at);

alter table stepwell.principal
    drop constraint engine_and_operators_have_no_tenant,
    add constraint engine_and_operators_have_no_tenant check (
        case when tenant_id = 0 then kind in ('service', 'operator', 'engine', 'worker') else kind not in ('operator', 'engine') end);
insert into stepwell.principal (tenant_id, kind, principal_name, created_at) values
(0, 'engine', 'keeper', clock_timestamp()),
(0, 'worker', 'worker', clock_timestamp());

insert into stepwell.dot_config (config_key, config_value, description) values
('session.idle_seconds', '28800', 'A session that nobody uses for so long ends'),
('session.seconds', '604800', 'A session ends so long after it was opened, however it is used'),
('session.seen_seconds', '60', 'So exactly it is stored when a session was used last'),
('sign_in.failures_of_a_name', '5', 'So many wrong passwords for one name from one address are accepted before a pause'),
('sign_in.failures_of_an_address', '50', 'So many wrong passwords from one address are accepted before a pause'),
('sign_in.window_seconds', '900', 'Wrong passwords are forgotten when there was none for so long'),
('sign_in.pause_seconds', '30', 'The first pause; each further wrong password doubles it'),
('sign_in.pause_seconds_most', '900', 'The longest pause'),
('sign_in.known_seconds', '2592000', 'Who signed in from an address within so many seconds is not paused by others at this address'),
('sign_in.argon2id', '"$argon2id$v=19$m=65536,t=3,p=4"', 'Parameters of new passwords, as the beginning of their hash'),
('limits.link_seconds', '604800', 'A link that works once expires after so many seconds at the latest');

insert into stepwell.event_type_registry (event_type, description) values
('session.opened', 'Somebody signed in'),
('session.refused', 'Somebody tried to sign in and was refused'),
('session.ended', 'A session ended before its time'),
('credential.changed', 'A password was set'),
('link.created', 'A link that works once was made'),
('link.used', 'A link that works once was used');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('session.opened', 'token_id', 'number', true, 'The number of the session'),
('session.opened', 'name', 'string', true, 'Who signed in'),
('session.opened', 'address', 'string', false, 'From where'),
('session.refused', 'name', 'string', true, 'The name that was given, at most 200 characters'),
('session.refused', 'address', 'string', false, 'From where'),
('session.refused', 'paused_until', 'string', false, 'Until when this name from this address is refused, RFC 3339'),
('session.ended', 'token_id', 'number', true, 'The number of the session'),
('session.ended', 'name', 'string', true, 'Whose session it was'),
('credential.changed', 'name', 'string', true, 'Whose password it is'),
('link.created', 'name', 'string', true, 'For whom'),
('link.created', 'purpose', 'string', true, 'first_administrator or password_reset'),
('link.created', 'expires_at', 'string', true, 'Until when it can be used, RFC 3339'),
('link.used', 'name', 'string', true, 'By whom'),
('link.used', 'purpose', 'string', true, 'first_administrator or password_reset');
