-- Approvals in Slack: whose account is whose, which message shows which approval, which callbacks have been seen.

create table stepwell.slack_user (
    tenant_id int not null,
    slack_user_id text not null,
    person_id bigint not null,
    mapped_at timestamptz not null,
    mapped_by text not null,
    constraint slack_user_pkey primary key (tenant_id, slack_user_id),
    constraint a_person_has_one_slack_user unique (tenant_id, person_id),
    constraint slack_person_exists foreign key (tenant_id, person_id) references stepwell.person,
    constraint slack_user_id_is_plain check (slack_user_id ~ '^[UW][A-Z0-9]{1,30}$')
);

-- The message that shows an approval. `face` is what it shows now; it is behind while the approval's own differs.
create table stepwell.slack_card (
    tenant_id int not null,
    approval_id bigint not null,
    channel text not null,
    message_ts text,
    face text,
    is_final boolean not null default false,
    try_count int not null default 0,
    next_try_at timestamptz not null,
    last_error text,
    created_at timestamptz not null,
    noted_at timestamptz,
    constraint slack_card_pkey primary key (tenant_id, approval_id),
    constraint card_approval_exists
        foreign key (tenant_id, approval_id) references stepwell.approval_detail on delete cascade,
    constraint card_channel_is_plain check (channel ~ '^[A-Z][A-Z0-9]{1,30}$'),
    constraint card_error_is_bounded check (length(last_error) <= 2000)
);
create index slack_cards_open on stepwell.slack_card (tenant_id, approval_id) where not is_final;

-- Signatures of the callbacks of the last minutes: the same one again is a replay.
create table stepwell.slack_callback (
    tenant_id int not null,
    signature text not null,
    seen_at timestamptz not null,
    constraint slack_callback_pkey primary key (tenant_id, signature),
    constraint signature_has_a_length check (length(signature) between 1 and 200)
);
create index slack_callbacks_by_age on stepwell.slack_callback (tenant_id, seen_at);

insert into stepwell.dot_config (config_key, config_value, description) values
('slack.callback_seconds', '300', 'A callback of Slack older or newer than this is refused'),
('slack.card_retry_seconds', '600', 'Longest pause between two attempts to show an approval in Slack');
