-- Purpose: a text of the registry with its {places} filled in.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; a missing text gives its key.
create or replace function stepwell._text_fill(p_text_key text, p_lang text, p_facts jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_text text;
    v_fact record;
begin
    select t.text_value into v_text from stepwell.i18n_text as t where t.text_key = p_text_key and t.lang = p_lang;
    for v_fact in select f.key, f.value from jsonb_each_text(p_facts) as f loop
        v_text := replace(v_text, '{' || v_fact.key || '}', coalesce(v_fact.value, '—'));
    end loop;
    return coalesce(v_text, p_text_key);
end
$$;
