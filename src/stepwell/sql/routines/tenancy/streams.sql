-- Rights of open streams: they last long, so who opened them is asked for again while they are open.

-- What each of these tokens may still read: each is valid, has not been idle for too long, and its principal and the token itself
-- allow `read`. 0: nothing; 1: no payloads, and no events of handlers; 3: everything; 5 and 7: the same without steps that are
-- hidden. A stream does not count as use of a session.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW006 for too many tokens.
create or replace function stepwell.fn_tokens_read_allowed(p_tokens text[]) returns table (place int, reads int)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if cardinality(p_tokens) > 10000 then
        raise exception using errcode = 'SW006', column = 'tokens', message = 'tokens: at most 10000 at once';
    end if;
    return query
    select q.place::int, coalesce((
        select stepwell._reads_of(t.tenant_id, t.principal_id, t.verbs)
        from stepwell.access_token as t
        inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
        where t.token_hash = sha256(convert_to(q.token, 'UTF8')) and t.revoked_at is null and t.expires_at > stepwell.now() and p.is_active
            and (t.kind <> 'session' or t.last_seen_at + make_interval(secs => t.idle_seconds) > stepwell.now())), 0)
    from unnest(p_tokens) with ordinality as q (token, place);
end
$$;
