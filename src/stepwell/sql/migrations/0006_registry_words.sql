-- Seed of the registry, part four: roll-up rules, dialects, failure classes, vocabularies and thresholds.
-- All of it may be edited in place; nothing in the code repeats these values.

-- Rules R-1 to R-6; of these the core reads the ranked classes, and the roll-up functions the rest.
insert into stepwell.rollup_policy_def (state_machine_id, policy_code, policy_config_jsonb, description) values
('workflow_run.1', 'red_overrides_yellow_overrides_green',
    '{"rule": "R-1", "classes": [{"semantic_class": "red", "colour": "red", "rank": 1},
                                 {"semantic_class": "wait", "colour": "yellow", "rank": 2},
                                 {"semantic_class": "active", "colour": "green", "rank": 3},
                                 {"semantic_class": "idle", "colour": "gray", "rank": 4}]}',
    'The colour of a run is that of the highest-ranked class any counted step is in'),
('workflow_run.1', 'wait_is_at_most_yellow', '{"rule": "R-2", "semantic_class": "wait", "best_colour": "yellow"}',
    'A counted step that waits keeps the run from being green'),
('workflow_run.1', 'skipped_does_not_count', '{"rule": "R-3", "excluded_states": ["skipped"]}',
    'A branch not taken pulls the run neither to yellow nor to red'),
('workflow_run.1', 'mandatory_only', '{"rule": "R-4", "optional_excluded": true}',
    'An optional step never pulls the colour of its run'),
('workflow_run.1', 'declared_here', '{"rule": "R-5", "blocked_escalation_treats_as_red": true, "empty_colour": "gray"}',
    'The rules are these rows: an escalated block counts as red, a run without counted steps is gray'),
('workflow_run.1', 'all_completed_is_green',
    '{"rule": "R-6", "completed_states": ["completed"], "colour": "green", "completes_run": true}',
    'When every counted step is completed the run is green, and completes when nothing is pending');

-- Words of the other documents. A qualifier narrows a state; the row without one is the rule. `—`: no such word.
insert into stepwell.state_dialect (scope, state_code, qualifier, dialect, dialect_code, note)
select
    d.scope,
    d.state_code,
    d.qualifier,
    w.dialect,
    w.dialect_code,
    d.note
from (values
    ('step', 'not_started', '', 'PENDING', '—', 'idle', '—', 'Not yet visible where the word is missing'),
    ('step', 'not_started', 'predecessor_running', null, null, 'waiting', null, 'A predecessor is being done'),
    ('step', 'ready', '', 'READY', 'ready', 'ready', 'queued', null),
    ('step', 'in_progress', '', 'RUNNING', 'running', 'running', 'in_progress', null),
    ('step', 'in_progress', 'leased', null, null, null, 'leased', 'Claimed, and not yet heard of'),
    ('step', 'waiting', '', 'WAITING', 'running', 'running', 'in_progress',
        'Holds no lease: the job is parked, so that no worker slot is held by a wait'),
    ('step', 'waiting', 'approval', null, 'waiting_approval', null, null, 'Facet waiting_human with an approval'),
    ('step', 'blocked', '', 'WAITING', 'running', 'running', 'in_progress', 'Holds no lease'),
    ('step', 'overdue', '', 'RUNNING', 'running', 'running', 'in_progress', null),
    ('step', 'failed', 'transient', 'READY', 'failed_retryable', 'running', 'retry_waiting',
        'The next attempt is due later; the latest attempt wins'),
    ('step', 'failed', 'permanent', 'DEAD', 'failed_terminal', 'failed', 'dead_letter', null),
    ('step', 'cannot_complete', '', 'DEAD', 'failed_terminal', 'failed', 'dead_letter', null),
    ('step', 'completed', '', 'DONE', 'succeeded', 'completed', 'succeeded', null),
    ('step', 'cancelled', '', 'CANCELED', 'canceled', 'aborted', 'cancelled', null),
    ('step', 'skipped', '', 'DONE', 'succeeded', 'skipped', '—', 'Counts as done where the word is missing'),
    ('workflow_run', 'not_started', '', 'RUNNING', 'queued', 'idle', 'active', null),
    ('workflow_run', 'ready', '', 'RUNNING', 'queued', 'ready', 'active', 'No run is ever in this state'),
    ('workflow_run', 'in_progress', '', 'RUNNING', 'running', 'running', 'active', null),
    ('workflow_run', 'waiting', '', 'RUNNING', 'running', 'running', 'active', 'No run is ever in this state'),
    ('workflow_run', 'blocked', '', 'RUNNING', 'running', 'running', 'active', 'No run is ever in this state'),
    ('workflow_run', 'overdue', '', 'RUNNING', 'running', 'running', 'active', 'No run is ever in this state'),
    ('workflow_run', 'failed', '', 'FAILED', 'failed_terminal', 'failed', 'failed', null),
    ('workflow_run', 'failed', 'partial', null, null, null, 'partially_failed', 'Some steps succeeded'),
    ('workflow_run', 'cannot_complete', '', 'FAILED', 'failed_terminal', 'failed', 'failed',
        'No run is ever in this state'),
    ('workflow_run', 'completed', '', 'COMPLETED', 'succeeded', 'completed', 'succeeded', null),
    ('workflow_run', 'paused', '', 'RUNNING', 'running', 'running', 'active', 'Shown as its floor equivalent'),
    ('workflow_run', 'cancelled', '', 'CANCELED', 'canceled', 'aborted', 'cancelled', null)
) as d (scope, state_code, qualifier, linear, runtime, node, job, note)
cross join lateral (values
    ('linear', d.linear), ('runtime', d.runtime), ('node', d.node), ('job', d.job)
) as w (dialect, dialect_code)
where w.dialect_code is not null;

