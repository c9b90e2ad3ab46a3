-- Purpose: the machines with their states, transitions and facets as one JSON array, in reading order.
-- Locks: none.
-- Idempotency: read only.
-- Raises: nothing.
create or replace function stepwell._registry_machines()
returns jsonb
language sql
stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_agg(
        to_jsonb(m) - 'created_at' || jsonb_build_object(
            'states', (
                select jsonb_agg(to_jsonb(s) - 'state_machine_id' order by s.ordinal)
                from state_def as s
                where s.state_machine_id = m.state_machine_id
            ),
            'transitions', (
                -- T2 before T10, and codes without a number last.
                select jsonb_agg(
                    to_jsonb(t) - 'state_machine_id'
                    order by substring(t.transition_code from '[0-9]+')::int nulls last,
                        t.transition_code collate "C", s.ordinal, t.to_state collate "C", t.actor_class collate "C"
                )
                from transition_def as t
                inner join state_def as s
                    on t.state_machine_id = s.state_machine_id and t.from_state = s.state_code
                where t.state_machine_id = m.state_machine_id
            ),
            'facets', (
                select coalesce(jsonb_agg(
                    to_jsonb(f) - 'state_machine_id' order by f.state_code collate "C" desc, f.primary_ordinal
                ), '[]')
                from state_facet_def as f
                where f.state_machine_id = m.state_machine_id
            )
        )
        order by array_position('{workflow_run,step,task,job,approval,proposal,receipt}', m.scope), m.version
    )
    from state_machine_def as m;
$$;
