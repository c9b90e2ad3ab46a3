-- The audit seal: the log in blocks, each with the root of its events and chained to the last; where the blocks were
-- anchored outside; and the evidence bundles of runs. docs/audit.md has the exact bytes of every hash.

-- One chain per tenant; this row is the lock of its sealing. The salt hides payloads in bundles that leave them out.
create table stepwell.audit_chain (
    tenant_id int not null,
    chain_id uuid not null,
    salt bytea not null,
    genesis_hash bytea not null,
    created_at timestamptz not null,
    block_count bigint not null default 0,
    head_hash bytea not null,
    history_peaks bytea[] not null default '{}',
    last_tx xid8 not null default '0',
    last_event_id bigint not null default 0,
    sealed_at timestamptz,
    constraint audit_chain_pkey primary key (tenant_id),
    constraint salt_has_32_bytes check (length(salt) = 32),
    constraint chain_hashes_have_32_bytes check (length(genesis_hash) = 32 and length(head_hash) = 32)
);

-- The header of a block: kept for ever, so that the chain can be followed after its events are archived.
create table stepwell.audit_block (
    tenant_id int not null,
    block_no bigint not null,
    first_tx xid8 not null,
    first_event_id bigint not null,
    last_tx xid8 not null,
    last_event_id bigint not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    event_count int not null,
    event_root bytea not null,
    stream_count int not null,
    stream_root bytea not null,
    history_root bytea not null,
    previous_hash bytea not null,
    sealed_at timestamptz not null,
    block_hash bytea not null,
    constraint audit_block_pkey primary key (tenant_id, block_no),
    constraint a_position_is_sealed_once unique (tenant_id, last_tx, last_event_id),
    constraint block_is_not_empty check (event_count >= 1 and stream_count between 1 and event_count),
    constraint block_positions_are_in_order check ((first_tx, first_event_id) <= (last_tx, last_event_id)),
    constraint block_hashes_have_32_bytes check (length(event_root) = 32 and length(stream_root) = 32
        and length(history_root) = 32 and length(previous_hash) = 32 and length(block_hash) = 32)
);

-- What each leaf of a block was: without it an alteration is found but not located. Goes when its events are archived.
create table stepwell.audit_leaves (
    tenant_id int not null,
    block_no bigint not null,
    leaf_hashes bytea not null,
    txs bigint[] not null,
    event_ids bigint[] not null,
    ats timestamptz[] not null,
    unit_ids bigint[] not null,
    event_types text[] not null,
    constraint audit_leaves_pkey primary key (tenant_id, block_no)
);
-- Hashes do not compress; trying costs time on every block.
alter table stepwell.audit_leaves alter column leaf_hashes set storage external;

-- Which streams a block has events of, and the block before that had some: proves that a bundle left nothing out.
create table stepwell.audit_block_stream (
    tenant_id int not null,
    stream_id bigint not null,
    block_no bigint not null,
    previous_block_no bigint not null,
    event_count int not null,
    entry_hash bytea not null,
    constraint audit_block_stream_pkey primary key (tenant_id, stream_id, block_no),
    constraint previous_block_is_earlier check (previous_block_no < block_no)
);
create index streams_by_block on stepwell.audit_block_stream (tenant_id, block_no, stream_id);

-- Months of the log that retention has dropped: their events are archived, not missing.
create table stepwell.audit_archived_month (
    month date not null,
    archived_at timestamptz not null,
    constraint audit_archived_month_pkey primary key (month)
);

-- How far each place outside has been told. The address is kept without its user, password and query.
create table stepwell.audit_anchor (
    tenant_id int not null,
    anchor text not null,
    last_block_no bigint not null default 0,
    anchored_at timestamptz,
    failed_at timestamptz,
    last_error text,
    constraint audit_anchor_pkey primary key (tenant_id, anchor),
    constraint anchor_has_a_length check (length(anchor) between 1 and 1000)
);

-- One row per content of a bundle: the same run gives the same bytes, so it is found again when exported again.
create table stepwell.evidence_bundle (
    tenant_id int not null,
    run_id bigint not null,
    contents_digest text not null,
    with_payloads boolean not null,
    requested_by text not null,
    requested_at timestamptz not null,
    event_tx xid8 not null,
    event_id bigint not null,
    bundle_sha256 text,
    size_bytes bigint,
    stored_at timestamptz,
    stored_url text,
    constraint evidence_bundle_pkey primary key (tenant_id, run_id, contents_digest),
    constraint digests_are_sha256
        check (contents_digest ~ '^[0-9a-f]{64}$' and (bundle_sha256 is null or bundle_sha256 ~ '^[0-9a-f]{64}$')),
    constraint a_stored_bundle_has_its_sha256
        check ((stored_at is null) = (bundle_sha256 is null) and (stored_at is null) = (size_bytes is null))
);
create index bundles_by_sha256 on stepwell.evidence_bundle (tenant_id, bundle_sha256) where bundle_sha256 is not null;

insert into stepwell.dot_config (config_key, config_value, description) values
('audit.seal_interval_seconds', '60', 'So often the keeper seals what is new in the log; 0 seals nothing by itself'),
('audit.block_events', '10000', 'Most events of one block'),
('limits.evidence_events', '100000', 'Most events of one evidence bundle');

insert into stepwell.event_type_registry (event_type, description) values
('evidence.sealed', 'The contents of an evidence bundle of the run were bound to the log');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('evidence.sealed', 'digest', 'string', true, 'SHA-256 over the list of files of the bundle'),
('evidence.sealed', 'with_payloads', 'boolean', true, 'True when the bundle holds the values, not only metadata');
