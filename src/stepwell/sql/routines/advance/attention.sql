-- Runs with the mark needs_attention have something that depends on several steps at once; it is checked again after
-- each change. Callers hold the lock of the run. SW004: the registry refuses.

-- Checks again what depends on the other steps of a run: approvals that nobody needs any more, corrections that can
-- continue, blocks that change their severity, conditionals that wait for steps behind a cancelled one. The last two are
-- looked for among all steps, only in a run with the mark watches_steps. Removes the marks of a run that has nothing of
-- this kind left.
create or replace function stepwell._attention_settle(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._approvals_outlived(p_tenant_id, p_run_id);
    perform stepwell._corrections_settle(p_tenant_id, p_run_id);
    if (select p.watches_steps from stepwell.run_progress as p where p.tenant_id = p_tenant_id and p.run_id = p_run_id) then
        perform stepwell._blocks_weigh(p_tenant_id, p_run_id);
        if not stepwell._conditionals_resume(p_tenant_id, p_run_id) then
            update stepwell.run_progress as p set watches_steps = false
            where p.tenant_id = p_tenant_id and p.run_id = p_run_id and not exists (
                select from stepwell.work_unit as u
                where u.tenant_id = p_tenant_id
                    and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
                    and u.state_code = 'blocked');
        end if;
    end if;
    update stepwell.run_progress as p set needs_attention = false
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id and p.needs_attention and not p.watches_steps
        and not exists (
        select from stepwell.step_run_correction_cycle as c
        where c.tenant_id = p_tenant_id and c.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and c.closed_at is null)
        and not exists (
        select from stepwell.approval_detail as a
        where a.tenant_id = p_tenant_id and a.subject_unit_id between stepwell._run_unit(p_run_id) and stepwell._run_last(p_run_id)
            and a.decided_at is null);
end
$$;

-- Continues the corrections of a run: a reopened step whose predecessors are corrected goes on; one whose predecessor
-- cannot complete or was cancelled is cancelled too; the cycle of a step that has ended again is closed.
create or replace function stepwell._corrections_settle(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_next record;
    v_count int;
begin
    loop
        v_count := 0;
        for v_next in
            select u.unit_id, u.executor_class_id, u.pic_id, bool_or(b.state_code in ('cannot_complete', 'cancelled')) as is_lost,
                max(c.root_unit_id) as root_unit_id
            from stepwell.step_run_correction_cycle as c
            inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.unit_id = u.unit_id
            cross join lateral unnest(c.waits_for) as x (unit_id)
            inner join stepwell.work_unit as b on b.tenant_id = c.tenant_id and b.unit_id = x.unit_id
            where c.tenant_id = p_tenant_id and c.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
                and c.closed_at is null and u.state_code = 'waiting' and u.waiting_facet = 'waiting_dependency'
            group by u.unit_id, u.executor_class_id, u.pic_id
            having bool_and(b.state_code in ('completed', 'skipped')) or bool_or(b.state_code in ('cannot_complete', 'cancelled'))
            order by u.unit_id
        loop
            v_count := v_count + 1;
            if v_next.is_lost then
                perform stepwell._units_move(array[p_tenant_id], array[v_next.unit_id], 'cancelled', 'mow_orchestrator',
                    'condition_resolved', 'upstream_failed', 'engine', null, array['{"reason": "upstream_failed"}'::jsonb]);
                perform stepwell._dependents_abort(array[p_tenant_id], array[v_next.unit_id]);
            else
                perform stepwell._units_wake(array[p_tenant_id], array[v_next.unit_id], 'RESUMED', 'correction', null,
                    array['correction:' || v_next.root_unit_id]);
                perform stepwell._inputs_store(p_tenant_id, v_next.unit_id);
            end if;
        end loop;
        exit when v_count = 0;
    end loop;
    perform stepwell._outputs_empty(array_agg(c.tenant_id), array_agg(c.unit_id))
    from stepwell.step_run_correction_cycle as c
    where c.tenant_id = p_tenant_id and c.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and c.closed_at is null;
    update stepwell.step_run_correction_cycle as c set closed_state = u.state_code, closed_at = u.last_transition_at
    from stepwell.work_unit as u
    where c.tenant_id = p_tenant_id and c.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and c.closed_at is null and u.tenant_id = c.tenant_id and u.unit_id = c.unit_id
        and u.state_code in ('completed', 'cannot_complete', 'cancelled');
end
$$;

-- Cancels open approvals of a run and its steps that nobody needs any more (A4): their subject has ended; or, when it
-- had ended before they were requested, it was cancelled or opened in another way. The approvals are changed in id
-- order.
create or replace function stepwell._approvals_outlived(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_gone record;
begin
    select array_agg(a.tenant_id) as tenant_ids, array_agg(a.approval_id order by a.approval_id) as approval_ids,
        array_agg('{"reason": "subject_ended"}'::jsonb) as payloads
    into v_gone
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as r on r.tenant_id = a.tenant_id and r.unit_id = stepwell._run_unit(p_run_id)
    inner join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id
    where a.tenant_id = p_tenant_id and a.decided_at is null and a.action <> 'act'
        and a.subject_unit_id between stepwell._run_unit(p_run_id) and stepwell._run_last(p_run_id)
        and case a.action
            when 'block_escalate' then s.state_code <> 'blocked'
            -- A run that had failed before the request can still be cancelled.
            when 'workflow_cancel' then r.state_code in ('completed', 'cancelled')
                or (r.state_code = 'failed' and stepwell._changed_since_asked(r, a))
            when 'reopen' then r.state_code = 'cancelled'
                or (s.scope = 'step' and s.state_code not in ('completed', 'cannot_complete'))
            when 'replay' then exists (select from stepwell.dlq_replay_request as q
                inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
                where q.tenant_id = a.tenant_id and q.approval_id = a.approval_id and u.state_code <> 'cannot_complete')
            else s.state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete', 'failed')
                and (s.state_code <> 'failed' or s.scope = 'workflow_run')
                and stepwell._changed_since_asked(s, a) end;
    if v_gone.approval_ids is not null then
        perform stepwell._units_move(v_gone.tenant_ids, v_gone.approval_ids, 'cancelled', 'system', 'condition_resolved',
            'subject_ended', 'engine', null, v_gone.payloads);
        perform stepwell._approvals_close(v_gone.tenant_ids, v_gone.approval_ids, 'engine');
    end if;
end
$$;

-- True when the unit changed its state after the approval was requested. Where both happened at the same time, the
-- order of the log decides.
create or replace function stepwell._changed_since_asked(p_unit stepwell.work_unit, p_approval stepwell.approval_detail)
returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when p_unit.last_transition_at <> p_approval.requested_at
        then p_unit.last_transition_at > p_approval.requested_at
    else (
        select max(e.event_id) from stepwell.event_log as e
        where e.tenant_id = p_unit.tenant_id and e.run_id = stepwell._run_of(p_unit.unit_id) and e.unit_id = p_unit.unit_id
            and e.to_state is not null
    ) > (
        select min(e.event_id) from stepwell.event_log as e
        where e.tenant_id = p_approval.tenant_id and e.run_id = stepwell._run_of(p_approval.approval_id)
            and e.unit_id = p_approval.approval_id
    ) end
$$;

-- Stores who ended these approvals and when, as the events of their end say, and deletes their timers. Replay
-- requests of an approval that was not granted are rejected.
create or replace function stepwell._approvals_close(p_tenant_ids int[], p_approval_ids bigint[], p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.approval_detail as a set decided_at = u.last_transition_at, decided_by = p_actor
    from unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.approval_id = u.unit_id
    where a.tenant_id = q.tenant_id and a.approval_id = q.approval_id and a.decided_at is null;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.approval_id;
    perform stepwell._evidence_renew(array_agg(a.tenant_id), array_agg(a.subject_unit_id))
    from unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    inner join stepwell.approval_detail as a on q.tenant_id = a.tenant_id and q.approval_id = a.approval_id;
    update stepwell.dlq_replay_request as r set proposal_state = 'rejected', outcome_at = stepwell.now()
    from unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.approval_id = u.unit_id
    where r.tenant_id = q.tenant_id and r.approval_id = q.approval_id and r.proposal_state = 'submitted'
        and u.state_code <> 'approved';
end
$$;
