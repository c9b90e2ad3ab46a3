-- Purpose: says whose Slack account it is. A person has one, an account belongs to one person.
-- Locks: the account's row and the person's.
-- Idempotency: the same again changes nothing.
-- Raises: SW001 for an id that is none; SW002 when there is no such person; SW003 when the account or the person is taken;
--   SW007 for another tenant.
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
    perform stepwell._tenant_bound(p_tenant_id);
    if p_slack_user_id is null or p_slack_user_id !~ '^[UW][A-Z0-9]{1,30}$' then
        raise exception using errcode = 'SW001', column = 'slack_user_id',
            message = 'slack_user_id: the id of a member is required, not the name', hint = 'such as U0123456789';
    end if;
    v_person_id := stepwell._person_find(p_tenant_id, p_person_name);
    insert into stepwell.slack_user (tenant_id, slack_user_id, person_id, mapped_at, mapped_by)
    values (p_tenant_id, p_slack_user_id, v_person_id, stepwell.now(), p_actor)
    on conflict do nothing;
    if found then
        return true;
    end if;
    select s.slack_user_id, s.person_id into v_taken
    from stepwell.slack_user as s
    where s.tenant_id = p_tenant_id and (s.slack_user_id = p_slack_user_id or s.person_id = v_person_id)
    order by (s.slack_user_id = p_slack_user_id) desc limit 1;
    if v_taken.slack_user_id = p_slack_user_id and v_taken.person_id = v_person_id then
        return false;
    end if;
    raise exception using errcode = 'SW003', hint = 'take that away first', message = format('%s is already %s',
        v_taken.slack_user_id, stepwell._person_name(p_tenant_id, v_taken.person_id));
end
$$;
