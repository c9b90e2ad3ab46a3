-- The template generator emits graphs of jobs; it never executes one.

-- Refuses to give a session, a lease or a heartbeat to whom the transaction is bound to, or to take its report, if that one is a
-- generator: one of its roles may emit graphs, whatever verbs its token has. The person of the development mode has every role and
-- is not meant. Who calls for every worker asks only where something is bound.
-- Raises: SW007.
create or replace function stepwell._executes_check() returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if exists (
        select from stepwell._binding() as b
        inner join stepwell.principal_role as r on b.tenant_id = r.tenant_id and b.principal_id = r.principal_id
        inner join stepwell.permission as a on a.tenant_id in (0, b.tenant_id) and r.role_name = a.role_name and a.verb = 'graph.emit'
        where b.token_id <> 0) then
        raise exception using errcode = 'SW007', message = format('%s may emit job graphs: the generator never executes',
            stepwell._caller_name()), hint = 'a worker uses no token, or that of another account';
    end if;
end
$$;
