-- Content that steps show to people: units with immutable versions in Markdown, labels in both languages, bundles.

create table stepwell.information_unit (
    tenant_id int not null,
    iu_id bigint generated always as identity,
    iu_code text not null,
    is_bundle boolean not null default false,
    created_at timestamptz not null,
    created_by text not null,
    constraint information_unit_pkey primary key (tenant_id, iu_id),
    constraint iu_code_is_unique unique (tenant_id, iu_code),
    constraint iu_code_is_plain check (iu_code ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$')
);

create table stepwell.information_unit_label (
    tenant_id int not null,
    iu_id bigint not null,
    lang text not null,
    label text not null,
    constraint information_unit_label_pkey primary key (tenant_id, iu_id, lang),
    constraint labelled_unit_exists foreign key (tenant_id, iu_id) references stepwell.information_unit,
    constraint label_lang_is_vi_or_en check (lang in ('vi', 'en')),
    constraint label_has_a_length check (length(label) between 1 and 200)
);

create table stepwell.information_unit_version (
    tenant_id int not null,
    iu_id bigint not null,
    version_no int not null,
    body text not null,
    content_hash text not null,
    written_at timestamptz not null,
    written_by text not null,
    note text,
    constraint information_unit_version_pkey primary key (tenant_id, iu_id, version_no),
    constraint version_unit_exists foreign key (tenant_id, iu_id) references stepwell.information_unit
);

-- A version of a bundle is a list of versions: what it holds does not change either.
create table stepwell.information_bundle_item (
    tenant_id int not null,
    iu_id bigint not null,
    version_no int not null,
    place int not null,
    item_iu_id bigint not null,
    item_version_no int not null,
    constraint information_bundle_item_pkey primary key (tenant_id, iu_id, version_no, place),
    constraint bundle_version_exists
        foreign key (tenant_id, iu_id, version_no) references stepwell.information_unit_version,
    constraint bundled_version_exists
        foreign key (tenant_id, item_iu_id, item_version_no) references stepwell.information_unit_version,
    constraint a_bundle_does_not_hold_itself check (item_iu_id <> iu_id)
);

-- What a step of a run shows: the version that was current when the run started.
create table stepwell.step_content_pin (
    tenant_id int not null,
    run_id bigint not null,
    step_no int not null,
    iu_id bigint not null,
    version_no int not null,
    pinned_at timestamptz not null,
    constraint step_content_pin_pkey primary key (tenant_id, run_id, step_no),
    constraint pinned_version_exists
        foreign key (tenant_id, iu_id, version_no) references stepwell.information_unit_version
);

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.content_bytes', '1048576', 'Largest body of a content unit'),
('limits.bundle_items', '500', 'Most units of one bundle');