-- An exception is classified by the first of its class names found here; otherwise it is a handler_error.
insert into stepwell.failure_class_registry (failure_class, classification, description, exception_names) values
('handler_error', 'transient', 'The handler raised something nobody classified', '{}'),
('timeout', 'transient', 'Something took longer than its limit',
    '{TimeoutError,TimeoutException,ReadTimeout,ConnectTimeout,PoolTimeout,WriteTimeout}'),
('connection', 'transient', 'Another system could not be reached',
    '{ConnectionError,ConnectionResetError,ConnectionRefusedError,ConnectionAbortedError,
      BrokenPipeError,ConnectError,ReadError,RemoteProtocolError,DatabaseUnavailable}'),
('rate_limited', 'transient', 'Another system asks to come back later', '{RateLimited,RateLimitError,TooManyRequests}'),
('server_error', 'transient', 'Another system failed by itself',
    '{ServerError,InternalServerError,ServiceUnavailable,BadGateway}'),
('worker_lost', 'transient', 'The process that ran the handler ended', '{BrokenProcessPool,BrokenExecutor}'),
('resource_exhausted', 'transient', 'The machine of the worker ran out of something', '{MemoryError}'),
('lease_expired', 'transient', 'The worker stopped answering', '{LeaseLost}'),
('invalid_input', 'permanent', 'The input does not fit the operation', '{TypeError,ValidationError,InvalidInput}'),
('output_contract', 'permanent', 'The output does not fit its contract', '{OutputContractError}'),
('expression_error', 'permanent', 'An expression could not be evaluated over the run', '{ExpressionError}'),
('limit_exceeded', 'permanent', 'Something is larger than allowed', '{LimitExceeded}'),
('not_found', 'permanent', 'Something named does not exist', '{NotFound,NotFoundError}'),
('not_implemented', 'permanent', 'No worker knows the operation', '{NotImplementedError,UnknownOperation}'),
('permission_denied', 'permanent', 'The caller may not do this', '{PermissionDenied,PermissionError}'),
('policy_denied', 'permanent', 'A policy refuses the action', '{PolicyDenied,Refused}'),
('approval_rejected', 'permanent', 'A reviewer declined', '{ApprovalRejected}'),
('approval_expired', 'permanent', 'Nobody decided in time', '{ApprovalExpired}'),
('waiting_timeout', 'permanent', 'What was waited for did not come in time', '{WaitTimeout}'),
('upstream_failed', 'permanent', 'Something this depends on failed', '{}'),
('subworkflow_failed', 'permanent', 'The sub-workflow failed or was cancelled', '{}'),
('map_failed', 'permanent', 'An item of the map failed', '{}'),
('declared_dead', 'permanent', 'The handler said that no retry can help', '{Dead}');

-- One key per word: the last part is the word, the value its text in both languages.
insert into stepwell.dot_config (config_key, config_value, description)
select
    'vocab.' || w.word,
    jsonb_build_object('vi', w.vi, 'en', w.en),
    w.en
