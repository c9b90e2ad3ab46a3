-- The event of a correction and the event of an escalation carry the fields of the source document; comments of people.
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select u.scope || '.reopened_for_correction', 'prior_completed_audit_id', 'number', false, 'The record of the first completion'
from (values ('step'), ('task')) as u (scope);
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select u.scope || '.escalation_raised', 'escalation_chain_id', 'string', false, 'The chain, the same for all its levels'
from (values ('step'), ('task')) as u (scope);

create table stepwell.task_comments (
    tenant_id int not null,
    comment_id bigint generated always as identity,
    unit_id bigint not null,
    run_id bigint not null,
    body text not null,
    written_by text not null,
    written_at timestamptz not null,
    constraint task_comments_pkey primary key (tenant_id, unit_id, comment_id),
    constraint comment_is_not_empty check (btrim(body) <> '')
);
insert into stepwell.event_type_registry (event_type, description) values
('step.commented', 'A person wrote a comment on the step'), ('task.commented', 'A person wrote a comment on the task');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('step.commented', 'comment_id', 'number', true, 'The comment'), ('task.commented', 'comment_id', 'number', true, 'The comment');
insert into stepwell.dot_config (config_key, config_value, description) values
('limits.comment_bytes', '10000', 'Largest comment'), ('limits.comments_per_step', '1000', 'Most comments on one step or task');
refresh materialized view stepwell.transition_rule;
