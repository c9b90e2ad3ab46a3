-- How the number of a unit is made, and when a unit has ended. A run and its units share one number:
-- unit_id = (run_id << 20) | unit_no; number 0 is the run itself, or a job that stands on its own.
-- These functions are expressions without settings, so that Postgres writes them into the statement that uses them.

-- The run of a unit.
create or replace function stepwell._run_of(p_unit_id bigint) returns bigint
language sql immutable parallel safe
as $$ select p_unit_id >> 20 $$;

-- The unit of a run: the first of the range of its units.
create or replace function stepwell._run_unit(p_run_id bigint) returns bigint
language sql immutable parallel safe
as $$ select p_run_id << 20 $$;

-- The last unit that a run can have: the end of the range of its units.
create or replace function stepwell._run_last(p_run_id bigint) returns bigint
language sql immutable parallel safe
as $$ select ((p_run_id + 1) << 20) - 1 $$;

-- The number of a unit within its run.
create or replace function stepwell._unit_no(p_unit_id bigint) returns int
language sql immutable parallel safe
as $$ select (p_unit_id & 1048575)::int $$;

-- Whether a step, task or job has ended: nothing more happens to it by itself.
create or replace function stepwell._has_ended(p_state_code text) returns boolean
language sql immutable parallel safe
as $$ select p_state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete') $$;

-- Whether a run has ended.
create or replace function stepwell._run_has_ended(p_state_code text) returns boolean
language sql immutable parallel safe
as $$ select p_state_code in ('completed', 'cancelled', 'failed') $$;

-- The number of the attempt that is under way, or else of the last one; 0 before the first. work_unit.attempt_count has
-- only the attempts that failed or were lost: an attempt that runs, waits or has completed is one more.
create or replace function stepwell._attempt_no(p_state_code text, p_failed_count int, p_started_at timestamptz) returns int
language sql immutable parallel safe
as $$
    select p_failed_count + (
        p_state_code in ('in_progress', 'overdue', 'completed')
        or p_state_code in ('waiting', 'blocked') and p_started_at is not null)::int
$$;

-- How far the handler of a unit said it is: of the attempt under way, or of the last one where none is. What completed has
-- no such line: it is done.
create or replace view stepwell.v_unit_progress with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id,
    jsonb_strip_nulls(jsonb_build_object('done', p.done, 'total', p.total, 'note', p.note, 'at', p.said_at)) as progress
from stepwell.unit_progress as p
inner join stepwell.work_unit as u on p.tenant_id = u.tenant_id and p.unit_id = u.unit_id and p.lease_no = u.lease_no
where u.state_code in ('in_progress', 'overdue', 'waiting', 'blocked', 'failed', 'cannot_complete');
