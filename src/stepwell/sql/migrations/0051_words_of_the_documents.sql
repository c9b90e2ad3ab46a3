-- The words of the source documents that were missing: a node without a slot waits (002); a run waits for an approval, is
-- between two attempts, or has not begun (003); approvals and receipts have words too (003).
update stepwell.state_dialect set qualifier = 'predecessor_started', note = 'A step before it has started'
where dialect = 'node' and scope = 'step' and state_code = 'not_started' and qualifier = 'predecessor_running';

insert into stepwell.state_dialect (scope, state_code, qualifier, dialect, dialect_code, note) values
('step', 'ready', 'held', 'node', 'waiting',
    'No slot of its group is free; or a conditional, while a step before a cancelled predecessor runs'),
('step', 'ready', 'resumed', 'node', 'running', 'Its wait has ended; the call goes on'),
('workflow_run', 'in_progress', 'queued', 'runtime', 'queued', 'No step has been leased, and none waits for a person'),
('workflow_run', 'in_progress', 'approval', 'runtime', 'waiting_approval',
    'A step waits for an approval, and no step is ready or runs'),
('workflow_run', 'in_progress', 'retry', 'runtime', 'failed_retryable',
    'A step is between two attempts, and no step is ready or runs'),
('workflow_run', 'completed', 'partial', 'runtime', 'failed_terminal',
    'A step that is not mandatory, or whose failure was caught, did not succeed'),
('approval', 'requested', '', 'runtime', 'requested', null),
('approval', 'approved', '', 'runtime', 'approved', null),
('approval', 'rejected', '', 'runtime', 'rejected', null),
('approval', 'expired', '', 'runtime', 'expired', null),
('approval', 'cancelled', '', 'runtime', 'canceled', null),
('receipt', 'intended', '', 'runtime', 'attempted', null),
('receipt', 'confirmed', '', 'runtime', 'success', null),
('receipt', 'unconfirmed', '', 'runtime', 'unknown', null),
('receipt', 'void', '', 'runtime', 'failed', null),
('receipt', 'reversed', '', 'runtime', 'reversed', 'Happened, and was undone');
