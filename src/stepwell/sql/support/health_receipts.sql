-- Effects in doubt that only a person can settle: their step waits for that, or has ended. Few: an index holds only what
-- is not settled. Counting stops at a limit.
select count(*) from (
    select from stepwell.v_action_receipt where settled_at is null and waits_for = 'person' limit %(limit)s
) as capped;
