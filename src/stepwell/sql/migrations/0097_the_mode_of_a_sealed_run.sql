-- The event that seals a bundle says in which mode the run began, so that whoever exports cannot leave out that it was development.

insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('evidence.sealed', 'mode', 'string', false, 'development if the run began in development mode, else strict');
