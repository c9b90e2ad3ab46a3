-- Sentences that people read: texts of the registry, filled in.

-- A text of the registry with its {places} filled in. A value may contain places too, {state.ready.label} or
-- {vocab.block_reason.other}: they become the text or the word of that name. A missing text gives its key.
create or replace function stepwell._text_fill(p_text_key text, p_lang text, p_facts jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_text text;
    v_fact record;
begin
    select t.text_value into v_text from stepwell.i18n_text as t where t.text_key = p_text_key and t.lang = p_lang;
    for v_fact in
        select f.key, case when f.value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$'
            then to_char(f.value::timestamptz at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') else f.value end as value
        from jsonb_each_text(p_facts) as f
    loop
        v_text := replace(v_text, '{' || v_fact.key || '}', coalesce(v_fact.value, '—'));
    end loop;
    for v_fact in
        select m.found[1] as key, coalesce(t.text_value, c.config_value ->> p_lang) as value
        from regexp_matches(v_text, '\{((?:state|facet|vocab|approval|proposal|receipt|cut_request)\.[a-z_.]+)\}', 'g') as m (found)
        left join stepwell.i18n_text as t on t.text_key = m.found[1] and t.lang = p_lang
        left join stepwell.dot_config as c on c.config_key = m.found[1]
    loop
        v_text := replace(v_text, '{' || v_fact.key || '}', coalesce(v_fact.value, v_fact.key));
    end loop;
    return coalesce(v_text, p_text_key);
end
$$;

-- A text in which every character can be seen: a control character (except new line and tab), a character without width and
-- one that changes the direction of what follows become their number, such as \u202E.
create or replace function stepwell._visible(p_text text) returns text
language plpgsql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
declare
    v_hidden constant text := '[\u0001-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uE000-\uF8FF\uFE00-\uFE0E\uFEFF\uFFA0\uFFF0-\uFFFB\uFFFE\uFFFF\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF\U000F0000-\U0010FFFF]';
    v_char text;
begin
    if p_text ~ v_hidden then
        for v_char in select distinct m.found[1] from regexp_matches(p_text, v_hidden, 'g') as m (found) loop
            p_text := replace(p_text, v_char, '\u' || lpad(upper(to_hex(ascii(v_char))), greatest(4, length(to_hex(ascii(v_char)))), '0'));
        end loop;
    end if;
    return p_text;
end
$$;
