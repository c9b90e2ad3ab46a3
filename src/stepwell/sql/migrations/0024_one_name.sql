-- One name for each thing. The run's id is run_id, a Conditional is a conditional, what a policy says is a verdict, what a
-- run needs is mandatory, what kind of worker an operation needs is its executor class. docs/renames.md has the whole map.

-- Views keep the names of the columns they were made from; they are made again with the routines.
do $$
declare
    v_view text;
begin
    for v_view in select unnest(r.view_names) from stepwell.schema_routine as r loop
        execute format('drop view if exists %s cascade', v_view);
    end loop;
end
$$;

-- The run's id. Jobs, approvals, proposals and receipts that stand on their own have numbers from the same sequence.
alter sequence stepwell.stream_seq rename to run_seq;
alter table stepwell.event_log rename column stream_id to run_id;
alter index stepwell.events_by_stream rename to events_by_run;
comment on column stepwell.event_log.run_id is
    'The run, or the job, approval, proposal or receipt that stands on its own: unit_id >> 20.';
alter table stepwell.event_wait rename column stream_id to run_id;
alter table stepwell.event_inbox rename column stream_id to run_id;
alter table stepwell.audit_block_stream rename column stream_id to run_id;

-- What kind of worker carries out an operation.
alter table stepwell.executor_class rename column class_id to executor_class_id;
alter table stepwell.operation rename column class_id to executor_class_id;
alter table stepwell.work_unit rename column class_id to executor_class_id;
alter table stepwell.job_ready rename column class_id to executor_class_id;
alter table stepwell.worker_session rename column class_ids to executor_class_ids;
alter type stepwell.unit_change rename attribute class_id to executor_class_id;
comment on type stepwell.unit_change is
    'A unit that changed and has to be queued (executor_class_id), counted by a map (map_id), or frees a slot.';

-- Conditionals.
alter table stepwell.workflow_step_def drop constraint step_kind_is_known;
update stepwell.workflow_step_def set step_kind = 'conditional' where step_kind = 'decision';
alter table stepwell.workflow_step_def add constraint step_kind_is_known
    check (step_kind in ('operation', 'human', 'wait', 'subworkflow', 'conditional', 'map'));
alter table stepwell.workflow_branch rename column decision_no to conditional_no;
alter table stepwell.workflow_branch rename constraint branch_decision_exists to branch_conditional_exists;
update stepwell.event_field_def set
    field_name = 'conditional', description = 'The Conditional that did not take the branch'
where field_name = 'decision' and event_type <> 'approval.vote_recorded';
update stepwell.i18n_text set text_value = replace(text_value, '{decision}', '{conditional}')
where text_value like '%{decision}%';

-- Mandatory steps.
alter table stepwell.workflow_step_def add column mandatory boolean not null default true;
update stepwell.workflow_step_def set mandatory = false where optional;
alter table stepwell.workflow_step_def drop column optional;

-- What a policy says to an action is a verdict; a decision is what a voter says to an approval.
alter table stepwell.policy_decision rename to policy_verdict;
alter table stepwell.policy_verdict rename column decision_id to verdict_id;
alter table stepwell.policy_verdict rename constraint policy_decision_pkey to policy_verdict_pkey;
alter table stepwell.action_receipt rename column decision_id to verdict_id;

-- A released step that is leased directly to the session whose call released it.
alter materialized view stepwell.transition_rule rename column hands_on to leases_directly;
comment on materialized view stepwell.transition_rule is
    'The registry as the transition core reads it: one row for each edge, and one for each pair of edges taken at once (leases_directly).';
comment on column stepwell.transition_rule.leases_directly is
    'The step is released and leased to the session that released it in one statement: two edges, one row.';
comment on column stepwell.transition_rule.reached_state is 'The state after the change: to_state, or the state that the lease leads to.';
comment on column stepwell.transition_rule.claim_event_type is 'The event of the second edge, the lease.';

-- The colour that a run gives to the step around it.
alter table stepwell.work_unit rename column lent_class to subrun_class;
alter domain stepwell.lent_class rename constraint a_class_is_lent_by_a_colour to subrun_class_is_known;
alter domain stepwell.lent_class rename to subrun_class;

-- What the transition core takes: the requested changes, and who makes them, by which trigger.
create type stepwell.transition_request as (
    tenant_id int,
    unit_id bigint,
    to_state text,
    from_state text,
    evidence jsonb,
    payload jsonb,
    released_count int,
    lease_no int
);
comment on type stepwell.transition_request is
    'One requested change of state. from_state and lease_no are checked where they are given; released_count predecessors end with it.';
create type stepwell.transition_cause as (
    actor_class text,
    trigger_kind text,
    trigger_ref text,
    actor text,
    session_id bigint,
    at timestamptz,
    engine_from int,
    direct_count int,
    direct_session_id bigint
);
comment on type stepwell.transition_cause is
    'Who makes the changes of one call, and by which trigger. Requests from number engine_from on are the engine''s own; the first direct_count of these are leased to direct_session_id.';
