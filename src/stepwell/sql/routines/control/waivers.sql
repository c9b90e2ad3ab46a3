-- What the engine grants in development mode is told in the log.

-- Appends the event that the engine granted this action itself; nothing outside development mode.
create or replace function stepwell._waiver_tell(p_tenant_id int, p_unit_id bigint, p_action text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._event_append(p_tenant_id, p_unit_id, 'approval.waived', 'engine',
        jsonb_build_object('action', p_action, 'because', stepwell._approval_waiver(p_action)))
    from stepwell.fn_mode_read() as m
    where m.mode = 'development';
end
$$;
