-- How many problems are open, kept when a row of governance_problem changes: nobody counts by reading all of them.

-- Counts a problem that opens, closes or is removed.
-- Locks: the row of the count and that of the hour; the last locks of a transaction.
create or replace function stepwell._problem_count() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant stepwell.governance_problem := case when tg_op = 'DELETE' then old else new end;
    v_by constant int := case tg_op when 'INSERT' then (new.closed_at is null)::int
        when 'UPDATE' then (new.closed_at is null)::int - (old.closed_at is null)::int else -(old.closed_at is null)::int end;
    v_open int;
begin
    if v_by = 0 then
        return null;
    end if;
    insert into stepwell.governance_count as c (tenant_id, category_code, open_count)
    values (v_problem.tenant_id, v_problem.category_code, greatest(v_by, 0))
    on conflict (tenant_id, category_code) do update set open_count = greatest(c.open_count + v_by, 0)
    returning c.open_count into v_open;
    insert into stepwell.governance_trend as h (tenant_id, category_code, hour_at, opened_count, closed_count, open_count)
    values (v_problem.tenant_id, v_problem.category_code, date_trunc('hour', stepwell.now()), (v_by > 0)::int, (v_by < 0)::int, v_open)
    on conflict (tenant_id, category_code, hour_at) do update set opened_count = h.opened_count + (v_by > 0)::int,
        closed_count = h.closed_count + (v_by < 0)::int, open_count = v_open;
    return null;
end
$$;
create or replace trigger problems_are_counted
after insert or update or delete on stepwell.governance_problem
for each row execute function stepwell._problem_count();

-- Opens a problem that the keeper found, with what people read as its subject and since when it is wrong (null: since now). The same
-- subject is one problem while it is open.
-- Locks: the row of the problem, then that of its count.
create or replace function stepwell._problem_found(
    p_tenant_id int, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamptz
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._problem_open(p_tenant_id, p_category, 'watch', p_subject, p_unit_id, null, p_reason);
    update stepwell.governance_problem as p set title = left(p_title, 500), since_at = least(p.since_at, p_since_at)
    where p.tenant_id = p_tenant_id and p.category_code = p_category and p.duty = 'watch' and p.subject = p_subject
        and p.closed_at is null and (p.title is distinct from left(p_title, 500) or p.since_at > p_since_at);
end
$$;
