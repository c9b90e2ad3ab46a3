-- Cuts of content: a unit is split, several are merged, an earlier version is current again. Every cut is a request (scope
-- cut_request) that is carried out at once. One that cannot be carried out changes no content; it stays failed, with its
-- reason and an open problem, until somebody tries it again or cancels it.

-- Splits a content unit: each part becomes a content unit of its own, and the parts replace the unit. The parts together are
-- exactly its text. A part is {"code", "body", "labels"}.
-- Locks: the rows of the content units, in the order of their codes.
-- Idempotency: by key; the same key returns the first request.
-- Raises: SW001 when an argument is missing or wrong; SW006 over a limit; SW007 for another tenant. What the content itself
--   does not allow is no error: the request is failed.
create or replace function stepwell.fn_iu_op_split(
    p_tenant_id int, p_code text, p_parts jsonb, p_actor text, p_version_no int default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if jsonb_typeof(p_parts) is distinct from 'array' or jsonb_array_length(p_parts) < 2 or exists (
        select from jsonb_array_elements(p_parts) as x (part)
        where jsonb_typeof(x.part -> 'code') is distinct from 'string' or jsonb_typeof(x.part -> 'body') is distinct from 'string') then
        raise exception using errcode = 'SW001', column = 'parts', message = 'parts: at least two are required, each with code and body';
    end if;
    return stepwell._cut_request(p_tenant_id, 'split', jsonb_build_array(jsonb_strip_nulls(
        jsonb_build_object('code', p_code, 'version_no', p_version_no))), p_parts, p_actor, p_key);
end
$$;

-- Merges content units, in this order, into a new one, which replaces them; the separator is written between them.
-- Locks: as fn_iu_op_split.
-- Idempotency: as fn_iu_op_split.
-- Raises: as fn_iu_op_split.
create or replace function stepwell.fn_iu_op_merge(
    p_tenant_id int, p_codes text[], p_into text, p_actor text, p_separator text default E'\n\n', p_labels jsonb default '{}',
    p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if coalesce(cardinality(p_codes), 0) < 2 or array_position(p_codes, null) is not null
        or (select count(distinct c) from unnest(p_codes) as c) < cardinality(p_codes) then
        raise exception using errcode = 'SW001', column = 'codes', message = 'codes: at least two are required, each once';
    end if;
    return stepwell._cut_request(p_tenant_id, 'merge', (select jsonb_agg(jsonb_build_object('code', c.code) order by c.place)
        from unnest(p_codes) with ordinality as c (code, place)),
        jsonb_build_array(jsonb_build_object('code', p_into, 'separator', coalesce(p_separator, ''), 'labels', coalesce(p_labels, '{}'))),
        p_actor, p_key);
end
$$;

-- Makes an earlier version of a content unit current again, as a new version. A unit that was replaced by a cut is in use again.
-- Locks: as fn_iu_op_split.
-- Idempotency: as fn_iu_op_split.
-- Raises: as fn_iu_op_split.
create or replace function stepwell.fn_iu_op_restage(
    p_tenant_id int, p_code text, p_version_no int, p_actor text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if p_version_no is null then
        raise exception using errcode = 'SW001', column = 'version_no', message = 'version_no: the number of an earlier version is required';
    end if;
    return stepwell._cut_request(p_tenant_id, 'restage', jsonb_build_array(jsonb_build_object('code', p_code, 'version_no', p_version_no)),
        jsonb_build_array(jsonb_build_object('code', p_code)), p_actor, p_key);
end
$$;

-- Carries out a failed cut again, after its cause is mended (C4).
-- Locks: the request, then as fn_iu_op_split.
-- Idempotency: only a failed cut is tried again.
-- Raises: SW002 when there is no such cut; SW003 when it has not failed; SW007 for another tenant.
create or replace function stepwell.fn_iu_op_retry(p_tenant_id int, p_cut_request_id bigint, p_actor text) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._cut_enter(p_tenant_id, p_cut_request_id, p_actor);
    perform stepwell._units_move(array[p_tenant_id], array[p_cut_request_id], 'in_progress', 'pic_human', 'rpc', 'iu_op_retry', p_actor,
        array[jsonb_build_object('audit_ref', 'actor:' || p_actor)]);
    perform stepwell._cut_carry_out(p_tenant_id, p_cut_request_id, p_actor);
    return stepwell._cut_answer(p_tenant_id, p_cut_request_id);
end
$$;

-- Gives up a failed cut (C5); its problem is closed.
-- Locks: the request.
-- Idempotency: only a failed cut is cancelled.
-- Raises: as fn_iu_op_retry.
create or replace function stepwell.fn_iu_op_cancel(
    p_tenant_id int, p_cut_request_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._cut_enter(p_tenant_id, p_cut_request_id, p_actor);
    perform stepwell._units_move(array[p_tenant_id], array[p_cut_request_id], 'cancelled', 'pic_human', 'rpc', 'iu_op_cancel', p_actor,
        array[jsonb_build_object('audit_ref', 'actor:' || p_actor)], array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    update stepwell.cut_request_detail as c set finished_at = stepwell.now()
    where c.tenant_id = p_tenant_id and c.cut_request_id = p_cut_request_id;
    perform stepwell._cut_problem_close(p_tenant_id, p_cut_request_id, p_actor, coalesce(p_reason, 'the cut was cancelled'));
    return stepwell._cut_answer(p_tenant_id, p_cut_request_id);
end
$$;

-- Who retries or cancels a cut, after the request is locked.
-- Locks: the request.
-- Raises: as fn_iu_op_retry.
create or replace function stepwell._cut_enter(p_tenant_id int, p_cut_request_id bigint, p_actor text) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    v_state text;
begin
    select u.state_code into v_state from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_cut_request_id and u.scope = 'cut_request' for update;
    if not found then
        raise exception using errcode = 'SW002', message = format('cut %s does not exist', stepwell._run_of(p_cut_request_id));
    end if;
    if v_state <> 'failed' then
        raise exception using errcode = 'SW003', message = format('cut %s is %s; only a failed one can be retried or cancelled',
            stepwell._run_of(p_cut_request_id), v_state);
    end if;
    return v_actor;
end
$$;

-- Writes the request and carries it out.
-- Raises: SW001 for a missing code; SW006 over a limit.
create or replace function stepwell._cut_request(
    p_tenant_id int, p_op text, p_sources jsonb, p_targets jsonb, p_actor text, p_key text
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_limit constant int := stepwell._limit('limits.cut_parts');
    v_id bigint;
    v_codes jsonb;
begin
    if exists (select from jsonb_array_elements(p_sources || p_targets) as x (part) where coalesce(x.part ->> 'code', '') = '') then
        raise exception using errcode = 'SW001', column = 'code', message = 'code: the code of a content unit is required';
    end if;
    perform stepwell._secret_refuse('code', x.part ->> 'code') from jsonb_array_elements(p_sources || p_targets) as x (part);
    -- Bodies and separators are content; labels are not. Nothing else of a part is kept.
    p_targets := (select jsonb_agg((select jsonb_object_agg(m.key, case m.key
                when 'labels' then stepwell._redact(m.value, stepwell._redaction_pattern()) else m.value end)
            from jsonb_each(x.part) as m where m.key in ('code', 'body', 'separator', 'labels')) order by x.place)
        from jsonb_array_elements(p_targets) with ordinality as x (part, place));
    if greatest(jsonb_array_length(p_sources), jsonb_array_length(p_targets)) > v_limit
        or octet_length(p_targets::text) > 2 * stepwell._limit('limits.content_bytes') then
        raise exception using errcode = 'SW006', message = format('parts: at most %s are accepted, with %s bytes together', v_limit,
            stepwell._limit('limits.content_bytes'));
    end if;
    v_id := stepwell._run_unit(nextval('stepwell.run_seq'));
    insert into stepwell.cut_request_detail (tenant_id, cut_request_id, op, spec, request_key, requested_by, requested_at)
    values (p_tenant_id, v_id, p_op, jsonb_build_object('sources', p_sources, 'targets', p_targets), p_key, p_actor, v_now)
    on conflict (tenant_id, request_key) do nothing;
    if not found then
        select c.cut_request_id into v_id from stepwell.cut_request_detail as c
        where c.tenant_id = p_tenant_id and c.request_key = p_key;
        return stepwell._cut_answer(p_tenant_id, v_id);
    end if;
    insert into stepwell.work_unit (tenant_id, unit_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_id, v_now, v_now, 'cut_request', stepwell._machine_of('cut_request'), 'requested');
    v_codes := jsonb_build_object(
        'sources', (select jsonb_agg(x.part -> 'code') from jsonb_array_elements(p_sources) as x (part)),
        'targets', (select jsonb_agg(x.part -> 'code') from jsonb_array_elements(p_targets) as x (part)));
    perform stepwell._event_born(p_tenant_id, v_id, 'cut.requested', 'requested', p_actor,
        v_codes || jsonb_build_object('op', p_op), 'pic_human', 'actor:' || p_actor, v_now);
    perform stepwell._units_move(array[p_tenant_id], array[v_id], 'in_progress', 'mow_orchestrator', 'rpc', 'iu_op', p_actor);
    perform stepwell._cut_carry_out(p_tenant_id, v_id, p_actor);
    return stepwell._cut_answer(p_tenant_id, v_id);
end
$$;

-- Carries out a cut that is in progress. What its content does not allow undoes all of it and leaves the request failed.
create or replace function stepwell._cut_carry_out(p_tenant_id int, p_cut_request_id bigint, p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cut stepwell.cut_request_detail;
    v_code text;
    v_reason text;
    v_detail text;
    v_evidence constant jsonb[] := array[jsonb_build_object('audit_ref', 'actor:' || p_actor)];
begin
    update stepwell.cut_request_detail as c set attempt_count = c.attempt_count + 1
    where c.tenant_id = p_tenant_id and c.cut_request_id = p_cut_request_id
    returning c.* into v_cut;
    begin
        perform stepwell._cut_apply(v_cut, p_actor);
    exception when others then
        get stacked diagnostics v_code = returned_sqlstate, v_reason = message_text, v_detail = pg_exception_detail;
        if v_code not like 'SW%' then
            raise;
        end if;
    end;
    if v_code is null then
        perform stepwell._units_move(array[p_tenant_id], array[p_cut_request_id], 'completed', 'mow_orchestrator', 'rpc', 'iu_op',
            p_actor, v_evidence);
        update stepwell.cut_request_detail as c set finished_at = stepwell.now(), reason = null, error_code = null,
            spec = jsonb_set(c.spec, '{targets}', (select jsonb_agg(x.part - 'body' order by x.place)
                from jsonb_array_elements(c.spec -> 'targets') with ordinality as x (part, place)))
        where c.tenant_id = p_tenant_id and c.cut_request_id = p_cut_request_id;
        perform stepwell._cut_problem_close(p_tenant_id, p_cut_request_id, p_actor, 'the cut is done');
        return;
    end if;
    update stepwell.cut_request_detail as c set reason = v_reason, error_code = v_code
    where c.tenant_id = p_tenant_id and c.cut_request_id = p_cut_request_id;
    perform stepwell._units_move(array[p_tenant_id], array[p_cut_request_id], 'failed', 'mow_orchestrator', 'rpc', 'iu_op', p_actor,
        v_evidence, array[jsonb_build_object('reason', v_reason, 'error_code', v_code)]);
    perform stepwell._lifecycle_note(p_tenant_id, x.part ->> 'code', 'cut_failed', 'error', v_reason, p_cut_request_id, p_actor,
        coalesce(v_detail, '') = 'axis_inconsistency')
    from jsonb_array_elements(v_cut.spec -> 'sources') as x (part);
    perform stepwell._problem_open(p_tenant_id, 'failed_cut', 'cut', stepwell._run_of(p_cut_request_id)::text, p_cut_request_id, v_code, v_reason);
end
$$;

-- Does what a cut says: checks its content, writes the new versions and what came from what.
-- Locks: the rows of the content units, in the order of their codes.
-- Raises: SW001, SW002, SW003, SW006 when the content does not allow it.
create or replace function stepwell._cut_apply(p_cut stepwell.cut_request_detail, p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_source record;
    v_body text;
    v_parts jsonb := p_cut.spec -> 'targets';
begin
    perform 1 from stepwell.information_unit as u
    where u.tenant_id = p_cut.tenant_id and u.iu_code in (select x.part ->> 'code'
        from jsonb_array_elements(p_cut.spec -> 'sources' || v_parts) as x (part))
    order by u.iu_code for update;
    for v_source in
        select x.part ->> 'code' as code, (x.part ->> 'version_no')::int as version_no, c.iu_id, c.version_no as current_no,
            u.is_bundle, u.replaced_by
        from jsonb_array_elements(p_cut.spec -> 'sources') with ordinality as x (part, place)
        cross join lateral stepwell._content_current(p_cut.tenant_id, x.part ->> 'code') as c
        inner join stepwell.information_unit as u on u.tenant_id = p_cut.tenant_id and u.iu_id = c.iu_id
        order by x.place
    loop
        if v_source.is_bundle or (v_source.replaced_by is not null and p_cut.op <> 'restage') then
            raise exception using errcode = 'SW003', message = case
                when v_source.is_bundle then format('content %s is a bundle; write it with other items', v_source.code)
                else format('content %s was replaced by cut %s', v_source.code, stepwell._run_of(v_source.replaced_by)) end;
        end if;
        if p_cut.op = 'split' and v_source.version_no <> v_source.current_no then
            raise exception using errcode = 'SW003', message = format('content %s has version %s now; the parts were made from version %s',
                v_source.code, v_source.current_no, v_source.version_no);
        end if;
        v_body := case when v_body is null then '' else v_body || (v_parts -> 0 ->> 'separator') end || (
            select v.body from stepwell.information_unit_version as v where v.tenant_id = p_cut.tenant_id and v.iu_id = v_source.iu_id
                and v.version_no = case p_cut.op when 'restage' then v_source.version_no else v_source.current_no end);
    end loop;
    if v_body is null then
        raise exception using errcode = 'SW002', message = format('content %s has no version %s',
            v_source.code, p_cut.spec -> 'sources' -> 0 ->> 'version_no');
    end if;
    if p_cut.op = 'split' then
        if v_body <> (select string_agg(x.part ->> 'body', '' order by x.place)
            from jsonb_array_elements(v_parts) with ordinality as x (part, place)) then
            raise exception using errcode = 'SW003', detail = 'axis_inconsistency',
                message = format('parts: together they are not the text of content %s; nothing of it may be lost, added or moved',
                    p_cut.spec -> 'sources' -> 0 ->> 'code');
        end if;
    else
        v_parts := jsonb_set(v_parts, '{0,body}', to_jsonb(v_body));
    end if;
    perform stepwell._cut_write(p_cut, v_parts, p_actor);
end
$$;

-- Writes the content of a cut, what came from what, the sources that are replaced, and the log of their life.
-- Raises: SW003 when the code of a part exists or stands twice.
create or replace function stepwell._cut_write(p_cut stepwell.cut_request_detail, p_parts jsonb, p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_what constant text := case p_cut.op when 'split' then 'split' when 'merge' then 'merged' else 'restaged' end;
    v_taken text;
    v_from record;
    v_part record;
    v_made record;
begin
    select u.iu_code into v_taken from jsonb_array_elements(p_parts) as x (part)
    inner join stepwell.information_unit as u on u.tenant_id = p_cut.tenant_id and u.iu_code = x.part ->> 'code'
    where p_cut.op <> 'restage' order by 1 limit 1;
    if found then
        raise exception using errcode = 'SW003', message = format('content %s exists; a part is a new content unit', v_taken);
    end if;
    select x.part ->> 'code' into v_taken from jsonb_array_elements(p_parts) as x (part)
    group by 1 having count(*) > 1 order by 1 limit 1;
    if found then
        raise exception using errcode = 'SW003', message = format('content %s is the code of two parts; each part has a code of its own', v_taken);
    end if;
    select array_agg(c.iu_id) as iu_ids, array_agg(x.part ->> 'code') as codes,
        array_agg(case p_cut.op when 'restage' then (x.part ->> 'version_no')::int else c.version_no end) as version_nos
    into v_from
    from jsonb_array_elements(p_cut.spec -> 'sources') as x (part)
    cross join lateral stepwell._content_current(p_cut.tenant_id, x.part ->> 'code') as c;
    update stepwell.information_unit as u set replaced_by = case when p_cut.op <> 'restage' then p_cut.cut_request_id end
    where u.tenant_id = p_cut.tenant_id and u.iu_id = any (v_from.iu_ids);
    for v_part in
        select x.part ->> 'code' as code, x.part ->> 'body' as body, x.part -> 'labels' as labels
        from jsonb_array_elements(p_parts) as x (part) order by 1
    loop
        select w.iu_id, w.version_no into v_made from stepwell.fn_content_write(p_cut.tenant_id, v_part.code, v_part.body, p_actor,
            coalesce(v_part.labels, '{}'), p_note => format('cut %s', stepwell._run_of(p_cut.cut_request_id))) as w;
        insert into stepwell.iu_lineage (tenant_id, cut_request_id, from_iu_id, from_version_no, to_iu_id, to_version_no)
        select p_cut.tenant_id, p_cut.cut_request_id, f.iu_id, f.version_no, v_made.iu_id, v_made.version_no
        from unnest(v_from.iu_ids, v_from.version_nos) as f (iu_id, version_no)
        where (f.iu_id, f.version_no) <> (v_made.iu_id, v_made.version_no)
        on conflict do nothing;
    end loop;
    perform stepwell._lifecycle_note(p_cut.tenant_id, c.code, v_what, 'info', (
            select string_agg(x.part ->> 'code', ', ' order by x.place) from jsonb_array_elements(p_parts) with ordinality as x (part, place)),
        p_cut.cut_request_id, p_actor)
    from unnest(v_from.codes) as c (code);
    -- Steps of current workflows that show what was replaced still do: somebody should name the new content.
    perform stepwell._lifecycle_note(p_cut.tenant_id, d.config ->> 'content', 'shown_by_step', 'warning',
        format('workflow %s, step %s still shows it', w.workflow_name, d.step_id), p_cut.cut_request_id, p_actor)
    from stepwell.workflow_registry as w
    cross join lateral (select v.version_id from stepwell.workflow_version as v
        where v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id order by v.version_no desc limit 1) as n
    inner join stepwell.workflow_step_def as d on w.tenant_id = d.tenant_id and n.version_id = d.version_id
    where p_cut.op <> 'restage' and w.tenant_id = p_cut.tenant_id and d.config ->> 'content' = any (v_from.codes);
end
$$;

-- Closes the problem of a cut that is done or given up.
create or replace function stepwell._cut_problem_close(p_tenant_id int, p_cut_request_id bigint, p_actor text, p_reason text) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._problem_close(p.tenant_id, p.problem_id, p_actor, p_reason)
    from stepwell.governance_problem as p
    where p.tenant_id = p_tenant_id and p.category_code = 'failed_cut' and p.unit_id = p_cut_request_id and p.closed_at is null
$$;

-- What a caller learns of a cut.
create or replace function stepwell._cut_answer(p_tenant_id int, p_cut_request_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object('cut_request_id', c.cut_request_id, 'op', c.op, 'state_code', u.state_code, 'reason', c.reason,
        'error_code', c.error_code, 'attempt_count', c.attempt_count, 'sources', x.sources, 'targets', x.targets)
    from stepwell.cut_request_detail as c
    inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.cut_request_id = u.unit_id
    cross join lateral (select
        (select jsonb_agg(s.part -> 'code') from jsonb_array_elements(c.spec -> 'sources') as s (part)) as sources,
        (select jsonb_agg(s.part -> 'code') from jsonb_array_elements(c.spec -> 'targets') as s (part)) as targets) as x
    where c.tenant_id = p_tenant_id and c.cut_request_id = p_cut_request_id
$$;

-- The cuts of content under the name of the source document: what was asked, its state, and why it failed.
create or replace view stepwell.cut_request with (security_invoker = true) as
select
    c.tenant_id,
    c.cut_request_id,
    stepwell._run_of(c.cut_request_id) as cut_no,
    c.op,
    u.state_machine_id,
    u.state_code,
    (select array_agg(s.part ->> 'code') from jsonb_array_elements(c.spec -> 'sources') as s (part)) as sources,
    (select array_agg(s.part ->> 'code') from jsonb_array_elements(c.spec -> 'targets') as s (part)) as targets,
    c.attempt_count,
    c.reason,
    c.error_code,
    c.requested_by,
    c.requested_at,
    c.finished_at,
    u.last_transition_at
from stepwell.cut_request_detail as c
inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.cut_request_id = u.unit_id;
