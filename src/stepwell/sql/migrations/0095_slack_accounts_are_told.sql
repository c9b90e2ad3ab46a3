-- Who decides in Slack is told as every other change of an account.
insert into stepwell.event_type_registry (event_type, description) values
('slack.connected', 'A Slack account was connected with a person, who decides with it'),
('slack.disconnected', 'A Slack account was disconnected from its person');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('slack.connected', 'slack_user_id', 'string', true, 'The Slack account'),
('slack.connected', 'name', 'string', true, 'The name of the person'),
('slack.disconnected', 'slack_user_id', 'string', true, 'The Slack account'),
('slack.disconnected', 'name', 'string', true, 'The name of the person');
