-- Seed of the registry, part one: colour tokens, machines, states, facets and their texts in both languages.
-- The nine floor codes are verbatim; a derived state extends them and names its floor equivalent and its reason.

-- Ratios are those of the WCAG 2.1 formula, rounded to two digits; a test computes them again. Normal pairs
-- reach AA (4.5), high-contrast pairs AAA (7). White on the proposed green #059669 reaches only 3.77, so that
-- green is a tenth darker here.
insert into stepwell.dot_config (config_key, config_value, description) values
('ui.traffic_light.gray',
    '{"fg": "#4B5563", "bg": "#F3F4F6", "contrast_ratio": 6.87, "shape": "circle_hollow",
      "high_contrast": {"fg": "#FFFFFF", "bg": "#1F2937", "contrast_ratio": 14.68}}',
    'Idle: nothing is expected of anyone'),
('ui.traffic_light.green_pale',
    '{"fg": "#047857", "bg": "#ECFDF5", "contrast_ratio": 5.21, "shape": "triangle_outline",
      "high_contrast": {"fg": "#A7F3D0", "bg": "#022C22", "contrast_ratio": 11.81}}',
    'Can be taken up'),
('ui.traffic_light.green',
    '{"fg": "#FFFFFF", "bg": "#04875E", "contrast_ratio": 4.53, "shape": "triangle_filled",
      "high_contrast": {"fg": "#000000", "bg": "#34D399", "contrast_ratio": 10.92}}',
    'Going well'),
('ui.traffic_light.green_deep',
    '{"fg": "#FFFFFF", "bg": "#047857", "contrast_ratio": 5.48, "shape": "check_filled",
      "high_contrast": {"fg": "#FFFFFF", "bg": "#064E3B", "contrast_ratio": 9.72}}',
    'Ended well'),
('ui.traffic_light.yellow',
    '{"fg": "#92400E", "bg": "#FEF3C7", "contrast_ratio": 6.37, "shape": "hourglass",
      "high_contrast": {"fg": "#FDE68A", "bg": "#451A03", "contrast_ratio": 12.03}}',
    'Waits for somebody or something else'),
('ui.traffic_light.yellow_dark',
    '{"fg": "#FFFFFF", "bg": "#B45309", "contrast_ratio": 5.02, "shape": "warn_filled",
      "high_contrast": {"fg": "#000000", "bg": "#F59E0B", "contrast_ratio": 9.78}}',
    'Stands still and needs attention'),
('ui.traffic_light.red_pale',
    '{"fg": "#B91C1C", "bg": "#FEE2E2", "contrast_ratio": 5.3, "shape": "clock_alert",
      "high_contrast": {"fg": "#FECACA", "bg": "#450A0A", "contrast_ratio": 11.16}}',
    'Late, and can still be saved'),
('ui.traffic_light.red',
    '{"fg": "#FFFFFF", "bg": "#DC2626", "contrast_ratio": 4.83, "shape": "cross_filled",
      "high_contrast": {"fg": "#000000", "bg": "#F87171", "contrast_ratio": 7.59}}',
    'Failed'),
('ui.traffic_light.red_dark',
    '{"fg": "#FFFFFF", "bg": "#991B1B", "contrast_ratio": 8.31, "shape": "stop_filled",
      "high_contrast": {"fg": "#FFFFFF", "bg": "#7F1D1D", "contrast_ratio": 10.02}}',
    'Ended without a result');

insert into stepwell.state_machine_def (state_machine_id, scope, version, active, description) values
('step.1', 'step', '1.0.0', true, 'A step of a run, done by a person, a worker or the engine itself'),
('task.1', 'task', '1.0.0', true, 'A task inside a step, with a person in charge of its own'),
('workflow_run.1', 'workflow_run', '1.0.0', true, 'The life of a run; its colour is rolled up from its steps'),
('job.1', 'job', '1.0.0', true, 'A free-standing job: the step machine without people'),
('approval.1', 'approval', '1.0.0', true, 'A question put to reviewers, decided by a quorum before it expires'),
('proposal.1', 'proposal', '1.0.0', true, 'A proposed change, from draft to merged or rejected');

-- The floor: the same nine rows in every machine that carries work.
insert into stepwell.state_def (
    state_machine_id, state_code, semantic_class, is_terminal, is_initial, ordinal,
    ui_color_token, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, ui_short_message_key
)
select
    m.state_machine_id,
    s.state_code,
    s.semantic_class,
    s.state_code = 'completed',
    -- A free-standing job is born claimable; one with a start time ahead is born not started.
    s.state_code = 'not_started' or (s.state_code = 'ready' and m.scope = 'job'),
    s.ordinal,
    'ui.traffic_light.' || s.colour,
    'icon.' || s.icon,
    s.glyph,
    'state.' || s.state_code || '.label',
    'state.' || s.state_code || '.short'
