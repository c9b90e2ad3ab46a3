-- Clients wait: for the ends of runs, or for what happens in a run.

-- The state and result of runs, for a client that will wait for their ends: from now on the end of each is notified on the
-- channel stepwell_ended, with the number of the run. A run that does not exist has no row. The
-- result is shown to whoever may read payloads, and to who started the run.
-- Locks: the rows of the runs in run_detail, in the order of their numbers.
-- Idempotency: yes.
-- Raises: SW006 for too many runs; SW007 for another tenant.
create or replace function stepwell.fn_runs_watch(p_tenant_id int, p_run_ids bigint[])
returns table (run_id bigint, state_code text, result jsonb)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_reads constant boolean := stepwell.payload_tenant() is not null;
    v_name constant text := stepwell._caller_name();
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    if cardinality(p_run_ids) > stepwell._limit('limits.start_batch') then
        raise exception using errcode = 'SW006', column = 'runs',
            message = format('runs: %s are too many for one call; at most %s are accepted', cardinality(p_run_ids), stepwell._limit('limits.start_batch'));
    end if;
    with open as (
        select r.run_id
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.run_id = any (p_run_ids) and r.finished_at is null and not r.is_watched
        order by r.run_id
        for update
    )
    update stepwell.run_detail as r set is_watched = true
    from open as o
    where r.tenant_id = p_tenant_id and r.run_id = o.run_id;
    return query
    select stepwell._run_of(u.unit_id), u.state_code,
        case when u.state_code = 'completed' and (v_reads or d.started_by = v_name)
            then stepwell._run_result(u.tenant_id, stepwell._run_of(u.unit_id)) end
    from unnest(p_run_ids) as q (run_id)
    inner join stepwell.run_detail as d on d.tenant_id = p_tenant_id and q.run_id = d.run_id
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(q.run_id);
end
$$;

-- The state of a run, for a client that reads its events as they come. For a minute from now, every change of the counters
-- of the run notifies on the channel stepwell_changed, with the number of the run: the client asks again before the minute
-- is over, and a client that is gone costs nothing for long. It also says how far the log is complete. Events that are
-- written later have a higher number than last_event_id, or come from a transaction that is open and older than before_tx;
-- all transactions before oldest_tx have ended. No row when there is no such run. Called in a transaction of its own.
-- Locks: the run, when the minute is half over.
-- Idempotency: yes.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_run_follow(p_tenant_id int, p_run_id bigint)
returns table (state_code text, last_event_id bigint, oldest_tx bigint, before_tx bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_last_event_id bigint;
    v_tx xid8;
    v_state text;
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    -- First the number, then an id of our own: a session with a higher id gets it after this, and draws its numbers after its
    -- id (_event_append; the core by its update). The xmax of a snapshot would not do: ids beyond it may be open already.
    select s.last_value into v_last_event_id from stepwell.event_seq as s;
    v_tx := pg_current_xact_id();
    update stepwell.run_progress as p set followed_until = v_now + interval '1 minute'
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id
        and (p.followed_until is null or p.followed_until < v_now + interval '30 seconds');
    select u.state_code into v_state
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id);
    if found then
        return query
        select v_state, v_last_event_id, pg_snapshot_xmin(pg_current_snapshot())::text::bigint, v_tx::text::bigint;
    end if;
end
$$;

-- Notifies the clients that follow a run that its counters changed. PostgreSQL sends equal notifications of one commit once.
create or replace function stepwell._progress_notify() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if new.followed_until > stepwell.now() then
        perform pg_notify('stepwell_changed', new.run_id::text);
    end if;
    return null;
end
$$;

create or replace trigger followed_runs_notify
after update on stepwell.run_progress
for each row
when (new.followed_until is not null and new.followed_until is not distinct from old.followed_until)
execute function stepwell._progress_notify();
