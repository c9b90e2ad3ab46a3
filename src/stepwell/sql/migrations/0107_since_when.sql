-- A problem tells since when something is wrong, which may be long before a keeper found it: since the death of a letter, the deadline
-- of a step, the last heartbeat of a worker.

alter table stepwell.governance_problem add column since_at timestamptz;
-- A problem changes with an event only; this is no change of it.
alter table stepwell.governance_problem disable trigger user;
update stepwell.governance_problem as p
set since_at = least(p.opened_at, case p.category_code
    when 'dead_letter' then (select max(d.died_at) from stepwell.job_dead_letter as d
        where d.tenant_id = p.tenant_id and d.unit_id = p.unit_id and d.died_at <= p.opened_at)
    when 'overdue_step' then (select u.deadline_at from stepwell.work_unit as u
        where u.tenant_id = p.tenant_id and u.unit_id = p.unit_id and u.deadline_at <= p.opened_at) end);
alter table stepwell.governance_problem enable trigger user;
alter table stepwell.governance_problem alter column since_at set not null;
alter table stepwell.governance_problem add constraint it_is_wrong_before_it_is_found check (since_at <= opened_at);
comment on column stepwell.governance_problem.since_at is 'Since when it is wrong; opened_at tells when that was found.';
drop index stepwell.problems_open_by_time;
create index problems_open_by_time on stepwell.governance_problem (tenant_id, category_code, since_at, problem_id)
where closed_at is null;

-- The categories have the names of document 000 §7.1, in the plural.
update stepwell.i18n_text as t set text_value = v.text_value
from (values
    ('problem.category.failed_cut', 'en', 'Failed cuts'),
    ('problem.category.event_route', 'en', 'Failed event routes'),
    ('problem.category.event_lag', 'en', 'Event lag'),
    ('problem.category.event_lag', 'vi', 'Độ trễ sự kiện'),
    ('problem.category.schema_violation', 'en', 'Schema violations'),
    ('problem.category.schema_violation', 'vi', 'Vi phạm lược đồ')
) as v (text_key, lang, text_value)
where t.text_key = v.text_key and t.lang = v.lang;
