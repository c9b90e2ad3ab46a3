-- Rows have the time of the event that they speak of: the end of a run, the draft of a policy. So a check of the log can
-- compare them. Earlier releases took the time a moment before or after.
update stepwell.run_detail as r set finished_at = u.last_transition_at
from stepwell.work_unit as u
where r.finished_at is not null and u.tenant_id = r.tenant_id and u.unit_id = r.run_id << 20
    and u.state_code = r.finished_state and u.last_transition_at <> r.finished_at;
update stepwell.work_unit as u set started_at = e.at
from stepwell.event_log as e
where u.scope = 'proposal' and e.tenant_id = u.tenant_id and e.unit_id = u.unit_id and e.event_type = 'proposal.drafted'
    and u.started_at <> e.at;
-- A rule set is final; only its time is set to that of its event, once.
alter table stepwell.policy_set disable trigger user;
update stepwell.policy_set as p set proposed_at = u.started_at
from stepwell.work_unit as u
where u.tenant_id = p.tenant_id and u.unit_id = p.proposal_id and p.proposed_at <> u.started_at;
alter table stepwell.policy_set enable trigger user;
