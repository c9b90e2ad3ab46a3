-- Settings are the same for every tenant, so the log of every tenant tells when one changes, and who changed it.

-- Appends the change of a setting to the log of every tenant.
-- Raises: what the log raises.
create or replace function stepwell._setting_changed() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    if tg_op = 'UPDATE' and (old.config_key, old.config_value) is not distinct from (new.config_key, new.config_value) then
        return null;
    end if;
    -- The event needs the partition of this month.
    perform stepwell.fn_partitions_ensure(null, 0);
    perform stepwell._event_append(t.tenant_id, 0, 'setting.changed', stepwell._caller_name(), jsonb_strip_nulls(jsonb_build_object(
        'key', coalesce(new.config_key, old.config_key),
        'before', case when tg_op <> 'INSERT' then old.config_value::text end,
        'after', case when tg_op <> 'DELETE' then new.config_value::text end)))
    from stepwell.tenant as t
    order by t.tenant_id;
    return null;
end
$$;
create or replace trigger a_changed_setting_is_told
after insert or update or delete on stepwell.dot_config
for each row execute function stepwell._setting_changed();
