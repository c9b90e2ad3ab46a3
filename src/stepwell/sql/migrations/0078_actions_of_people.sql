-- What people and programs can do with a unit: the calls, the verb and the transition of each, and who may make it. A page
-- shows what this table and the registry allow, and decides nothing itself.

create table stepwell.unit_action (
    scope text not null,
    action text not null,
    ordinal int not null,
    verb text not null constraint action_has_a_known_verb references stepwell.verb,
    call_path text not null,
    is_for_people boolean not null,
    to_state text,
    actor_class text,
    trigger_kind text,
    trigger_ref text,
    actor_guard text,
    given_guards text[] not null default '{}',
    needed_fields text[] not null default '{}',
    approval_action text,
    constraint unit_action_pkey primary key (scope, action),
    constraint action_is_a_name check (action ~ '^[a-z][a-z_]{0,39}$'),
    constraint action_with_a_transition_is_whole check (
        num_nonnulls(to_state, actor_class, trigger_kind, trigger_ref) in (0, 4))
);
comment on table stepwell.unit_action is 'The calls on a unit: its verb, its transition, and the guard of who acts. given_guards: what the call itself gives decides them';

insert into stepwell.unit_action (scope, action, ordinal, verb, call_path, is_for_people, to_state, actor_class, trigger_kind,
    trigger_ref, actor_guard, given_guards, needed_fields, approval_action)
select s.scope, a.*
from (values
    ('claim', 10, 'step.work', '/steps/{unit}/claim', true, 'in_progress', 'pic_human', 'rpc', 'step_claim', null, '{}'::text[], '{}'::text[], null),
    ('complete', 20, 'step.work', '/steps/{unit}/complete', true, 'completed', 'pic_human', 'rpc', 'step_complete', 'actor_is_pic',
        '{output_contract_met}', '{output}', null),
    ('wait', 30, 'step.work', '/steps/{unit}/wait', true, 'waiting', 'pic_human', 'rpc', 'step_wait', 'actor_is_pic', '{wait_facet_known}', '{facets}', null),
    ('resume', 40, 'step.work', '/steps/{unit}/resume', true, 'in_progress', 'system', 'event', 'facet_resolved', 'actor_takes_part',
        '{facet_resolution_proof}', '{resolution_ref}', null),
    ('block', 50, 'step.work', '/steps/{unit}/block', true, 'blocked', 'pic_human', 'rpc', 'step_block', 'actor_is_pic', '{block_reason_known}',
        '{reason}', null),
    ('unblock', 60, 'step.work', '/steps/{unit}/unblock', true, 'in_progress', 'pic_human', 'event', 'blocker_resolved', 'actor_takes_part',
        '{blocker_resolution_evidence}', '{resolution_ref}', null),
    ('release', 70, 'step.work', '/steps/{unit}/release', true, 'ready', 'pic_human', 'rpc', 'step_release', null, '{}', '{}', null),
    ('assign', 80, 'step.work', '/steps/{unit}/assign', true, null, null, null, null, 'actor_is_responsible', '{}', '{person}', null),
    ('delegate', 90, 'step.work', '/steps/{unit}/delegate', true, null, null, null, null, 'actor_is_pic', '{}', '{to}', null),
    ('deadline', 100, 'step.work', '/steps/{unit}/deadline', false, null, null, null, null, 'actor_is_responsible', '{}', '{deadline_at}', null),
    ('escalate', 110, 'step.work', '/steps/{unit}/escalate', false, null, null, null, null, 'actor_takes_part', '{}', '{}', null),
    ('escalate_block', 120, 'step.work', '/steps/{unit}/escalate-block', true, null, null, null, null, 'actor_oversees', '{}', '{}', 'block_escalate'),
    ('cannot_complete', 130, 'step.work', '/steps/{unit}/cannot-complete', true, 'cannot_complete', 'pic_human', 'rpc', 'declare_cannot_complete',
        'actor_is_pic', '{declaration_evidence}', '{evidence_ref}', null),
    ('comment', 140, 'step.work', '/steps/{unit}/comments', false, null, null, null, null, 'actor_takes_part', '{}', '{body}', null),
    ('reopen', 150, 'step.work', '/steps/{unit}/reopen', false, null, null, null, null, 'actor_oversees', '{}', '{reason,approval_id}', 'reopen')
) as a (action, ordinal, verb, call_path, is_for_people, to_state, actor_class, trigger_kind, trigger_ref, actor_guard, given_guards, needed_fields,
    approval_action)
