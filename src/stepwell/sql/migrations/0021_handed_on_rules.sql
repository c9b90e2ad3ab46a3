-- The rules of the core know of themselves what is handed on: a step the engine releases to a session that waits for it goes
-- two edges at once, released and claimed, and has one row for both. Where the registry asks more of a claim than
-- the ordinary rule, that row ends where the first edge ends.

drop function if exists stepwell._transition_problems;
drop materialized view stepwell.transition_rule;

create materialized view stepwell.transition_rule as
with edge as (
    select
        t.state_machine_id,
        t.from_state,
        t.to_state,
        t.actor_class,
        m.scope,
        m.scope || '.' || t.transition_code as transition_id,
        t.trigger_kind,
        t.trigger_ref,
        t.guard_kind,
        t.guard_ref,
        t.audit_required,
        t.proposed,
        e.event_type,
        coalesce(e.is_registered, t.emitted_event_type is null) as event_is_registered,
        exists (select from stepwell.event_field_def as f where f.event_type = e.event_type) as event_has_contract,
        exists (select from stepwell.event_field_def as f where f.event_type = e.event_type and f.is_required)
            as event_requires_payload,
        s_from.semantic_class as from_class,
        s_to.semantic_class as to_class,
        s_from.is_terminal as from_terminal,
        s_to.is_terminal as to_terminal,
        -- Settled: nothing more happens to it by itself. `cannot_complete` can be reopened, but nobody waits for it.
        s_from.is_terminal or s_from.state_code = 'cannot_complete' as from_settled,
        s_to.is_terminal or s_to.state_code = 'cannot_complete' as to_settled
    from stepwell.transition_def as t
    inner join stepwell.state_machine_def as m on t.state_machine_id = m.state_machine_id
    inner join stepwell.state_def as s_from
        on t.state_machine_id = s_from.state_machine_id and t.from_state = s_from.state_code
    inner join stepwell.state_def as s_to
        on t.state_machine_id = s_to.state_machine_id and t.to_state = s_to.state_code
    left join stepwell.event_type_registry as e on t.emitted_event_type = e.event_type
)
select
    a.*,
    false as hands_on,
    a.to_state as reached_state,
    null::text as claim_event_type
from edge as a
union all
select
    a.state_machine_id, a.from_state, a.to_state, a.actor_class, a.scope, a.transition_id, a.trigger_kind, a.trigger_ref,
    a.guard_kind, a.guard_ref, a.audit_required, a.proposed, a.event_type, a.event_is_registered, a.event_has_contract,
    a.event_requires_payload, a.from_class, coalesce(c.to_class, a.to_class), a.from_terminal,
    coalesce(c.to_terminal, a.to_terminal), a.from_settled, coalesce(c.to_settled, a.to_settled),
    true as hands_on,
    coalesce(c.to_state, a.to_state) as reached_state,
    c.event_type as claim_event_type
from edge as a
left join edge as c
    on a.state_machine_id = c.state_machine_id and a.to_state = c.from_state and c.to_state = 'in_progress'
    and c.actor_class = 'executor_worker' and c.guard_ref = 'executor_lease_granted' and c.trigger_ref = 'step_claim'
    and c.event_type is not null and c.event_is_registered and not c.proposed and not c.event_requires_payload
where a.to_state = 'ready' and a.actor_class = 'mow_orchestrator';

create unique index transition_rule_pkey
    on stepwell.transition_rule (state_machine_id, from_state, to_state, actor_class, hands_on);

comment on materialized view stepwell.transition_rule is
    'The registry as the transition core reads it: one row answers everything about one edge, or about two that are gone at once (hands_on).';
comment on column stepwell.transition_rule.reached_state is 'Where the unit stands in the end: to_state, or the state the claim leads to.';
comment on column stepwell.transition_rule.claim_event_type is 'What the claim of a step that is handed on leaves in the log.';

-- The rules change rarely and are few: their statistics hold from the first call on.
analyze stepwell.transition_rule;

-- Marks of the former state that few units have are wiped off after the change.
alter type stepwell.unit_change add attribute is_marked boolean;