from (values
    ('block_reason.missing_iu', 'Thiếu nội dung', 'A content unit is missing'),
    ('block_reason.missing_approval', 'Thiếu phê duyệt', 'An approval is missing'),
    ('block_reason.config_error', 'Lỗi cấu hình', 'The configuration is wrong'),
    ('block_reason.missing_access', 'Thiếu quyền truy cập', 'An access right is missing'),
    ('block_reason.subworkflow_waiting', 'Quy trình con đang chờ', 'The sub-workflow stands still'),
    ('block_reason.other', 'Lý do khác', 'Something else; the detail says what'),
    ('correction_reason.data_error', 'Dữ liệu sai', 'The data were wrong'),
    ('correction_reason.policy_change', 'Chính sách thay đổi', 'The policy changed'),
    ('correction_reason.downstream_dependency_failed', 'Bước phụ thuộc phía sau thất bại',
        'A step that depends on it failed'),
    ('correction_reason.regulatory_recall', 'Thu hồi theo quy định', 'A regulator demands it'),
    ('correction_reason.operator_mistake', 'Thao tác nhầm', 'Somebody made a mistake'),
    ('cancel_reason.business_need_gone', 'Không còn nhu cầu', 'It is no longer needed'),
    ('cancel_reason.duplicate', 'Bị trùng', 'It is done elsewhere already'),
    ('cancel_reason.superseded', 'Đã được thay thế', 'Something newer replaces it'),
    ('cancel_reason.wrong_input', 'Đầu vào sai', 'It was started with wrong input'),
    ('cancel_reason.parent_cancelled', 'Quy trình cha đã hủy', 'What it belongs to was cancelled'),
    ('cancel_reason.upstream_failed', 'Bước phía trước thất bại', 'Something it depends on failed'),
    ('cancel_reason.other', 'Lý do khác', 'Something else; the detail says what')
) as w (word, vi, en);

insert into stepwell.dot_config (config_key, config_value, description) values
('block_severity.threshold_seconds.default', '14400',
    'A step blocked for longer is shown red; the last part may be a workflow class'),
('block_severity.review_seconds.default', '86400', 'Escalating a longer block by hand needs a review'),
('heartbeat.threshold_seconds.default', '60',
    'A worker unheard of for longer is silent; the last part may be an executor class'),
('heartbeat.threshold_seconds.process', '120', 'The same for workers of the class process'),
('event_lag.threshold_ms.p50', '500', 'Half of the events must reach a reader within this time'),
('event_lag.threshold_ms.p95', '2000', '95 in 100 events must reach a reader within this time'),
('event_lag.threshold_ms.p99', '5000', '99 in 100 events must reach a reader within this time'),
('ai_summary.min_confidence.default', '0.6', 'A summary less sure than this is flagged and resolves nothing'),
('approval.required.workflow_cancel', 'false',
    'True: cancelling a run needs a granted approval. False: the reviewer''s word is enough'),
('approval.expiry_seconds.default', '259200', 'An approval nobody decides expires after this time'),
('partition.months_ahead', '3', 'So many monthly partitions of the event log exist ahead of time'),
('retention.event_log_days', '400', 'Months of the event log older than this are dropped'),
('retention.run_days', '90', 'Ended runs older than this are archived'),
('retention.transition_idempotency_days', '7', 'So long a repeated transition gets its first verdict'),
('retention.event_inbox_days', '30', 'So long an event key is remembered, and an event waits for a taker'),
('retention.event_validation_audit_days', '90', 'So long a rejected event is kept for inspection'),
('retention.worker_session_days', '7', 'So long a closed worker session is kept'),
('retention.dead_letter_days', '180', 'So long a settled dead letter is kept'),
('limits.payload_bytes', '1048576', 'Largest input, output or event payload'),
('limits.checkpoint_bytes', '1048576', 'Largest saved result inside a step'),
('limits.error_bytes', '16384', 'Longer error texts are cut'),
('limits.checkpoint_count', '1000', 'Most saved results of one step'),
('limits.start_batch', '10000', 'Most runs started in one call'),
('limits.enqueue_batch', '10000', 'Most jobs enqueued in one call'),
('limits.claim_batch', '1000', 'Most jobs claimed in one call'),
('limits.report_batch', '1000', 'Most outcomes reported in one call'),
('limits.transition_batch', '10000', 'Most transitions asked for in one call'),
('limits.step_count', '50000', 'Most steps of one workflow version'),
('limits.map_items', '10000', 'Most items of one map'),
('limits.page_size', '500', 'Most rows of one page'),
('limits.nesting', '32', 'Deepest nesting of templates and of sub-workflows'),
('limits.expression_bytes', '4096', 'Longest expression'),
('limits.idempotency_key_bytes', '200', 'Longest idempotency key');

refresh materialized view stepwell.transition_rule;
refresh materialized view stepwell.rollup_rule;
