-- Document 004: an instance with a dead step has failed, also where the run completed without it.
insert into stepwell.state_dialect (scope, state_code, qualifier, dialect, dialect_code, note) values
('workflow_run', 'completed', 'partial', 'linear', 'FAILED', 'The document has no optional steps: one that is not done fails the instance');