cross join (values ('step'), ('task')) as s (scope)
where s.scope = 'step' or a.action <> 'reopen';

insert into stepwell.unit_action (scope, action, ordinal, verb, call_path, is_for_people, to_state, actor_class, trigger_kind,
    trigger_ref, given_guards, needed_fields, approval_action) values
('step', 'retry', 160, 'run.retry', '/jobs/{unit}/retry', false, null, null, null, null, '{}', '{}', null),
('step', 'cancel', 170, 'run.cancel', '/jobs/{unit}/cancel', false, 'cancelled', 'reviewer', 'rpc', 'workflow_cancel', '{}', '{}', null),
('job', 'retry', 10, 'run.retry', '/jobs/{unit}/retry', false, null, null, null, null, '{}', '{}', null),
('job', 'cancel', 20, 'run.cancel', '/jobs/{unit}/cancel', false, 'cancelled', 'reviewer', 'rpc', 'workflow_cancel', '{}', '{}', null),
('workflow_run', 'pause', 10, 'run.pause', '/runs/{run}/pause', false, 'paused', 'reviewer', 'rpc', 'workflow_pause', '{}', '{}', null),
('workflow_run', 'resume', 20, 'run.pause', '/runs/{run}/resume', false, 'in_progress', 'reviewer', 'rpc', 'workflow_resume', '{}', '{}', null),
('workflow_run', 'retry', 30, 'run.retry', '/runs/{run}/retry', false, null, null, null, null, '{}', '{}', null),
('workflow_run', 'cancel', 40, 'run.cancel', '/runs/{run}/cancel', false, 'cancelled', 'reviewer', 'rpc', 'workflow_cancel', '{}', '{reason}',
    'workflow_cancel'),
('workflow_run', 'signal', 50, 'run.start', '/runs/{run}/signals', false, null, null, null, null, '{}', '{event_type,event_id}', null),
('workflow_run', 'label', 60, 'run.label', '/runs/{run}/labels', false, null, null, null, null, '{}', '{}', null);

insert into stepwell.i18n_text (text_key, lang, text_value)
select t.text_key, l.lang, case l.lang when 'en' then t.en else t.vi end
from (values
    ('action.claim', 'Claim', 'Nhận việc'),
    ('action.complete', 'Complete', 'Hoàn thành'),
    ('action.wait', 'Wait', 'Chờ'),
    ('action.resume', 'Resume', 'Tiếp tục'),
    ('action.block', 'Block', 'Báo bị chặn'),
    ('action.unblock', 'Unblock', 'Gỡ chặn'),
    ('action.release', 'Release', 'Trả lại'),
    ('action.assign', 'Assign', 'Giao việc'),
    ('action.delegate', 'Delegate', 'Chuyển giao'),
    ('action.deadline', 'Change deadline', 'Đổi hạn chót'),
    ('action.escalate', 'Escalate', 'Báo cấp trên'),
    ('action.escalate_block', 'Escalate block', 'Báo cấp trên về việc bị chặn'),
    ('action.cannot_complete', 'Cannot complete', 'Không thể hoàn thành'),
    ('action.comment', 'Comment', 'Bình luận'),
    ('action.reopen', 'Open again', 'Mở lại'),
    ('action.retry', 'Retry', 'Thử lại'),
    ('action.cancel', 'Cancel', 'Hủy'),
    ('action.pause', 'Pause', 'Tạm dừng'),
    ('action.signal', 'Send event', 'Gửi sự kiện'),
    ('action.label', 'Labels', 'Nhãn'),
    ('refusal.verb_missing', 'the right {problem} is required', 'cần có quyền {problem}'),
    ('refusal.actor_is_no_person', 'only a person can do this; {actor} is none', 'chỉ con người mới làm được; {actor} không phải là người')
) as t (text_key, en, vi)
cross join (values ('en'), ('vi')) as l (lang);
