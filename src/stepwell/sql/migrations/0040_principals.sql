-- Who acts: principals, how they prove who they are, and what their roles may do. A person is a principal; the views
-- person and person_role show the people among the principals.

alter table stepwell.person rename to principal;
alter table stepwell.principal rename column person_id to principal_id;
alter table stepwell.principal rename column person_name to principal_name;
alter table stepwell.principal rename constraint person_pkey to principal_pkey;
alter table stepwell.principal rename constraint person_name_is_unique to principal_name_is_unique;
alter table stepwell.principal rename constraint person_name_has_a_length to principal_name_has_a_length;
alter sequence stepwell.person_person_id_seq rename to principal_principal_id_seq;
alter table stepwell.principal
    add column kind text not null default 'person',
    add constraint principal_kind_is_known check (kind in ('person', 'service', 'agent', 'worker', 'operator', 'engine')),
    add constraint engine_and_operators_have_no_tenant check ((tenant_id = 0) = (kind in ('operator', 'engine')));
comment on table stepwell.principal is 'Whoever acts: people, services, agents and workers of a tenant; in tenant 0, for the whole database, the engine and operators.';
insert into stepwell.principal (tenant_id, principal_name, kind, created_at) values (0, 'engine', 'engine', clock_timestamp());

alter table stepwell.person_role rename to principal_role;
alter table stepwell.principal_role rename column person_id to principal_id;
alter table stepwell.principal_role rename constraint person_role_pkey to principal_role_pkey;
alter table stepwell.principal_role rename constraint role_person_exists to role_principal_exists;
alter index stepwell.people_by_role rename to principals_by_role;

-- The key of the stamps that bind a transaction. Only the owner of the schema can read it.
create table stepwell.binding_key (
    secret bytea not null,
    only_one boolean not null default true,
    constraint binding_key_pkey primary key (only_one),
    constraint binding_key_has_one_row check (only_one),
    constraint secret_is_long_enough check (length(secret) >= 32)
);
insert into stepwell.binding_key (secret)
select sha256(string_agg(uuid_send(gen_random_uuid()), ''::bytea)) from generate_series(1, 4);

-- What proves who somebody is when they sign in: a password, or a link that works once.
create table stepwell.credential (
    tenant_id int not null,
    credential_id bigint generated always as identity,
    principal_id bigint not null,
    kind text not null,
    secret_hash text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    used_at timestamptz,
    constraint credential_pkey primary key (tenant_id, credential_id),
    constraint credential_principal_exists foreign key (tenant_id, principal_id) references stepwell.principal,
    constraint credential_kind_is_known check (kind in ('password', 'link')),
    constraint a_password_is_hashed_with_argon2id check (kind <> 'password' or secret_hash like '$argon2id$%'),
    constraint a_link_is_hashed_and_expires check (kind <> 'link' or (secret_hash ~ '^[0-9a-f]{64}$' and expires_at is not null))
);
create unique index a_principal_has_one_password on stepwell.credential (tenant_id, principal_id) where kind = 'password';

-- What proves it afterwards: the session of somebody who signed in, or a token of a program. Only the hash is stored.
create table stepwell.access_token (
    tenant_id int not null,
    token_id bigint generated always as identity,
    principal_id bigint not null,
    kind text not null,
    label text not null,
    token_hash bytea not null,
    verbs text[],
    created_at timestamptz not null,
    created_by text not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    revoked_by text,
    constraint access_token_pkey primary key (tenant_id, token_id),
    constraint token_principal_exists foreign key (tenant_id, principal_id) references stepwell.principal,
    constraint token_kind_is_known check (kind in ('session', 'api')),
    constraint token_is_stored_once unique (token_hash),
    constraint token_hash_is_sha256 check (length(token_hash) = 32),
    constraint token_label_has_a_length check (length(label) between 1 and 200),
    constraint a_revoked_token_names_who check ((revoked_at is null) = (revoked_by is null))
);
comment on column stepwell.access_token.verbs is 'The token allows only these verbs of its principal; nothing: all of them.';
create index tokens_by_principal on stepwell.access_token (tenant_id, principal_id);

-- What somebody may do. The functions that are granted to the API each belong to one verb.
create table stepwell.verb (
    verb text not null,
    description text not null,
    constraint verb_pkey primary key (verb)
);
create table stepwell.permission (
    tenant_id int not null,
    role_name text not null,
    verb text not null,
    constraint permission_pkey primary key (tenant_id, role_name, verb),
    constraint permission_verb_exists foreign key (verb) references stepwell.verb
);
comment on table stepwell.permission is 'Role × verb. Rows of tenant 0 hold in every tenant. Every principal has the role everybody.';
insert into stepwell.verb (verb, description) values
('read', 'See runs, steps, jobs and the log, without payloads'),
('payload.read', 'See inputs, outputs and the payloads of events'),
('run.start', 'Start runs and jobs, send events to runs'),
('run.cancel', 'Cancel runs, steps and jobs'),
('run.pause', 'Pause runs and resume them'),
('run.retry', 'Retry runs, steps and jobs'),
('step.work', 'Do the work of people: claim, complete, wait, block'),
('step.oversee', 'Look after the work of others: assign, move deadlines, reopen; change a state by the registry'),
('approval.request', 'Ask for an approval, withdraw a request'),
('approval.decide', 'Decide approvals'),
('workflow.publish', 'Publish workflows, operations and content, set schedules and caps'),
('policy.change', 'Propose policies and redaction rules'),
('principal.change', 'Add people and services, change their roles and calendars'),
('token.change', 'Make and revoke tokens of others'),
('evidence.seal', 'Seal evidence of runs'),
('problem.close', 'Close problems, settle receipts');
insert into stepwell.permission (tenant_id, role_name, verb)
select 0, r.role_name, v.verb
from (values
    ('everybody', '{read,payload.read,run.start,step.work,approval.request,approval.decide}'::text[]),
    ('reviewer', '{run.cancel,run.pause,run.retry,step.oversee,evidence.seal}'),
    ('operator', '{run.cancel,run.pause,run.retry,step.oversee,workflow.publish,problem.close,evidence.seal}'),
    ('publisher', '{workflow.publish}'),
    ('admin', (select array_agg(a.verb) from stepwell.verb as a))
) as r (role_name, verbs)
cross join lateral unnest(r.verbs) as v (verb);

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.token_seconds', '31622400', 'A token expires after so many seconds at the latest'),
('limits.tokens_per_principal', '100', 'Most tokens of one principal that are neither expired nor revoked');

insert into stepwell.event_type_registry (event_type, description) values
('principal.changed', 'A person, service or agent was added, or its roles changed'),
('token.created', 'A token was made'),
('token.revoked', 'A token was revoked');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('principal.changed', 'name', 'string', true, 'The name of the principal'),
('principal.changed', 'kind', 'string', true, 'person, service or agent'),
('principal.changed', 'is_active', 'boolean', true, 'Whether it may act'),
('principal.changed', 'roles', 'array', true, 'Its roles after the change'),
('token.created', 'token_id', 'number', true, 'The number of the token'),
('token.created', 'name', 'string', true, 'Whose token it is'),
('token.created', 'label', 'string', true, 'What it is for'),
('token.created', 'expires_at', 'string', true, 'Until when it is valid, RFC 3339'),
('token.created', 'verbs', 'array', false, 'What it is narrowed to'),
('token.revoked', 'token_id', 'number', true, 'The number of the token'),
('token.revoked', 'name', 'string', true, 'Whose token it was');
