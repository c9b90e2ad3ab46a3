-- The log of a run names every approval about it: evidence of the run can then show that none is missing.

insert into stepwell.event_type_registry (event_type, description) values
('approval.opened', 'An approval about this step, run or job was requested');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('approval.opened', 'approval_id', 'number', true, 'The approval'),
('approval.opened', 'action', 'string', true, 'What is to be approved');
