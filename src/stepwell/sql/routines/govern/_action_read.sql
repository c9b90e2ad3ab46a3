-- Purpose: a proposed action in its one form: checked, with its idempotency key (derived from the installation, the
--   unit, its correction cycle and the call where the handler gives none) and the digest of what it does.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._action_read(p_tenant_id int, p_unit_id bigint, p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_field text;
    v_key text := p_action ->> 'key';
begin
    foreach v_field in array array['connector', 'operation', 'target', 'call'] loop
        if coalesce(length(p_action ->> v_field), 0) not between 1 and 2000 then
            raise exception using errcode = 'SW001', column = v_field,
                message = format('%s: a text of 1 to 2000 characters is required', v_field);
        end if;
    end loop;
    if jsonb_typeof(p_action -> 'fields') is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'fields', message = 'fields: an object is required';
    end if;
    if octet_length((p_action -> 'fields')::text) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', column = 'fields', message = 'fields: larger than the limit';
    end if;
    if v_key is null then
        v_key := format('%s:%s:%s:%s', (select c.config_value #>> '{}' from stepwell.dot_config as c
                where c.config_key = 'installation.id'),
            p_unit_id, (select count(*) from stepwell.step_run_correction_cycle as c
                where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id), p_action ->> 'call');
    end if;
    if octet_length(v_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
    return jsonb_build_object('connector', p_action ->> 'connector', 'operation', p_action ->> 'operation',
        'target', p_action ->> 'target', 'fields', p_action -> 'fields', 'key', v_key,
        'writes', coalesce(p_action -> 'writes', 'true'), 'reversible', coalesce(p_action -> 'reversible', 'false'),
        'reverses', p_action -> 'reverses', 'token', left(p_action ->> 'token', 100),
        'hash', encode(sha256(convert_to(jsonb_build_object('connector', p_action ->> 'connector', 'operation',
            p_action ->> 'operation', 'target', p_action ->> 'target', 'fields', p_action -> 'fields')::text, 'UTF8')), 'hex'));
end
$$;
