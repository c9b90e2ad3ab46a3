-- Incident holds as people see them.

-- Holds with what they stop at this moment.
create or replace view stepwell.v_incident_hold with (security_invoker = true) as
select
    h.tenant_id,
    h.hold_id,
    h.scope_kind,
    h.scope_value,
    h.reason,
    h.share,
    case when h.released_at is null then 'open' when h.ended_at is null then 'released' else 'ended' end as hold_state,
    h.opened_at,
    h.opened_by,
    h.opened_event_id,
    h.graded_at,
    h.graded_by,
    h.released_at,
    h.released_by,
    h.released_event_id,
    h.ended_at,
    h.reach,
    h.outcome,
    (select count(*) from (select from stepwell.job_held as j
        where j.tenant_id = h.tenant_id and j.hold_id = h.hold_id limit 10000) as x) as held_count,
    (select count(*) from (select from stepwell.incident_hold_clock as c
        where c.tenant_id = h.tenant_id and c.hold_id = h.hold_id and c.moved_at is null limit 10000) as x) as stopped_count,
    (select count(*) from (select from stepwell.incident_hold_clock as c
        where c.tenant_id = h.tenant_id and c.hold_id = h.hold_id and c.moved_at is not null limit 10000) as x) as moved_count,
    exists (select from stepwell.incident_hold_evidence as e where e.tenant_id = h.tenant_id and e.hold_id = h.hold_id) as has_evidence
from stepwell.incident_hold as h;