from stepwell.state_machine_def as m
cross join (values
    (1, 'not_started', 'idle', 'gray', 'circle_hollow', '○'),
    (2, 'ready', 'active', 'green_pale', 'play_outline', '▶'),
    (3, 'in_progress', 'active', 'green', 'play_filled', '►'),
    (4, 'waiting', 'wait', 'yellow', 'hourglass', '⏳'),
    (5, 'blocked', 'wait', 'yellow_dark', 'warn_filled', '⚠'),
    (6, 'overdue', 'red', 'red_pale', 'clock_alert', '⏰'),
    (7, 'failed', 'red', 'red', 'cross_filled', '✕'),
    (8, 'cannot_complete', 'red', 'red_dark', 'stop_filled', '⛔'),
    (9, 'completed', 'active', 'green_deep', 'check_filled', '✓')
) as s (ordinal, state_code, semantic_class, colour, icon, glyph)
where m.scope in ('step', 'task', 'job', 'workflow_run');

insert into stepwell.state_def (
    state_machine_id, state_code, semantic_class, is_terminal, ordinal, ui_color_token, ui_icon_token,
    ui_icon_glyph, ui_label_i18n_key, ui_short_message_key, is_derived, floor_equivalent, justification
)
select
    m.state_machine_id,
    s.state_code,
    s.semantic_class,
    s.is_terminal,
    s.ordinal,
    'ui.traffic_light.' || s.colour,
    'icon.' || s.icon,
    s.glyph,
    'state.' || s.state_code || '.label',
    'state.' || s.state_code || '.short',
    true,
    s.floor_equivalent,
    s.justification
from stepwell.state_machine_def as m
inner join (values
    ('{workflow_run}'::text[], 10, 'paused', 'wait', false, 'yellow_dark', 'pause_filled', '⏸', 'waiting',
        'A run that lasts months is paused and resumed by a reviewer; neither blocked nor waiting says that'),
    ('{workflow_run,step,task,job}', 11, 'cancelled', 'red', true, 'red_dark', 'cancel_filled', '⊘',
        'cannot_complete',
        'Cannot complete is one actor''s declaration; cancelled is a decision about the whole work, and final'),
    ('{step,task}', 12, 'skipped', 'idle', true, 'gray', 'skip_outline', '↷', 'completed',
        'A branch not taken satisfies what follows it like completed, but never counts in the roll-up')
) as s (scopes, ordinal, state_code, semantic_class, is_terminal, colour, icon, glyph, floor_equivalent,
        justification)
    on m.scope = any(s.scopes);

-- Approvals and proposals are decisions, not work: they have codes of their own.
insert into stepwell.state_def (
    state_machine_id, state_code, semantic_class, is_terminal, is_initial, ordinal,
    ui_color_token, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, ui_short_message_key
)
select
    s.scope || '.1',
    s.state_code,
    s.semantic_class,
    s.is_terminal,
    s.ordinal = 1,
    s.ordinal,
    'ui.traffic_light.' || s.colour,
    'icon.' || s.icon,
    s.glyph,
    s.scope || '.' || s.state_code || '.label',
    s.scope || '.' || s.state_code || '.short'
from (values
    ('approval', 1, 'requested', 'wait', false, 'yellow', 'hourglass', '⏳'),
    ('approval', 2, 'approved', 'active', true, 'green_deep', 'check_filled', '✓'),
    ('approval', 3, 'rejected', 'red', true, 'red', 'cross_filled', '✕'),
    ('approval', 4, 'expired', 'red', true, 'red_pale', 'clock_alert', '⏰'),
    ('approval', 5, 'cancelled', 'red', true, 'red_dark', 'cancel_filled', '⊘'),
    ('proposal', 1, 'draft', 'idle', false, 'gray', 'circle_hollow', '○'),
    ('proposal', 2, 'submitted', 'active', false, 'green_pale', 'play_outline', '▶'),
    ('proposal', 3, 'review', 'wait', false, 'yellow', 'hourglass', '⏳'),
    ('proposal', 4, 'approved', 'active', false, 'green', 'play_filled', '►'),
    ('proposal', 5, 'rejected', 'red', true, 'red', 'cross_filled', '✕'),
    ('proposal', 6, 'merged', 'active', true, 'green_deep', 'check_filled', '✓')
) as s (scope, ordinal, state_code, semantic_class, is_terminal, colour, icon, glyph);

-- A facet says why a state lasts; it is shown with the state and is never a state of its own.
insert into stepwell.state_facet_def (
    state_machine_id, state_code, facet_code, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, primary_ordinal
)
select
    m.state_machine_id,
    f.state_code,
    f.facet_code,
    'icon.' || f.icon,
    f.glyph,
    'facet.' || f.facet_code || '.label',
    f.primary_ordinal
from stepwell.state_machine_def as m
cross join (values
    ('waiting', 'waiting_dependency', 'link', '⛓', 10),
    ('waiting', 'waiting_human', 'person', '☺', 20),
    ('waiting', 'waiting_external', 'globe', '⇄', 30),
    ('waiting', 'waiting_time_gate', 'clock', '◷', 40),
    ('failed', 'retrying', 'retry', '↻', 10)
) as f (state_code, facet_code, icon, glyph, primary_ordinal)
where m.scope in ('step', 'task', 'job');

