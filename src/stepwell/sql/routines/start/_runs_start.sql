-- Purpose: starts n runs of a workflow: run, every known step and the first jobs. A (tenant, trigger_type, trigger_ref) seen
--   before starts nothing. Where the caller names a session, first steps go to it as _run_create says.
-- Locks: none on existing rows; the trigger's unique index decides between two concurrent starts.
-- Idempotency: by trigger.
-- Raises: SW001 for bad input; SW002 when the workflow or version does not exist; SW006 over a limit.
create or replace function stepwell._runs_start(
    p_tenant_id int, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text,
    p_version_no int, p_priority int, p_trace_id text, p_correlation_id text, p_is_watched boolean,
    p_session_id bigint default null, p_class_ids int[] default null, p_hand_on_limit int default 0,
    out new_ids bigint[], out handed_ids bigint[], out leaves_more boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_version stepwell.workflow_version;
    v_created record;
begin
    perform stepwell._start_input_check(p_inputs, p_trigger_refs, p_priority, p_trace_id);
    v_version := stepwell._version_find(p_tenant_id, p_workflow_name, p_version_no);
    with fresh as (
        insert into stepwell.run_detail (
            tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
            started_by, next_unit_no, created_at, is_watched)
        select
            p_tenant_id, nextval('stepwell.stream_seq'), v_version.version_id, v_version.workflow_id,
            coalesce(p_trigger_type, p_workflow_name), q.trigger_ref, coalesce(q.input, '{}'), p_trace_id, p_correlation_id,
            p_actor, v_version.step_count + 1, v_now, p_is_watched
        from unnest(p_inputs, p_trigger_refs) with ordinality as q (input, trigger_ref, ord)
        order by q.trigger_ref, q.ord
        on conflict do nothing
        returning run_id
    )
    select array_agg(f.run_id order by f.run_id) into new_ids from fresh as f;
    leaves_more := false;
    if new_ids is not null then
        perform stepwell._start_rate_check(p_tenant_id, v_version.workflow_id, v_now);
        v_created := stepwell._run_create(p_tenant_id, v_version, new_ids, p_priority, p_actor, p_session_id => p_session_id,
            p_class_ids => p_class_ids, p_hand_on_limit => p_hand_on_limit);
        handed_ids := v_created.handed_ids;
        leaves_more := v_created.leaves_more;
    end if;
end
$$;
