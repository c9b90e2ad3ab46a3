-- The Slack accounts of people, and the callbacks that Slack sends.

-- Connects a Slack account with a person. A person has one account, an account belongs to one person.
-- Locks: the account's row and the person's.
-- Idempotency: the same again changes nothing.
-- Raises: SW001 for a text that is no id; SW002 when there is no such person; SW003 when the account or the person is
--   connected already; SW007 for another tenant.
create or replace function stepwell.fn_slack_user_map(
    p_tenant_id int, p_slack_user_id text, p_person_name text, p_actor text
) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id bigint;
    v_taken record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'principal.change');
    if p_slack_user_id is null or p_slack_user_id !~ '^[UW][A-Z0-9]{1,30}$' then
        raise exception using errcode = 'SW001', column = 'slack_user_id',
            message = 'slack_user_id: the id of a member is required, not the name', hint = 'such as U0123456789';
    end if;
    v_person_id := stepwell._person_find(p_tenant_id, p_person_name);
    insert into stepwell.slack_user (tenant_id, slack_user_id, person_id, mapped_at, mapped_by)
    values (p_tenant_id, p_slack_user_id, v_person_id, stepwell.now(), p_actor)
    on conflict do nothing;
    if found then
        perform stepwell._event_append(p_tenant_id, 0, 'slack.connected', p_actor, jsonb_build_object(
            'slack_user_id', p_slack_user_id, 'name', stepwell._person_name(p_tenant_id, v_person_id)));
        return true;
    end if;
    select s.slack_user_id, s.person_id into v_taken
    from stepwell.slack_user as s
    where s.tenant_id = p_tenant_id and (s.slack_user_id = p_slack_user_id or s.person_id = v_person_id)
    order by (s.slack_user_id = p_slack_user_id) desc limit 1;
    if v_taken.slack_user_id = p_slack_user_id and v_taken.person_id = v_person_id then
        return false;
    end if;
    raise exception using errcode = 'SW003', hint = 'disconnect that first', message = format(
        'Slack account %s already belongs to %s', v_taken.slack_user_id, stepwell._person_name(p_tenant_id, v_taken.person_id));
end
$$;

-- Disconnects a Slack account.
-- Locks: the account's row.
-- Idempotency: an account that is not connected stays so, and false is returned.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_slack_user_unmap(p_tenant_id int, p_slack_user_id text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id bigint;
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    delete from stepwell.slack_user as s where s.tenant_id = p_tenant_id and s.slack_user_id = p_slack_user_id
    returning s.person_id into v_person_id;
    if not found then
        return false;
    end if;
    perform stepwell._event_append(p_tenant_id, 0, 'slack.disconnected', stepwell._caller_name(), jsonb_build_object(
        'slack_user_id', p_slack_user_id, 'name', stepwell._person_name(p_tenant_id, v_person_id)));
    return true;
end
$$;

-- Accepts a signed callback once, while it is new. The caller has checked the signature.
-- Locks: the row of the signature.
-- Idempotency: none, on purpose: the second time is refused.
-- Raises: SW001 without a signature; SW003 when it was accepted before; SW007 when its time is too old or too new, or
--   for another tenant.
create or replace function stepwell.fn_slack_callback_accept(p_tenant_id int, p_signature text, p_sent_epoch bigint)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_window constant interval := make_interval(secs => stepwell._limit('slack.callback_seconds'));
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_signature is null or p_signature !~ '^v[0-9]=[0-9a-f]{1,128}$' or p_sent_epoch not between 0 and 253402300799
        or p_sent_epoch is null then
        raise exception using errcode = 'SW001', column = 'signature', message = 'signature: a signature and its time are required';
    end if;
    if to_timestamp(p_sent_epoch) not between v_now - v_window and v_now + v_window then
        raise exception using errcode = 'SW007', message = 'the time of the callback is too far from now',
            hint = 'check the clocks of the database and of this machine';
    end if;
    -- Older ones are refused by their time.
    delete from stepwell.slack_callback as c where c.tenant_id = p_tenant_id and c.seen_at < v_now - 3 * v_window;
    insert into stepwell.slack_callback (tenant_id, signature, seen_at) values (p_tenant_id, p_signature, v_now)
    on conflict do nothing;
    if not found then
        raise exception using errcode = 'SW003', message = 'the callback was accepted before';
    end if;
end
$$;

-- The person of a Slack account, for who answers Slack; nothing when the account belongs to nobody.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_slack_user_find(p_tenant_id int, p_slack_user_id text)
returns table (slack_user_id text, person_name text, is_active boolean, mapped_at timestamptz, mapped_by text)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    perform stepwell._tenant_bound(p_tenant_id);
    return query select u.slack_user_id, u.person_name, u.is_active, u.mapped_at, u.mapped_by
    from stepwell.v_slack_user as u where u.tenant_id = p_tenant_id and u.slack_user_id = p_slack_user_id;
end
$$;

-- Decides an approval as the person of a Slack account. What speaks with Slack has proved that the account pressed the
-- button; which person that is, only the database says.
-- Locks: as fn_approval_decide.
-- Idempotency: as fn_approval_decide.
-- Raises: SW007 when the account belongs to nobody, or for another tenant; and as fn_approval_decide.
create or replace function stepwell.fn_slack_approval_decide(
    p_tenant_id int, p_slack_user_id text, p_approval_id bigint, p_decision text, p_shown text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_person record;
begin
    select u.person_name, u.is_active into v_person from stepwell.fn_slack_user_find(p_tenant_id, p_slack_user_id) as u;
    if not found then
        raise exception using errcode = 'SW007', message = 'your Slack account belongs to no person',
            hint = 'an operator can assign it with: stepwell slack map PERSON ' || p_slack_user_id;
    end if;
    return stepwell.fn_approval_decide(p_tenant_id, p_approval_id, p_decision, 'slack:' || v_person.person_name,
        p_shown, p_reason);
end
$$;

-- Slack accounts and the people they belong to.
create or replace view stepwell.v_slack_user with (security_invoker = true) as
select s.tenant_id, s.slack_user_id, p.person_name, p.is_active, s.mapped_at, s.mapped_by
from stepwell.slack_user as s
inner join stepwell.person as p on s.tenant_id = p.tenant_id and s.person_id = p.person_id;
