-- A refused state change as an error that people can read: a sentence that names the unit and what would help. The codes
-- stay beside it for programs.

-- Raises the refusal of a state change, or of a call when no state is asked for. The sentence is the message; DETAIL is a
-- JSON object: codes, the sentence in Vietnamese (vi), and the event that was rejected, if one was.
-- Raises: SW004.
create or replace function stepwell._refuse(
    p_tenant_id int, p_unit_id bigint, p_to_state text, p_problems text[], p_evidence jsonb
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    raise exception using errcode = 'SW004',
        message = stepwell._refusal_sentence(v_unit, p_to_state, p_problems, p_evidence, 'en'),
        detail = jsonb_strip_nulls(jsonb_build_object('codes', p_problems, 'rejected', (
                select stepwell._event_rejected(p_tenant_id, p_unit_id, split_part(c.problem, ':', 2), p_evidence -> 'payload')
                from unnest(p_problems) as c (problem) where c.problem like 'event\_payload\_invalid:%' limit 1),
            'vi', stepwell._refusal_sentence(v_unit, p_to_state, p_problems, p_evidence, 'vi')));
end
$$;

-- The sentence of a refusal: a frame of the registry (refusal.change, refusal.call) with a clause for each problem.
create or replace function stepwell._refusal_sentence(
    p_unit stepwell.work_unit, p_to_state text, p_problems text[], p_evidence jsonb, p_lang text
) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    with fact as (
        select jsonb_build_object(
            'ref', stepwell._run_of(p_unit.unit_id) || '.' || stepwell._unit_no(p_unit.unit_id),
            'unit', stepwell._title_of(p_unit.tenant_id, p_unit.unit_id, p_lang),
            'state', stepwell._state_word(p_unit.state_machine_id, p_unit.state_code, p_lang),
            'to_state', stepwell._state_word(p_unit.state_machine_id, p_to_state, p_lang),
            'actor', coalesce(p_evidence ->> 'actor', stepwell._person_name(p_unit.tenant_id, (p_evidence ->> 'actor_id')::bigint)),
            'pic', coalesce(stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), stepwell._text_fill('refusal.nobody', p_lang, '{}')),
            'takers', (select coalesce(nullif(concat_ws(', ', a.role, a.assignee), ''), stepwell._text_fill('refusal.anybody', p_lang, '{}')) from stepwell._step_asks(p_unit) as a),
            'roles', (select string_agg(r.role_name, ', ') from stepwell.dot_config as c
                cross join lateral jsonb_array_elements_text(c.config_value) as r (role_name)
                where c.config_key = 'people.overseer_roles')) as facts
    ), clause as (
        select p.place, stepwell._text_fill(k.text_key, p_lang, f.facts || jsonb_build_object('problem', k.problem, 'next', k.next)) as clause
        from fact as f
        cross join unnest(p_problems) with ordinality as p (problem, place)
        cross join lateral stepwell._refusal_clause(p_unit, p.problem, p_evidence, p_lang) as k
    )
    select stepwell._text_fill(case when p_to_state is null then 'refusal.call' else 'refusal.change' end, p_lang,
        f.facts || jsonb_build_object('reasons', left((select string_agg(distinct c.clause, '; ') from clause as c), 800)))
    from fact as f
$$;

-- Which text of the registry tells a problem of _transition_problems, and what to put into it.
create or replace function stepwell._refusal_clause(
    p_unit stepwell.work_unit, p_problem text, p_evidence jsonb, p_lang text, out text_key text, out problem text, out next text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_code constant text := split_part(p_problem, ':', 1);
    v_rest constant text := btrim(substr(p_problem, length(v_code) + 2));
begin
    text_key := 'refusal.' || v_code;
    problem := v_rest;
    if v_code = 'transition_refused_by_guard' then
        -- Without a person in charge it would be of no use to say that only that person may.
        text_key := 'guard.' || case when v_rest = 'actor_is_pic' and p_unit.pic_id is null then 'pic_assigned' else v_rest end;
        if v_rest = 'output_contract_met' then
            problem := stepwell._output_contract_problem(p_unit, p_evidence -> 'output');
        elsif not exists (select from stepwell.guard_predicate as g where g.predicate_name = v_rest) then
            text_key := 'refusal.expression';
        end if;
    elsif v_code = 'no_transition' then
        select string_agg(distinct stepwell._state_word(r.state_machine_id, r.to_state, p_lang), ', ') into next
        from stepwell.transition_rule as r
        where r.state_machine_id = p_unit.state_machine_id and r.from_state = p_unit.state_code
            and r.actor_class = substring(v_rest from ' by (\S+)$') and not r.leases_directly and not r.proposed;
        text_key := case when next is null then 'refusal.no_way_on' else text_key end;
    elsif v_code like 'state\_is\_%' then
        text_key := 'refusal.state_is';
    elsif v_code like 'run\_kind\_is\_%' then
        text_key := 'refusal.run_kind_is';
    end if;
end
$$;

-- A state in words, within a sentence; its code when it has no label.
create or replace function stepwell._state_word(p_machine_id text, p_state_code text, p_lang text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select lower(t.text_value) from stepwell.state_def as s
        inner join stepwell.i18n_text as t on s.ui_label_i18n_key = t.text_key and t.lang = p_lang
        where s.state_machine_id = p_machine_id and s.state_code = p_state_code), p_state_code)
$$;