insert into stepwell.i18n_text (text_key, lang, text_value)
select
    t.text_key,
    l.lang,
    case l.lang when 'vi' then t.vi else t.en end
from (values
    ('state.not_started.label', 'Chưa tới lượt', 'Not started'),
    ('state.not_started.short', 'Điều kiện bắt đầu chưa đủ', 'Its preconditions are not met yet'),
    ('state.ready.label', 'Sẵn sàng', 'Ready'),
    ('state.ready.short', 'Đủ điều kiện, chờ người hoặc máy nhận việc', 'Can start; waits for somebody to take it'),
    ('state.in_progress.label', 'Đang làm', 'In progress'),
    ('state.in_progress.short', 'Đang được thực hiện', 'Is being done now'),
    ('state.waiting.label', 'Đang chờ', 'Waiting'),
    ('state.waiting.short', 'Chờ một việc bên ngoài bước này', 'Waits for something outside this step'),
    ('state.blocked.label', 'Bị chặn', 'Blocked'),
    ('state.blocked.short', 'Thiếu nội dung, cấu hình hoặc phê duyệt',
        'Content, configuration or an approval is missing'),
    ('state.overdue.label', 'Trễ hạn', 'Overdue'),
    ('state.overdue.short', 'Đã quá hạn nhưng vẫn còn cứu được', 'Past its deadline, can still be saved'),
    ('state.failed.label', 'Thất bại', 'Failed'),
    ('state.failed.short', 'Đã thực hiện nhưng không thành công', 'Was carried out and failed'),
    ('state.cannot_complete.label', 'Không thể hoàn tất', 'Cannot complete'),
    ('state.cannot_complete.short', 'Không thể hoàn tất trong phạm vi bước này',
        'Cannot be finished within this step'),
    ('state.completed.label', 'Hoàn thành', 'Completed'),
    ('state.completed.short', 'Kết quả đã đạt yêu cầu', 'Its output meets the contract'),
    ('state.paused.label', 'Tạm dừng', 'Paused'),
    ('state.paused.short', 'Được tạm dừng, chờ người duyệt cho tiếp tục', 'Paused until a reviewer resumes it'),
    ('state.cancelled.label', 'Đã hủy', 'Cancelled'),
    ('state.cancelled.short', 'Đã hủy, sẽ không thực hiện nữa', 'Called off; will not be done'),
    ('state.skipped.label', 'Bỏ qua', 'Skipped'),
    ('state.skipped.short', 'Thuộc nhánh không được chọn', 'Belongs to a branch that was not taken'),
    ('facet.waiting_dependency.label', 'Chờ bước khác', 'Waiting for another step'),
    ('facet.waiting_human.label', 'Chờ người khác', 'Waiting for a person'),
    ('facet.waiting_external.label', 'Chờ bên ngoài', 'Waiting for an outside system'),
    ('facet.waiting_time_gate.label', 'Chờ đến giờ', 'Waiting for a point in time'),
    ('facet.retrying.label', 'Đang thử lại (lần {attempt}/{max_attempts})', 'Retrying ({attempt}/{max_attempts})'),
    ('approval.requested.label', 'Chờ duyệt', 'Requested'),
    ('approval.requested.short', 'Đang chờ quyết định của người duyệt', 'Waits for the reviewers'' decision'),
    ('approval.approved.label', 'Đã duyệt', 'Approved'),
    ('approval.approved.short', 'Đủ số người duyệt đồng ý', 'Enough reviewers agreed'),
    ('approval.rejected.label', 'Bị từ chối', 'Rejected'),
    ('approval.rejected.short', 'Người duyệt đã từ chối', 'A reviewer declined'),
    ('approval.expired.label', 'Hết hạn', 'Expired'),
    ('approval.expired.short', 'Không có quyết định trước thời hạn', 'Not decided in time'),
    ('approval.cancelled.label', 'Đã hủy', 'Cancelled'),
    ('approval.cancelled.short', 'Yêu cầu không còn cần thiết', 'The request is no longer needed'),
    ('proposal.draft.label', 'Bản nháp', 'Draft'),
    ('proposal.draft.short', 'Đang được soạn', 'Is being written'),
    ('proposal.submitted.label', 'Đã gửi', 'Submitted'),
    ('proposal.submitted.short', 'Đã gửi, chờ người xem xét', 'Sent in; waits for a reviewer'),
    ('proposal.review.label', 'Đang xem xét', 'In review'),
    ('proposal.review.short', 'Người duyệt đang xem xét', 'A reviewer is looking at it'),
    ('proposal.approved.label', 'Đã duyệt', 'Approved'),
    ('proposal.approved.short', 'Được duyệt, chưa áp dụng', 'Agreed, not applied yet'),
    ('proposal.rejected.label', 'Bị từ chối', 'Rejected'),
    ('proposal.rejected.short', 'Đề xuất bị từ chối', 'The proposal was declined'),
    ('proposal.merged.label', 'Đã áp dụng', 'Merged'),
    ('proposal.merged.short', 'Thay đổi đã được áp dụng', 'The change is in force')
) as t (text_key, vi, en)
cross join (values ('vi'), ('en')) as l (lang);
