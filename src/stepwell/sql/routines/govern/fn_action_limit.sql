-- Purpose: bounds the next statements of this transaction: a judgement that takes too long is ended, which is a refusal.
-- Locks: none.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell.fn_action_limit() returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform set_config('statement_timeout', stepwell._limit('policy.timeout_ms')::text, true);
    -- Who waits for a lock that long gives up and comes again: that is no answer of the policy.
    perform set_config('lock_timeout', (stepwell._limit('policy.timeout_ms') / 2)::text, true);
end
$$;
