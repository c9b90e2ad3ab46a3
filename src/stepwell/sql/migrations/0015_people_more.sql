-- People, continued: who looks after the work of others.

insert into stepwell.dot_config (config_key, config_value, description) values
('people.overseer_roles', '["operator", "reviewer", "admin"]',
    'Roles whose people look after the work of others: assign, move deadlines, escalate, reopen');

insert into stepwell.guard_predicate (predicate_name, description, problem_text) values
('actor_oversees', 'The person looks after the unit: by a role of people.overseer_roles, by its escalation chain, or as who
is in charge of the step around a task', 'the person has no role that looks after the work of others'),
('actor_is_responsible', 'The person is in charge of the unit, or looks after it',
    'the person is neither in charge of the unit nor looks after it'),
('actor_takes_part', 'The person is in charge of the unit, could take it, or looks after it',
    'the person has nothing to do with the unit');

-- That somebody else was told is no state: it is shown beside whatever state the unit is in. The facets of waiting stay four:
-- they say what a unit waits for.
insert into stepwell.state_facet_def (
    state_machine_id, state_code, facet_code, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, primary_ordinal
)
select m.state_machine_id, s.state_code, 'escalated', 'icon.megaphone', '⇑', 'facet.escalated.label', 50
from stepwell.state_machine_def as m
cross join (values ('ready'), ('in_progress'), ('blocked'), ('overdue')) as s (state_code)
where m.scope in ('step', 'task');
insert into stepwell.i18n_text (text_key, lang, text_value) values
('facet.escalated.label', 'vi', 'Đã báo lên {tell}'),
('facet.escalated.label', 'en', 'Escalated to {tell}');

-- The class a sub-workflow step counts under while its run lends it another one than that of its state.
alter table stepwell.work_unit add column lent_class text
    constraint a_class_is_lent_by_a_colour check (lent_class in ('red', 'wait', 'active'));

-- What lies around a corrected step, or after it, may open again under the approval that opened another one.
alter table stepwell.step_run_correction_cycle drop constraint an_approval_reopens_a_step_once;
create unique index an_approval_reopens_a_step_once
    on stepwell.step_run_correction_cycle (tenant_id, unit_id, approval_id) where unit_id = root_unit_id;

create index approvals_open_by_subject
    on stepwell.approval_detail (tenant_id, subject_unit_id) where decided_at is null;

-- Sentences that name states and reasons in the reader's language, and count nothing that is listed.
insert into stepwell.i18n_text (text_key, lang, text_value) values
('why.assigned', 'en', '{name} waits until {person} takes it up.'),
('why.assigned', 'vi', '{name} chờ {person} bắt tay vào làm.');
update stepwell.i18n_text set text_value = case lang when 'vi' then '{name} chờ {steps}.' else '{name} waits for {steps}.' end
where text_key = 'why.dependency';
update stepwell.i18n_text set text_value = case lang when 'vi' then '{name} chờ quy trình con, lượt chạy {runs}.'
    else '{name} waits for its sub-workflow, run {runs}.' end
where text_key = 'why.subworkflow';
