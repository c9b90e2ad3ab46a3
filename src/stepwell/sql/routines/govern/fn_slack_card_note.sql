-- Purpose: notes what came of showing an approval in Slack: the message and what it shows, or why it could not be shown;
--   then it is tried again, each time later.
-- Locks: the card.
-- Idempotency: the same note again changes nothing but its time.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_slack_card_note(
    p_tenant_id int, p_approval_id bigint, p_message_ts text default null, p_face text default null,
    p_is_final boolean default false, p_error text default null, p_retry_seconds int default null
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    update stepwell.slack_card as c set
        message_ts = coalesce(p_message_ts, c.message_ts),
        face = coalesce(p_face, c.face),
        is_final = c.is_final or p_is_final,
        last_error = left(p_error, 2000),
        try_count = case when p_error is null then 0 else c.try_count end,
        next_try_at = case when p_error is null then stepwell.now() else stepwell.now() + make_interval(secs => greatest(
            coalesce(p_retry_seconds, 0), least(2 ^ least(c.try_count, 20), stepwell._limit('slack.card_retry_seconds')))) end,
        noted_at = stepwell.now()
    where c.tenant_id = p_tenant_id and c.approval_id = p_approval_id;
end
$$;
