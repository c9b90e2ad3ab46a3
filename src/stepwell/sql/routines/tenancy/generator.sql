-- The template generator emits graphs of jobs; it never executes one.

-- Refuses to give a session, a lease or a heartbeat to whom the transaction is bound to, if that is a generator. The person of the
-- development mode has every role and is not meant. Who calls for every worker asks only where something is bound.
-- Raises: SW007.
create or replace function stepwell._executes_check() returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if exists (
        select from stepwell._binding() as b
        inner join stepwell.principal_role as r on b.tenant_id = r.tenant_id and b.principal_id = r.principal_id
        where b.token_id <> 0 and r.role_name = 'MOT_template_generator') then
        raise exception using errcode = 'SW007', message = format('%s has the role MOT_template_generator: the generator never executes',
            stepwell._caller_name()), hint = 'a worker uses no token, or that of another account';
    end if;
end
$$;
