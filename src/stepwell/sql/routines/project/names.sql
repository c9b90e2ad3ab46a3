-- What people call things: the names of units, the labels of states.

-- The name of every unit: the id of a step or task, the operation of a job; and the workflow of its run.
create or replace view stepwell.v_unit_name with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id,
    u.scope,
    coalesce(t.task_id, d.step_id, o.operation_name) as name,
    w.workflow_name as workflow
from stepwell.work_unit as u
left join stepwell.task_detail as t on u.scope = 'task' and u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
left join stepwell.workflow_step_def as d
    on u.scope = 'step' and u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.operation as o
    on u.scope = 'job' and u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
-- By its key, see job_queue.
left join lateral (
    select i.tenant_id, i.workflow_id from stepwell.run_detail as i
    where i.tenant_id = u.tenant_id and i.run_id = stepwell._run_of(u.unit_id) offset 0
) as r on true
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id;

-- How every state of an active machine is shown: labels, colour and icon.
create or replace view stepwell.v_state_label with (security_invoker = true) as
select
    m.scope,
    s.ordinal,
    s.state_code,
    en.text_value as label_en,
    vi.text_value as label_vi,
    s.ui_color_token as color_token,
    s.ui_icon_token as icon_token
from stepwell.state_machine_def as m
inner join stepwell.state_def as s on m.state_machine_id = s.state_machine_id
inner join stepwell.i18n_text as en on s.ui_label_i18n_key = en.text_key and en.lang = 'en'
inner join stepwell.i18n_text as vi on s.ui_label_i18n_key = vi.text_key and vi.lang = 'vi'
where m.active;
