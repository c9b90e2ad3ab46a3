-- Purpose: time travel: the state of a run and of each of its units as they were after an event, or at a moment,
--   folded from the log alone.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 when neither a position nor a moment is given; SW002 when there is no such run; SW007 for another tenant.
create or replace function stepwell.fn_run_state_at(
    p_tenant_id int, p_run_id bigint, p_event_id bigint default null, p_at timestamptz default null
) returns table (unit_id bigint, scope text, step_id text, item_no int, state_code text, since_at timestamptz, event_id bigint)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_event_id is null and p_at is null then
        raise exception using errcode = 'SW001', message = 'at: a position in the log or a moment is required';
    end if;
    if not exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id) then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return query
    with past as (
        select distinct on (e.unit_id) e.unit_id, e.to_state, e.at, e.event_id
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.stream_id = p_run_id and e.to_state is not null
            and (p_event_id is null or e.event_id <= p_event_id) and (p_at is null or e.at <= p_at)
        order by e.unit_id, e.event_id desc
    )
    select u.unit_id, u.scope, d.step_id, u.item_no, coalesce(p.to_state, 'not_started'), coalesce(p.at, r.created_at), p.event_id
    from stepwell.run_detail as r
    inner join stepwell.work_unit as u
        on r.tenant_id = u.tenant_id and u.unit_id between r.run_id << 20 and ((r.run_id + 1) << 20) - 1
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join past as p on u.unit_id = p.unit_id
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id
        -- Steps of a map's items exist from the moment the map began.
        and (u.item_no is null or p.unit_id is not null or exists (
            select from past as m where m.unit_id = u.parent_id and m.to_state not in ('not_started', 'ready')))
    order by u.unit_id;
end
$$;
