-- Of any number of keepers one leads. The lead is a lease with a number: it passes on when the connection of its holder
-- ends, and also when the holder stops renewing it.

-- Takes or renews the lead. Returns its number when this keeper leads, null when another does. The number grows each time
-- the lead passes on: a keeper that was frozen learns by it that it leads no more. What keepers do is safe even while two
-- believe that they lead. The time is that of the server, not of stepwell.now(): a clock that a test moves or stops must
-- not end the lead of a living keeper, nor keep that of a dead one.
-- Locks: the row of the lead, briefly; an advisory lock of the connection as long as it leads.
-- Idempotency: renewing changes nothing but the time.
-- Raises: SW001 for a time out of range.
create or replace function stepwell.fn_keeper_lead(p_holder text, p_fence bigint, p_seconds int) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_class constant int := hashtext('stepwell.keeper_lead');
    v_clock constant timestamptz := clock_timestamp();
    v_lead stepwell.keeper_lead;
    v_fence bigint;
begin
    if p_seconds not between 1 and 86400 or p_seconds is null then
        raise exception using errcode = 'SW001', column = 'seconds', message = 'seconds: 1 to 86400 are accepted';
    end if;
    perform stepwell._secret_refuse('holder', p_holder);
    select l.* into v_lead from stepwell.keeper_lead as l;
    if v_lead.holder = p_holder and v_lead.fence = p_fence and v_lead.expires_at > v_clock then
        if v_lead.expires_at < v_clock + make_interval(secs => p_seconds * 2 / 3.0) then
            -- Not at each look: an idle database writes little.
            update stepwell.keeper_lead as l set expires_at = v_clock + make_interval(secs => p_seconds) where l.fence = p_fence;
        end if;
        return p_fence;
    end if;
    if v_lead.expires_at > v_clock and not pg_try_advisory_xact_lock(v_class, (v_lead.fence % 2147483647)::int) then
        -- Its holder lives and has renewed it.
        return null;
    end if;
    update stepwell.keeper_lead as l
    set fence = l.fence + 1, holder = p_holder, expires_at = v_clock + make_interval(secs => p_seconds)
    where l.fence = v_lead.fence
    returning l.fence into v_fence;
    if v_fence is not null then
        if p_fence is not null then
            perform pg_advisory_unlock(v_class, (p_fence % 2147483647)::int);
        end if;
        perform pg_advisory_lock(v_class, (v_fence % 2147483647)::int);
    end if;
    return v_fence;
end
$$;
