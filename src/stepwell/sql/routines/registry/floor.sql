-- The nine states of the floor, and the gate: a machine that lacks one of them cannot be active.

-- The nine floor states with their class, whether they are terminal, their order and their colour token.
create or replace function stepwell._floor_states()
returns table (state_code text, semantic_class text, is_terminal boolean, ordinal int, ui_color_token text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select f.state_code, f.semantic_class, f.state_code = 'completed', f.ordinal, 'ui.traffic_light.' || f.colour
    from (values
        ('not_started', 'idle', 1, 'gray'), ('ready', 'active', 2, 'green_pale'), ('in_progress', 'active', 3, 'green'),
        ('waiting', 'wait', 4, 'yellow'), ('blocked', 'wait', 5, 'yellow_dark'), ('overdue', 'red', 6, 'red_pale'),
        ('failed', 'red', 7, 'red'), ('cannot_complete', 'red', 8, 'red_dark'), ('completed', 'active', 9, 'green_deep')
    ) as f (state_code, semantic_class, ordinal, colour)
$$;

-- Refuses a machine of work that is active and does not have the nine floor states as the floor has them. Write its states
-- first, then set active.
-- Raises: SW004, naming the states that are missing or different.
create or replace function stepwell._machine_floor_check() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_machine record;
begin
    for v_machine in
        select m.state_machine_id, string_agg(f.state_code, ', ' order by f.ordinal) as missing
        from stepwell.state_machine_def as m
        cross join stepwell._floor_states() as f
        where m.active and m.scope in ('step', 'task', 'job', 'workflow_run') and not exists (
            select from stepwell.state_def as s
            where s.state_machine_id = m.state_machine_id and not s.is_derived
                and (s.state_code, s.semantic_class, s.is_terminal, s.ordinal, s.ui_color_token)
                    = (f.state_code, f.semantic_class, f.is_terminal, f.ordinal, f.ui_color_token))
        group by m.state_machine_id
    loop
        raise exception using errcode = 'SW004', column = 'active', message = format(
            'active: %s cannot be active: it does not have the floor states %s as the floor has them', v_machine.state_machine_id, v_machine.missing);
    end loop;
    return null;
end
$$;
create or replace trigger machine_has_the_floor
after insert or update on stepwell.state_machine_def
for each statement execute function stepwell._machine_floor_check();
create or replace trigger floor_states_stay
after update or delete on stepwell.state_def
for each statement execute function stepwell._machine_floor_check();

-- Gate A: refuses a dialect that cannot say all nine floor states of a step. A state without a word of its own is a row with
-- the word — and a reason.
-- Raises: SW004, naming the dialect and the states.
create or replace function stepwell._dialect_floor_check() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_gap record;
begin
    for v_gap in
        select d.dialect, string_agg(f.state_code, ', ' order by f.ordinal) as missing
        from (select distinct x.dialect from stepwell.state_dialect as x) as d
        cross join stepwell._floor_states() as f
        where not exists (
            select from stepwell.state_dialect as w
            where w.dialect = d.dialect and w.scope = 'step' and w.state_code = f.state_code
                and (w.dialect_code <> '—' or btrim(coalesce(w.note, '')) <> '')
            having bool_or(w.qualifier = '') or (bool_or(w.qualifier = 'transient') and bool_or(w.qualifier = 'permanent')))
        group by d.dialect
    loop
        raise exception using errcode = 'SW004', column = 'dialect', message = format(
            'dialect: %s cannot say the floor states %s; each needs a word, or the word — with a note', v_gap.dialect, v_gap.missing);
    end loop;
    return null;
end
$$;
create or replace trigger dialects_say_the_floor
after insert or update or delete on stepwell.state_dialect
for each statement execute function stepwell._dialect_floor_check();

-- Refuses a colour token that does not declare all that a token must: both pairs of colours with enough contrast and their
-- true ratios, and a shape.
-- Raises: SW004, naming the token and what is wrong with it.
create or replace function stepwell._colour_token_check() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_fault constant text := (select min(f.fault) from stepwell._registry_text_faults() as f
        where f.check_name = 'colour_tokens_complete' and split_part(f.fault, ' ', 1) in (new.config_key, new.config_key || ','));
begin
    if v_fault is not null then
        raise exception using errcode = 'SW004', column = 'config_value', message = v_fault;
    end if;
    return null;
end
$$;
create or replace trigger tokens_are_complete
after insert or update on stepwell.dot_config
for each row when (new.config_key like 'ui.traffic\_light.%') execute function stepwell._colour_token_check();
