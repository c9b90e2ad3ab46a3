-- Labels by which people find runs, saved views of lists, and drawings of graphs.

create table stepwell.run_label (
    tenant_id int not null,
    run_id bigint not null,
    label_key text not null,
    label_value text not null,
    constraint run_label_pkey primary key (tenant_id, run_id, label_key),
    constraint label_key_is_a_name check (label_key ~ '^[a-z][a-z0-9_.-]{0,62}$'),
    constraint label_value_is_one_short_line check (length(label_value) between 1 and 200 and label_value !~ '[[:cntrl:]]')
);
comment on table stepwell.run_label is 'What people call a run by: customer, order and so on. A run without labels has no row.';
create index runs_by_label on stepwell.run_label (tenant_id, label_key, label_value, run_id);

create table stepwell.saved_view (
    tenant_id int not null,
    view_id bigint generated always as identity,
    page text not null,
    view_name text not null,
    name_key text not null,
    filter jsonb not null,
    columns text[] not null,
    owner_id bigint not null,
    is_shared boolean not null,
    changed_at timestamptz not null,
    constraint saved_view_pkey primary key (tenant_id, view_id),
    constraint view_owner_exists foreign key (tenant_id, owner_id) references stepwell.principal on delete cascade,
    constraint view_page_is_a_name check (page ~ '^[a-z][a-z_]{0,39}$'),
    constraint view_filter_is_an_object check (jsonb_typeof(filter) = 'object')
);
comment on table stepwell.saved_view is 'A filter of a list with a name: of one person, or shared with the tenant.';
create unique index view_names_are_unique on stepwell.saved_view (tenant_id, owner_id, page, name_key);
create index views_shared on stepwell.saved_view (tenant_id, page) where is_shared;

create table stepwell.graph_layout (
    tenant_id int not null,
    layout_hash text not null,
    graph_hash text not null,
    lanes_by text not null,
    layout_version int not null,
    drawing jsonb not null,
    drawn_at timestamptz not null,
    constraint graph_layout_pkey primary key (tenant_id, layout_hash),
    constraint layout_hash_is_sha256 check (layout_hash ~ '^[0-9a-f]{64}$'),
    constraint graph_is_drawn_once unique (tenant_id, graph_hash, lanes_by, layout_version)
);
comment on table stepwell.graph_layout is 'Where each step of a graph is drawn: computed once for each graph, kind of lanes and release of the layout.';

insert into stepwell.verb (verb, description) values
('run.label', 'Change the labels of runs'),
('view.share', 'Share saved views with everybody');
insert into stepwell.permission (tenant_id, role_name, verb) values
(0, 'reviewer', 'run.label'),
(0, 'operator', 'run.label'),
(0, 'admin', 'run.label'),
(0, 'reviewer', 'view.share'),
(0, 'operator', 'view.share'),
(0, 'admin', 'view.share');

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.labels_per_run', '16', 'A run carries so many labels at most'),
('limits.views_per_person', '100', 'A person saves so many views at most'),
('limits.view_bytes', '16384', 'Filter and columns of a saved view have so many bytes at most'),
('limits.events_behind', '20000', 'A stream that is further behind begins again with a snapshot');

insert into stepwell.event_type_registry (event_type, description) values
('workflow.labelled', 'Labels of the run were set or removed'),
('view.saved', 'A view that is shared was saved or changed'),
('view.deleted', 'A view that is shared was deleted');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('workflow.labelled', 'set', 'object', true, 'The labels that have a new value'),
('workflow.labelled', 'removed', 'array', true, 'The labels that are gone'),
('view.saved', 'view_id', 'number', true, 'The number of the view'),
('view.saved', 'name', 'string', true, 'Its name'),
('view.saved', 'page', 'string', true, 'The list that it filters'),
('view.deleted', 'view_id', 'number', true, 'The number of the view'),
('view.deleted', 'name', 'string', true, 'Its name'),
('view.deleted', 'page', 'string', true, 'The list that it filtered');
