-- Cuts of content: a unit is split, several are merged, an earlier version is current again. Each is a request with a machine
-- of its own, so that one that failed is seen and can be tried again.

alter table stepwell.state_machine_def drop constraint scope_is_known;
alter table stepwell.state_machine_def add constraint scope_is_known
    check (scope in ('step', 'task', 'workflow_run', 'job', 'approval', 'proposal', 'receipt', 'cut_request'));
insert into stepwell.state_machine_def (state_machine_id, scope, version, active, description) values
('cut_request.1', 'cut_request', '1.0.0', true, 'A cut of content: asked for, carried out, failed, or given up');
insert into stepwell.state_def (
    state_machine_id, state_code, semantic_class, is_terminal, is_initial, ordinal,
    ui_color_token, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, ui_short_message_key
)
select
    'cut_request.1', s.state_code, s.semantic_class, s.state_code in ('completed', 'cancelled'), s.ordinal = 1, s.ordinal,
    'ui.traffic_light.' || s.colour, 'icon.' || s.icon, s.glyph,
    'cut_request.' || s.state_code || '.label', 'cut_request.' || s.state_code || '.short'
from (values
    (1, 'requested', 'idle', 'gray', 'circle_hollow', '○'),
    (2, 'in_progress', 'active', 'green', 'play_filled', '►'),
    (3, 'completed', 'active', 'green_deep', 'check_filled', '✓'),
    (4, 'failed', 'red', 'red', 'cross_filled', '✕'),
    (5, 'cancelled', 'red', 'red_dark', 'cancel_filled', '⊘')
) as s (ordinal, state_code, semantic_class, colour, icon, glyph);

insert into stepwell.i18n_text (text_key, lang, text_value)
select t.text_key, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('cut_request.requested.label', 'Đã yêu cầu', 'Requested'),
    ('cut_request.requested.short', 'Việc cắt nội dung đã được yêu cầu', 'The cut is asked for'),
    ('cut_request.in_progress.label', 'Đang cắt', 'In progress'),
    ('cut_request.in_progress.short', 'Nội dung đang được cắt', 'The content is being cut'),
    ('cut_request.completed.label', 'Đã cắt', 'Completed'),
    ('cut_request.completed.short', 'Các phiên bản mới đã được ghi', 'The new versions are written'),
    ('cut_request.failed.label', 'Cắt thất bại', 'Failed'),
    ('cut_request.failed.short', 'Không có gì thay đổi; xem lý do', 'Nothing has changed; read the reason'),
    ('cut_request.cancelled.label', 'Đã hủy', 'Cancelled'),
    ('cut_request.cancelled.short', 'Việc cắt đã được bỏ', 'The cut was given up'),
    ('problem.category.failed_cut', 'Cắt nội dung thất bại', 'Failed cut'),
    ('problem.remedy.failed_cut', 'Đọc lý do, sửa nội dung, rồi thử lại hoặc hủy việc cắt.',
        'Read the reason and mend the content, then retry or cancel the cut.'),
    ('why.cut', '{name} thất bại: {reason}. Hãy thử lại hoặc hủy.', '{name} has failed: {reason}. Retry or cancel it.')
) as t (text_key, vi, en)
cross join (values ('vi'), ('en')) as l (lang);

insert into stepwell.event_type_registry (event_type, description) values
('cut.requested', 'A cut of content is asked for'),
('cut.started', 'A cut of content is carried out'),
('cut.completed', 'The cut is done: new versions are written'),
('cut.failed', 'The cut could not be done; no content has changed'),
('cut.retried', 'Somebody tries a failed cut again'),
('cut.cancelled', 'A failed cut was given up');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, allowed_values, description) values
('cut.requested', 'op', 'string', true, '{split,merge,restage}', 'What is done'),
('cut.requested', 'sources', 'array', true, null, 'Codes of the content that is cut'),
('cut.requested', 'targets', 'array', true, null, 'Codes of the content that is written'),
('cut.failed', 'reason', 'string', true, null, 'Why'),
('cut.failed', 'error_code', 'string', true, null, 'The code of the error'),
('cut.cancelled', 'reason', 'string', false, null, 'Why');

insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, is_extension, reason
) values
('cut_request.1', 'requested', 'in_progress', 'mow_orchestrator', 'C1', 'rpc', 'iu_op', 'none', null, 'cut.started', false, false, null),
('cut_request.1', 'in_progress', 'completed', 'mow_orchestrator', 'C2', 'rpc', 'iu_op', 'none', null, 'cut.completed', true, false, null),
('cut_request.1', 'in_progress', 'failed', 'mow_orchestrator', 'C3', 'rpc', 'iu_op', 'none', null, 'cut.failed', true, false, null),
('cut_request.1', 'failed', 'in_progress', 'pic_human', 'C4', 'rpc', 'iu_op_retry', 'none', null, 'cut.retried', true, false, null),
('cut_request.1', 'failed', 'cancelled', 'pic_human', 'C5', 'rpc', 'iu_op_cancel', 'none', null, 'cut.cancelled', true, false, null);
refresh materialized view stepwell.transition_rule;

insert into stepwell.governance_category (category_code, severity, ui_label_i18n_key, remedy_i18n_key) values
('failed_cut', 'red', 'problem.category.failed_cut', 'problem.remedy.failed_cut');
insert into stepwell.dot_config (config_key, config_value, description) values
('limits.cut_parts', '100', 'Most parts of one split, and most contents of one merge');

alter table stepwell.information_unit add column replaced_by bigint;
comment on column stepwell.information_unit.replaced_by is 'The cut that put other content in its place; it gets no new versions.';

create table stepwell.cut_request_detail (
    tenant_id int not null,
    cut_request_id bigint not null,
    op text not null,
    spec jsonb not null,
    request_key text,
    requested_by text not null,
    requested_at timestamptz not null,
    attempt_count int not null default 0,
    finished_at timestamptz,
    reason text,
    error_code text,
    constraint cut_request_detail_pkey primary key (tenant_id, cut_request_id),
    constraint one_cut_for_each_key unique (tenant_id, request_key),
    constraint op_is_known check (op in ('split', 'merge', 'restage'))
);
comment on column stepwell.cut_request_detail.spec is 'sources and targets: code, version_no and, until the cut is done, the body of each part.';

create table stepwell.iu_lineage (
    tenant_id int not null,
    cut_request_id bigint not null,
    from_iu_id bigint not null,
    from_version_no int not null,
    to_iu_id bigint not null,
    to_version_no int not null,
    constraint iu_lineage_pkey primary key (tenant_id, to_iu_id, to_version_no, from_iu_id),
    constraint it_comes_from_a_version foreign key (tenant_id, from_iu_id, from_version_no)
        references stepwell.information_unit_version (tenant_id, iu_id, version_no),
    constraint it_is_a_version foreign key (tenant_id, to_iu_id, to_version_no)
        references stepwell.information_unit_version (tenant_id, iu_id, version_no)
);
comment on table stepwell.iu_lineage is 'Which version came from which by a cut.';

create table stepwell.iu_lifecycle_log (
    tenant_id int not null,
    entry_id bigint generated always as identity,
    iu_code text not null,
    what text not null,
    severity text not null,
    axis_inconsistency boolean not null default false,
    detail text,
    cut_request_id bigint,
    written_by text not null,
    written_at timestamptz not null,
    constraint iu_lifecycle_log_pkey primary key (tenant_id, iu_code, entry_id),
    constraint severity_is_known check (severity in ('info', 'warning', 'error')),
    constraint what_is_known check (what in ('written', 'split', 'merged', 'restaged', 'cut_failed', 'shown_by_step'))
);
comment on table stepwell.iu_lifecycle_log is 'The life of each content unit: versions, cuts, cuts that failed, steps that still show what was replaced.';
comment on column stepwell.iu_lifecycle_log.axis_inconsistency is 'True where the parts of a split do not give the whole text.';
