-- Purpose: what a claim must know of a session: what it takes, whether it is idle, and what time it is.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW005 when the session has ended.
create or replace function stepwell._session_of(
    p_session_id bigint, out class_ids int[], out is_idle boolean, out now timestamptz
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    _session_of.now := stepwell.now();
    select s.class_ids, s.is_idle into class_ids, is_idle
    from stepwell.worker_session as s
    where s.session_id = p_session_id and s.closed_at is null and s.expires_at >= _session_of.now;
    if not found then
        raise exception using errcode = 'SW005',
            message = format('worker session %s has ended; open a new one', p_session_id);
    end if;
end
$$;
