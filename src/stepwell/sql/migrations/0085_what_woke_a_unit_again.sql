-- A replayed or corrected unit begins again: what had woken it is forgotten, and the events that did are kept again. The
-- index finds them.
create index events_by_taker on stepwell.event_inbox (tenant_id, taken_by) where taken_by is not null;

-- Row and log agree about a corrected unit: completed_at is its first completion (until now a death that was corrected
-- stayed there, and a replay after a correction erased it), sla_breach_duration is of its first late completion.
with corrected as (
    select distinct c.tenant_id, c.unit_id from stepwell.step_run_correction_cycle as c
), logged as (
    select e.tenant_id, e.unit_id, e.at, e.event_id, e.to_state, e.payload,
        max(e.event_id) filter (where e.event_type ~ '\.(replayed|reinstated|reopened_for_correction)$')
            over (partition by e.tenant_id, e.unit_id) as opened_id
    from corrected as c
    inner join stepwell.event_log as e
        on c.tenant_id = e.tenant_id and e.run_id = c.unit_id >> 20 and c.unit_id = e.unit_id
), life as (
    select l.tenant_id, l.unit_id,
        min(l.at) filter (where l.to_state = 'completed') as first_completed_at,
        min(l.at) filter (where l.to_state in ('cannot_complete', 'cancelled', 'skipped') and l.event_id > l.opened_id) as ended_at,
        (array_agg((l.payload ->> 'sla_breach_duration')::interval order by l.event_id)
            filter (where l.to_state = 'completed' and l.payload ->> 'sla_breach_duration' is not null))[1] as breach
    from logged as l
    group by l.tenant_id, l.unit_id
)
update stepwell.work_unit as u
set completed_at = coalesce(l.first_completed_at, l.ended_at), sla_breach_duration = l.breach
from life as l
where u.tenant_id = l.tenant_id and u.unit_id = l.unit_id
    and (u.completed_at, u.sla_breach_duration) is distinct from (coalesce(l.first_completed_at, l.ended_at), l.breach);
