-- The mode of a database, development or strict, and what the engine grants in it.

-- The mode of this database: development or strict; in development mode also the person who acts where nobody is bound.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_mode_read() returns table (mode text, person text, tenant_id int, since timestamptz)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select case when d.left_at is null then 'development' else 'strict' end,
        case when d.left_at is null then p.principal_name end, case when d.left_at is null then d.tenant_id end,
        coalesce(d.left_at, d.entered_at)
    from stepwell.development_mode as d
    inner join stepwell.principal as p on d.tenant_id = p.tenant_id and d.principal_id = p.principal_id
    union all
    select 'strict', null, null, null where not exists (select from stepwell.development_mode)
$$;

-- Why the engine grants this action without the approval of a person; null when an approval is required. The
-- configuration may require none; in development mode the engine grants cancels and replays.
create or replace function stepwell._approval_waiver(p_action text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(
        (select 'the setting ' || c.config_key || ' is false' from stepwell.dot_config as c
            where c.config_key = 'approval.required.' || p_action and c.config_value = 'false'),
        (select 'the database is in development mode' from stepwell.fn_mode_read() as m
            where m.mode = 'development' and p_action in ('workflow_cancel', 'replay')))
$$;

-- Since when this database is a demo that is played; no row when it is none, or was left.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_demo_read() returns table (since timestamptz)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select d.begun_at from stepwell.demo as d where d.left_at is null
$$;
