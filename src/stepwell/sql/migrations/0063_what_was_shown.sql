-- A decision names the digest of what was shown, and the log keeps it with the vote.
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('approval.vote_recorded', 'shown_digest', 'string', false, 'The digest of what the reviewer was shown'),
('schedule.fired', 'authors', 'array', false, 'Who made or changed the schedule, the newest first');

-- A run remembers who is behind it besides who started it: everybody who wrote the schedule that did, as it was then.
alter table stepwell.workflow_schedule add column authors text[];
update stepwell.workflow_schedule set authors = array[created_by];
alter table stepwell.workflow_schedule alter column authors set not null;
comment on column stepwell.workflow_schedule.authors is 'Who made or changed the schedule, the newest first; at most 50.';
alter table stepwell.run_detail add column origin text[];
comment on column stepwell.run_detail.origin is 'Who is behind the run besides started_by: the authors of the schedule when it fired. They decide no approval about it.';
update stepwell.run_detail as r set origin = c.authors
from stepwell.workflow_schedule as c
where r.tenant_id = c.tenant_id and r.started_by = 'schedule:' || c.schedule_name and r.finished_at is null;

-- More names of secrets; an installation that has changed the setting keeps its own.
update stepwell.dot_config set config_value = to_jsonb(
    '((password|passwd|passphrase|passcode|pwd|secret|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key'
    '|credential|cookie)s?|token|authorization|auth|session([_-]?id)?|jwt|(^|[_-])(pass|pw|otp))$'::text)
where config_key = 'redaction.key_pattern' and config_value = to_jsonb(
    '(password|passwd|passphrase|pwd|secret|token|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key'
    '|authorization|auth|credentials?|cookies?|session([_-]?id)?|jwt)$'::text);
