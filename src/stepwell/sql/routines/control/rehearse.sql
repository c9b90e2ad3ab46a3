-- What a replay of dead letters would do, before anybody asks for it: each effect is compared with the receipts that exist and
-- judged by the policy in force. Nothing is written, and nothing is sent.

-- The cause of a failure in words that many failures share: numbers in it do not count.
create or replace function stepwell._cause_of(p_error jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select left(regexp_replace(coalesce(p_error ->> 'message', p_error ->> 'type', ''), '[0-9]+', '#', 'g'), 200)
$$;

-- Checks a filter of dead letters: operation, workflow, failure_class, cause, units.
-- Raises: SW001 naming the field.
create or replace function stepwell._letters_filter_check(p_filter jsonb) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_field record;
begin
    if jsonb_typeof(p_filter) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'filter', message = 'filter: an object is required';
    end if;
    for v_field in select f.key, f.value from jsonb_each(p_filter) as f loop
        if v_field.key = 'units' then
            if jsonb_typeof(v_field.value) <> 'array' or jsonb_array_length(v_field.value) not between 1 and 1000
                or exists (select from jsonb_array_elements_text(v_field.value) as x (number) where x.number !~ '^[0-9]{1,18}$') then
                raise exception using errcode = 'SW001', column = 'units', message = 'units: a list of 1 to 1000 numbers is accepted';
            end if;
        elsif v_field.key not in ('operation', 'workflow', 'failure_class', 'cause') then
            raise exception using errcode = 'SW001', column = 'filter',
                message = 'filter: operation, workflow, failure_class, cause and units are accepted';
        elsif jsonb_typeof(v_field.value) <> 'string' or length(v_field.value #>> '{}') not between 1 and 500 then
            raise exception using errcode = 'SW001', column = v_field.key,
                message = format('%s: a text of 1 to 500 characters is required', v_field.key);
        end if;
    end loop;
end
$$;

-- Open dead letters that a filter chooses and that can be replayed, the oldest first. The steps of runs that have completed or
-- were cancelled, and the tasks of such steps, cannot.
create or replace function stepwell._letters_chosen(p_tenant_id int, p_filter jsonb, p_limit int)
returns table (unit_id bigint, operation_id int, run_id bigint, failure_class text, cause text, died_at timestamptz)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select d.unit_id, u.operation_id, case when u.scope in ('step', 'task') then stepwell._run_of(d.unit_id) end, d.failure_class,
        stepwell._cause_of(d.error), d.died_at
    from stepwell.job_dead_letter as d
    cross join (select stepwell.hidden_steps() as steps) as h
    inner join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
    left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
    left join stepwell.work_unit as r on u.scope in ('step', 'task') and u.tenant_id = r.tenant_id
        and stepwell._run_unit(stepwell._run_of(u.unit_id)) = r.unit_id
    left join stepwell.run_detail as n on u.scope in ('step', 'task') and u.tenant_id = n.tenant_id and stepwell._run_of(u.unit_id) = n.run_id
    left join stepwell.workflow_registry as w on n.tenant_id = w.tenant_id and n.workflow_id = w.workflow_id
    where d.tenant_id = p_tenant_id and d.resolved_at is null and u.state_code = 'cannot_complete'
        and (r.state_code is null or r.state_code not in ('completed', 'cancelled'))
        and not (u.scope = 'task' and exists (select from stepwell.work_unit as s where s.tenant_id = u.tenant_id
            and s.unit_id = u.parent_id and s.state_code <> 'cannot_complete' and stepwell._has_ended(s.state_code)))
        and (h.steps = '{}' or stepwell.unit_is_shown(d.tenant_id, d.unit_id, h.steps))
        and (not p_filter ? 'operation' or o.operation_name = p_filter ->> 'operation')
        and (not p_filter ? 'workflow' or w.workflow_name = p_filter ->> 'workflow')
        and (not p_filter ? 'failure_class' or d.failure_class = p_filter ->> 'failure_class')
        and (not p_filter ? 'cause' or stepwell._cause_of(d.error) = p_filter ->> 'cause')
        and (not p_filter ? 'units' or d.unit_id in (
            select x.number::bigint from jsonb_array_elements_text(p_filter -> 'units') as x (number)))
    order by d.died_at, d.unit_id
    limit p_limit
$$;

-- What a replay of the dead letters of a filter would do: how many letters, runs and steps behind them; each effect with its
-- answer: cached (a receipt answers), doubt (nobody knows whether it happened; the next attempt asks first), new, needs_approval,
-- deny, unjudged (too many to judge now); whether it can be undone. An effect that a letter did not come to is taken from the
-- newest success of the same operation. How many people must agree.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 naming the field of the filter; SW007 for another tenant.
create or replace function stepwell.fn_replay_rehearse(p_tenant_id int, p_filter jsonb) returns json
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._verb_check(p_tenant_id, 'read');
    perform stepwell._letters_filter_check(p_filter);
    return stepwell._replay_rehearsed(p_tenant_id, array(
        select l.unit_id from stepwell._letters_chosen(p_tenant_id, p_filter, stepwell._limit('limits.replay_letters')) as l));
end
$$;

-- The rehearsal of these dead letters, as fn_replay_rehearse returns it.
create or replace function stepwell._replay_rehearsed(p_tenant_id int, p_unit_ids bigint[]) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    with effect as materialized (
        select e.* from stepwell._replay_effects(p_tenant_id, p_unit_ids) as e
    ), behind as materialized (
        select u.tenant_id, u.unit_id
        from (select distinct stepwell._run_of(x.unit_id) as run_id from unnest(p_unit_ids) as x (unit_id)) as r
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.scope = 'step'
            and u.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_last(r.run_id)
        where u.state_code = 'not_started' or (u.state_code = 'cancelled' and u.started_at is null)
    ), summed as (
        select
            count(*) filter (where e.answer = 'cached') as cached, count(*) filter (where e.answer = 'doubt') as doubt,
            count(*) filter (where e.answer = 'new') as new, count(*) filter (where e.answer = 'needs_approval') as needs_approval,
            count(*) filter (where e.answer = 'deny') as deny, count(*) filter (where e.answer = 'unjudged') as unjudged,
            count(*) filter (where e.answer not in ('cached', 'deny') and e.writes and not e.reversible) as irreversible
        from effect as e
    ), grouped as (
        select e.step, e.connector, e.operation, e.answer, e.writes, e.reversible, count(*) as count, min(e.target) as target,
            min(e.receipt_id) as receipt_id, min(e.reason) as reason, min(e.rule) as rule, bool_or(e.is_expected) as is_expected
        from effect as e
        group by e.step, e.connector, e.operation, e.answer, e.writes, e.reversible
        order by e.step, e.connector, e.operation, e.answer
        limit 100
    )
    select json_build_object(
        'position', (select max(e.event_id) from stepwell.event_log as e where e.tenant_id = p_tenant_id),
        'letters', cardinality(p_unit_ids),
        'runs', (select count(distinct stepwell._run_of(x.unit_id)) from unnest(p_unit_ids) as x (unit_id) where stepwell._unit_no(x.unit_id) > 0),
        'tenants', case when cardinality(p_unit_ids) > 0 then 1 else 0 end,
        'steps_behind', (select count(*) from behind),
        'effects', (select to_json(s) from summed as s),
        'rows', (select coalesce(json_agg(json_build_object('step', g.step, 'connector', g.connector, 'operation', g.operation,
            'answer', g.answer, 'writes', g.writes, 'reversible', g.reversible, 'count', g.count, 'target', g.target,
            'receipt_id', g.receipt_id::text, 'reason', g.reason, 'rule', g.rule, 'is_expected', g.is_expected)), '[]') from grouped as g),
        'stages', (select coalesce(json_agg(x.letters order by x.no), '[]') from (
            select stepwell._stage_of(q.place, array(select jsonb_array_elements_text(c.config_value)::int
                from stepwell.dot_config as c where c.config_key = 'replay.stage_sizes')) as no, count(*) as letters
            from stepwell._letter_places(p_unit_ids) as q group by 1) as x),
        'quorum', q.quorum,
        -- No setting waives the agreement of two people.
        'is_waived', q.quorum = 1 and stepwell._approval_waiver('replay') is not null)
    from (select stepwell._replay_quorum(cardinality(p_unit_ids), (select s.irreversible from summed as s)) as quorum) as q
$$;

-- The place of each letter in a plan: letters of one run have one place, that of the first of them.
create or replace function stepwell._letter_places(p_unit_ids bigint[]) returns table (unit_id bigint, place bigint)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select x.unit_id, dense_rank() over (order by f.first_place)
    from unnest(p_unit_ids) as x (unit_id)
    inner join (
        select stepwell._run_of(y.unit_id) as run_id, min(y.place) as first_place
        from unnest(p_unit_ids) with ordinality as y (unit_id, place) group by 1
    ) as f on stepwell._run_of(x.unit_id) = f.run_id
$$;

-- The stage of a place: p_sizes has those of the first stages, the rest is the last one.
create or replace function stepwell._stage_of(p_place bigint, p_sizes int[]) returns int
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select coalesce(min(s.no), cardinality(p_sizes) + 1)::int
    from (select x.no, sum(x.size) over (order by x.no) as total from unnest(p_sizes) with ordinality as x (size, no)) as s
    where p_place <= s.total
$$;

-- How many people must agree to a plan: two for many letters, and for effects that cannot be undone.
create or replace function stepwell._replay_quorum(p_letter_count int, p_irreversible_count bigint) returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when p_letter_count > stepwell._limit('replay.two_person_count') or (p_letter_count > 1 and p_irreversible_count > 0)
        then 2 else 1 end
$$;

-- Every effect that a replay of these dead letters would ask for. Runs as its caller does.
create or replace function stepwell._replay_effects(p_tenant_id int, p_unit_ids bigint[])
returns table (
    unit_id bigint, step text, connector text, operation text, target text, writes boolean, reversible boolean,
    answer text, receipt_id bigint, reason text, rule text, is_expected boolean
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_effect record;
    v_verdict jsonb;
    v_left int := stepwell._limit('limits.replay_judged');
begin
    for v_effect in
        with letter as materialized (
            select u.unit_id, u.operation_id, coalesce(d.step_id, o.operation_name) as step
            from unnest(p_unit_ids) as x (unit_id)
            inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = x.unit_id
            left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
            left join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        ), own as materialized (
            select l.unit_id, l.operation_id, l.step, r.receipt_id, r.connector, r.operation, r.target, r.writes, r.reversible,
                r.request_metadata -> 'fields' as fields, s.state_code, false as is_expected
            from letter as l
            inner join stepwell.action_receipt as r on r.tenant_id = p_tenant_id and r.unit_id = l.unit_id
            inner join stepwell.work_unit as s on r.tenant_id = s.tenant_id and r.receipt_id = s.unit_id
        ), past as materialized (
            -- The newest success of each operation, among the newest receipts of the tenant.
            select distinct on (u.operation_id, r.connector, r.operation)
                u.operation_id, r.receipt_id, r.connector, r.operation, r.target, r.writes, r.reversible,
                r.request_metadata -> 'fields' as fields
            from (select a.* from stepwell.action_receipt as a where a.tenant_id = p_tenant_id order by a.receipt_id desc limit 1000) as r
            inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = r.unit_id
            where u.state_code = 'completed' and u.operation_id in (select l.operation_id from letter as l)
            order by u.operation_id, r.connector, r.operation, r.receipt_id desc
        )
        select e.* from own as e
        union all
        select l.unit_id, l.operation_id, l.step, null, p.connector, p.operation, p.target, p.writes, p.reversible, p.fields, null, true
        from letter as l
        inner join past as p on l.operation_id = p.operation_id
        where not exists (select from own as o where o.unit_id = l.unit_id and o.connector = p.connector and o.operation = p.operation)
        order by unit_id, receipt_id
    loop
        unit_id := v_effect.unit_id; step := v_effect.step; connector := v_effect.connector; operation := v_effect.operation;
        target := v_effect.target; writes := v_effect.writes; reversible := v_effect.reversible;
        receipt_id := v_effect.receipt_id; is_expected := v_effect.is_expected; reason := null; rule := null;
        if v_effect.state_code in ('confirmed', 'reversed') then
            answer := 'cached';
        elsif v_effect.state_code in ('intended', 'unconfirmed') then
            answer := 'doubt';
        elsif v_left = 0 then
            answer := 'unjudged';
        else
            v_left := v_left - 1;
            v_verdict := stepwell.fn_policy_evaluate(p_tenant_id, stepwell._action_document(null, p_tenant_id, v_effect.unit_id,
                jsonb_build_object('connector', v_effect.connector, 'operation', v_effect.operation, 'target', v_effect.target,
                    'fields', coalesce(v_effect.fields, '{}'), 'writes', v_effect.writes, 'reversible', v_effect.reversible)));
            answer := case v_verdict ->> 'effect' when 'allow' then 'new' else v_verdict ->> 'effect' end;
            reason := v_verdict ->> 'reason';
            rule := v_verdict ->> 'rule';
        end if;
        return next;
    end loop;
end
$$;
