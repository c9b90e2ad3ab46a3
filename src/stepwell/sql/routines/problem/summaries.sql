-- The one door for sentences about workers, executors and problems. A sentence without its evidence is refused, and none of them
-- resolves anything.

-- Stores what an agent or another program says, with the events it was made from. It is a summary of an AI: the caller says how
-- sure it is, and its name is that of who calls. The same caller replaces its sentence about the same subject. Returns its number.
-- Locks: the row of the sentence.
-- Idempotency: a repeat writes the same sentence again.
-- Raises: as _summary_put; SW006 when the tenant has too many; SW007 for another tenant or without the verb.
create or replace function stepwell.fn_summary_write(
    p_tenant_id int, p_actor text, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text,
    p_source_event_count int, p_source_event_total int, p_source_event_refs text[], p_window_start_at timestamptz,
    p_window_end_at timestamptz, p_summarizer_version text, p_confidence real
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := coalesce(stepwell._actor_bound(p_tenant_id, p_actor, 'summary.write'), stepwell._caller_name());
    v_channel constant text := stepwell._actor_channel(v_actor);
    v_summary_id bigint;
begin
    if p_confidence is null or not p_confidence between 0 and 1 then
        raise exception using errcode = 'SW001', column = 'confidence',
            message = 'confidence: how sure the summarizer is, 0 to 1, is required';
    end if;
    v_summary_id := stepwell._summary_put(p_tenant_id, p_subject_kind, p_subject, p_colour, stepwell._redact_text(p_sentence_en),
        stepwell._redact_text(coalesce(p_sentence_vi, p_sentence_en)), p_source_event_count, p_source_event_total, p_source_event_refs,
        p_window_start_at, p_window_end_at, 'ai_agent', case when v_channel is null then v_actor else substr(v_actor, length(v_channel) + 2) end,
        stepwell._redact_text(p_summarizer_version), p_confidence, v_actor);
    if (select count(*) from stepwell.governance_summary as s where s.tenant_id = p_tenant_id) > stepwell._limit('limits.summaries_per_tenant') then
        raise exception using errcode = 'SW006', column = 'subject',
            message = format('subject: a tenant has at most %s summaries', stepwell._limit('limits.summaries_per_tenant'));
    end if;
    return v_summary_id;
end
$$;

-- Stores one sentence of one summarizer about one subject, after the check of its evidence: at least one event, a window, who made
-- it, and refs that exist in the log of the tenant. Green about a subject with an open problem is refused, because only an event
-- resolves a problem.
-- Locks: the row of the sentence.
-- Raises: SW001 for a field of the evidence that is missing or wrong; SW002 for a subject that does not exist; SW004 for green about
--   an open problem.
create or replace function stepwell._summary_put(
    p_tenant_id int, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text,
    p_source_event_count int, p_source_event_total int, p_source_event_refs text[], p_window_start_at timestamptz,
    p_window_end_at timestamptz, p_summarizer_kind text, p_summarizer_ref text, p_summarizer_version text, p_confidence real,
    p_actor text
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_total constant int := coalesce(p_source_event_total, p_source_event_count);
    v_problem constant text := stepwell._summary_problem(p_tenant_id, p_colour, p_sentence_en, p_sentence_vi, p_source_event_count, v_total,
        p_source_event_refs, p_window_start_at, p_window_end_at, p_summarizer_version);
    v_category text;
    v_summary_id bigint;
begin
    if v_problem is not null then
        raise exception using errcode = 'SW001', column = split_part(v_problem, ':', 1), message = v_problem,
            hint = 'a summary is stored only with the events that it was made from';
    end if;
    v_category := stepwell._summary_category(p_tenant_id, p_subject_kind, p_subject);
    if p_colour = 'green' then
        perform stepwell._summary_resolves_nothing(p_tenant_id, p_subject_kind, p_subject, p_summarizer_ref);
    end if;
    insert into stepwell.governance_summary as s (
        tenant_id, subject_kind, subject, category_code, colour, sentence_en, sentence_vi, source_event_count, source_event_total,
        source_event_refs, window_start_at, window_end_at, summarizer_kind, summarizer_ref, summarizer_version, confidence,
        written_by, written_at)
    values (p_tenant_id, p_subject_kind, p_subject, v_category, p_colour, p_sentence_en, p_sentence_vi, p_source_event_count, v_total,
        p_source_event_refs, p_window_start_at, p_window_end_at, p_summarizer_kind, p_summarizer_ref, p_summarizer_version, p_confidence,
        p_actor, stepwell.now())
    on conflict (tenant_id, subject_kind, subject, summarizer_kind, summarizer_ref) do update
    set category_code = excluded.category_code, colour = excluded.colour, sentence_en = excluded.sentence_en,
        sentence_vi = excluded.sentence_vi, source_event_count = excluded.source_event_count,
        source_event_total = excluded.source_event_total, source_event_refs = excluded.source_event_refs,
        window_start_at = excluded.window_start_at, window_end_at = excluded.window_end_at,
        summarizer_version = excluded.summarizer_version, confidence = excluded.confidence, written_by = excluded.written_by,
        written_at = excluded.written_at
    returning s.summary_id into v_summary_id;
    return v_summary_id;
end
$$;

-- What is missing or wrong in a sentence or its evidence, as field: problem; null when nothing is.
create or replace function stepwell._summary_problem(
    p_tenant_id int, p_colour text, p_sentence_en text, p_sentence_vi text, p_count int, p_total int, p_refs text[],
    p_start_at timestamptz, p_end_at timestamptz, p_version text
) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return case
        when p_colour is null or p_colour not in ('green', 'yellow', 'red') then 'colour: green, yellow and red are accepted'
        when coalesce(btrim(p_sentence_en), '') = '' or length(p_sentence_en) > 500 then 'sentence_en: 1 to 500 characters are accepted'
        when coalesce(btrim(p_sentence_vi), '') = '' or length(p_sentence_vi) > 500 then 'sentence_vi: 1 to 500 characters are accepted'
        when p_count is null or p_count < 1 then 'source_event_count: at least 1 event is required'
        when p_total < p_count then 'source_event_total: must be source_event_count or more'
        when coalesce(cardinality(p_refs), 0) not between 1 and 100 then 'source_event_refs: 1 to 100 are accepted'
        when cardinality(p_refs) > p_count then 'source_event_refs: must not be more than source_event_count'
        when cardinality(p_refs) < least(p_count, 100) then format('source_event_refs: %s are required for %s events', least(p_count, 100), p_count)
        when p_start_at is null or p_end_at is null or not isfinite(p_start_at) or not isfinite(p_end_at)
            then 'window_start_at: the beginning and the end of the window are required'
        when p_end_at < p_start_at then 'window_end_at: must not be before window_start_at'
        when p_end_at > stepwell.now() + interval '1 minute' then 'window_end_at: must not be in the future'
        when coalesce(length(p_version), 0) not between 1 and 100 then 'summarizer_version: 1 to 100 characters are accepted'
        else stepwell._summary_refs_problem(p_tenant_id, p_refs, p_start_at, p_end_at) end;
end
$$;

-- The first ref that is none, is given twice, or is not in the log of the tenant within the window; null when all are.
create or replace function stepwell._summary_refs_problem(p_tenant_id int, p_refs text[], p_start_at timestamptz, p_end_at timestamptz)
returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_wrong text;
begin
    select r.ref into v_wrong from unnest(p_refs) as r (ref)
    where r.ref is null or r.ref !~ '^(event:[0-9]{1,18}:[0-9]{1,18}|heartbeat:[0-9]{1,18})$' limit 1;
    if found then
        return format('source_event_refs: event:RUN:EVENT and heartbeat:SESSION are accepted, not %s', left(coalesce(v_wrong, 'null'), 100));
    end if;
    select r.ref into v_wrong from unnest(p_refs) as r (ref) group by r.ref having count(*) > 1 limit 1;
    if found then
        return format('source_event_refs: %s is given twice', v_wrong);
    end if;
    select r.ref into v_wrong
    from (select q.ref, split_part(q.ref, ':', 2)::bigint as first_no, nullif(split_part(q.ref, ':', 3), '')::bigint as event_id
        from unnest(p_refs) as q (ref)) as r
    where case when r.event_id is null
        then not exists (select from stepwell.worker_session as s where s.session_id = r.first_no and s.last_ok_at >= p_start_at)
        else not exists (select from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.run_id = r.first_no and e.event_id = r.event_id
                and e.at >= p_start_at and e.at <= p_end_at) end
    limit 1;
    if found then
        return format('source_event_refs: %s did not happen in the window', v_wrong);
    end if;
    return null;
end
$$;

-- The category of a sentence: that of its problem, or worker_status.
-- Raises: SW001 for another kind of subject; SW002 when the subject does not exist.
create or replace function stepwell._summary_category(p_tenant_id int, p_subject_kind text, p_subject text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_number constant bigint := case when p_subject ~ '^[0-9]{1,18}$' then p_subject::bigint end;
    v_category text;
begin
    if p_subject_kind is null or p_subject_kind not in ('worker', 'executor', 'problem') then
        raise exception using errcode = 'SW001', column = 'subject_kind', message = 'subject_kind: worker, executor and problem are accepted';
    end if;
    if p_subject_kind = 'problem' then
        select p.category_code into v_category from stepwell.governance_problem as p
        where p.tenant_id = p_tenant_id and p.problem_id = v_number;
    elsif exists (select from stepwell.worker_session as s where p_subject_kind = 'worker' and s.session_id = v_number)
        or exists (select from stepwell.executor_class as c where p_subject_kind = 'executor' and c.class_name = p_subject) then
        v_category := 'worker_status';
    end if;
    if v_category is null then
        raise exception using errcode = 'SW002', column = 'subject', message = format('%s %s does not exist', p_subject_kind, left(p_subject, 100));
    end if;
    return v_category;
end
$$;

-- Refuses green about a subject with an open problem. The claim is that of an event which resolves the problem, and that event is
-- missing: so the registry rejects it, and the caller keeps the reject (fn_event_reject_note).
-- Raises: SW004.
create or replace function stepwell._summary_resolves_nothing(p_tenant_id int, p_subject_kind text, p_subject text, p_summarizer text)
returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem_id constant bigint := stepwell._summary_open_problem(p_tenant_id, p_subject_kind, p_subject);
    v_payload constant jsonb := jsonb_build_object('problem_id', v_problem_id, 'summarizer', p_summarizer);
begin
    if v_problem_id is not null then
        raise exception using errcode = 'SW004', column = 'colour',
            message = format('colour: problem %s is open, and only an event resolves it', v_problem_id),
            hint = 'yellow and red are accepted while the problem is open',
            detail = jsonb_build_object('codes', array[stepwell._event_payload_problem('summary.resolves', v_payload)],
                'rejected', stepwell._event_rejected(p_tenant_id, null, 'summary.resolves', v_payload));
    end if;
end
$$;

-- The open problem that a sentence is about: the problem itself, or the silence of the worker or of the executor. Workers are the
-- problems of the first tenant.
create or replace function stepwell._summary_open_problem(p_tenant_id int, p_subject_kind text, p_subject text) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select min(p.problem_id) from stepwell.governance_problem as p
    where p.closed_at is null and case p_subject_kind
        when 'problem' then p.tenant_id = p_tenant_id and p.problem_id::text = p_subject
        when 'worker' then p.tenant_id = 1 and p.category_code = 'silent_worker' and split_part(p.subject, ':', 1) = p_subject
        else p.tenant_id = 1 and p.category_code = 'silent_worker' and split_part(p.subject, ':', 2) = p_subject end
$$;

-- Sentences with their evidence, and whether the summarizer was less sure than its category asks for: then the sentence is flagged.
create or replace view stepwell.v_governance_summary with (security_invoker = true) as
select
    s.*,
    c.min_confidence,
    coalesce(s.confidence < c.min_confidence, false) as is_low_confidence
from stepwell.governance_summary as s
cross join lateral (
    select coalesce(
        (select (d.config_value #>> '{}')::real from stepwell.dot_config as d
            where d.config_key = 'ai_summary.min_confidence.' || s.category_code),
        (select (d.config_value #>> '{}')::real from stepwell.dot_config as d
            where d.config_key = 'ai_summary.min_confidence.default'), 0.6)::real
) as c (min_confidence);
