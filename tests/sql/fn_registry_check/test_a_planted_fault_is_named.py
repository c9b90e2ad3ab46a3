"""The check finds each fault that an edit can bring into the registry, and names the check and the row."""

from __future__ import annotations

import psycopg
import pytest

DELETE_WAITING = """
    delete from transition_def where state_machine_id = 'step.1' and 'waiting' in (from_state, to_state);
    delete from state_facet_def where state_machine_id = 'step.1' and state_code = 'waiting';
    delete from state_def where state_machine_id = 'step.1' and state_code = 'waiting';
"""
EDGE = "state_machine_id = 'step.1' and transition_code = 'T1'"

# Fault → (the edit, the check that must fail, what its detail must contain).
FAULTS = {
    "a floor state is missing": (DELETE_WAITING, "floor_complete", "step.1 lacks floor state waiting"),
    "a floor state changes its class": (
        """update state_def set semantic_class = 'idle'
           where state_machine_id = 'job.1' and state_code = 'failed'""",
        "floor_complete",
        "job.1 state failed is (idle, terminal f, ordinal 7, ui.traffic_light.red), "
        "the floor says (red, terminal f, ordinal 7, ui.traffic_light.red)",
    ),
    "a floor state becomes terminal": (
        """update state_def set is_terminal = true
           where state_machine_id = 'task.1' and state_code = 'overdue'""",
        "floor_complete",
        "task.1 state overdue is (red, terminal t",
    ),
    "a floor state is turned into a derived one": (
        """update state_def set is_derived = true, floor_equivalent = 'failed', justification = 'no reason'
           where state_machine_id = 'step.1' and state_code = 'blocked'""",
        "floor_complete",
        "step.1 lacks floor state blocked",
    ),
    "a floor state changes its colour": (
        """update state_def set ui_color_token = 'ui.traffic_light.green'
           where state_machine_id = 'task.1' and state_code = 'blocked'""",
        "floor_complete",
        "task.1 state blocked is (wait, terminal f, ordinal 5, ui.traffic_light.green), the floor says",
    ),
    "a tenth state is declared a floor state": (
        """update state_def set is_derived = false, floor_equivalent = null, justification = null
           where state_machine_id = 'step.1' and state_code = 'skipped'""",
        "derived_states_map_to_the_floor",
        "step.1 state skipped is neither of the floor nor derived from it",
    ),
    "a derived state maps to a derived state": (
        """update state_def set floor_equivalent = 'cancelled'
           where state_machine_id = 'step.1' and state_code = 'skipped'""",
        "derived_states_map_to_the_floor",
        "step.1 state skipped has floor equivalent cancelled",
    ),
    "a derived state has no justification": (
        """update state_def set justification = ' '
           where state_machine_id = 'step.1' and state_code = 'skipped'""",
        "derived_states_map_to_the_floor",
        "step.1 state skipped has an empty justification",
    ),
    "no version of a machine is active": (
        "update state_machine_def set active = false where scope = 'task'",
        "one_active_version_per_scope",
        "scope task has 0 active versions",
    ),
    "a machine has no initial state": (
        "update state_def set is_initial = false where state_machine_id = 'approval.1'",
        "machines_have_an_initial_state",
        "approval.1 has no initial state",
    ),
    "a facet is missing": (
        "delete from state_facet_def where state_machine_id = 'job.1' and facet_code = 'waiting_human'",
        "facets_complete",
        "job.1 lacks facet waiting_human",
    ),
    "the event does not allow a facet": (
        "update state_facet_def set facet_code = 'waiting_moon' where facet_code = 'waiting_human'",
        "facets_complete",
        "facet waiting_moon of step.1 is no allowed value of step.waiting",
    ),
    "a completed step is opened by the system": (
        """update transition_def set actor_class = 'system'
            where state_machine_id = 'step.1' and transition_code = 'T8r'""",
        "ended_units_are_opened_only_by_reviewers",
        "step.1 T8r: completed -> in_progress by system leaves a terminal state",
    ),
    "an event is no longer registered": (
        "update event_type_registry set is_registered = false where event_type = 'step.ready'",
        "transition_events_registered",
        "step.1 T1: not_started -> ready by mow_orchestrator emits step.ready, which is not registered",
    ),
    "a transition emits nothing": (
        f"update transition_def set emitted_event_type = null where {EDGE}",
        "transition_events_registered",
        "step.1 T1: not_started -> ready by mow_orchestrator emits no event",
    ),
    "a guard is not in the list of allowed guards": (
        f"update transition_def set guard_ref = 'pg_sleep' where {EDGE}",
        "guard_predicates_whitelisted",
        "names guard pg_sleep, which is not in guard_predicate",
    ),
    "a custom guard has no function": (
        """insert into guard_predicate (predicate_name, description, is_builtin)
           values ('moon_is_full', 'The moon is full', false)""",
        "guard_predicates_whitelisted",
        "function guard_moon_is_full is missing",
    ),
    "a guard expression does not parse": (
        f"update transition_def set guard_kind = 'config', guard_ref = '$.input.amount >' where {EDGE}",
        "guard_expressions_parse",
        "step.1 T1: not_started -> ready by mow_orchestrator: syntax error",
    ),
    "a guard expression reads what a guard does not have": (
        f"update transition_def set guard_kind = 'config', guard_ref = '$.\"inptu\".amount > 1' where {EDGE}",
        "guard_expressions_parse",
        "step.1 T1: not_started -> ready by mow_orchestrator: a guard has no inptu; it has input",
    ),
    "an event of the hot path requires a field": (
        "update event_field_def set is_required = true where event_type = 'step.completed'",
        "hot_events_require_nothing",
        "step.completed requires completed_after_deadline",
    ),
    "transition rules were edited and not refreshed": (
        f"update transition_def set audit_required = true where {EDGE}",
        "rules_are_current",
        # Two rules (the transition, and the same for a direct lease), each in its old and its new form.
        "transition_rule differs from the registry in 4 rows",
    ),
    "roll-up rules were edited and not refreshed": (
        "update rollup_policy_def set active = false where policy_config_jsonb ->> 'rule' = 'R-1'",
        "rules_are_current",
        "rollup_rule differs from the registry in 4 rows",
    ),
    "a roll-up rule is switched off": (
        "update rollup_policy_def set active = false where policy_config_jsonb ->> 'rule' = 'R-4'",
        "rollup_rules_complete",
        "no active rule R-4",
    ),
    "a text is missing in one language": (
        "delete from i18n_text where text_key = 'state.blocked.short' and lang = 'vi'",
        "texts_in_both_languages",
        "state.blocked.short has no vi text",
    ),
    "a state uses a text that does not exist": (
        "update state_def set ui_label_i18n_key = 'state.x.label' where state_code = 'paused'",
        "texts_in_both_languages",
        "state.x.label has no en text",
    ),
    "a state uses a colour that does not exist": (
        "update state_def set ui_color_token = 'ui.traffic_light.mauve' where state_code = 'paused'",
        "colour_tokens_complete",
        "state paused of workflow_run.1 uses ui.traffic_light.mauve",
    ),
    "a colour has no shape_token": (
        """update dot_config set config_value = config_value - 'shape_token'
           where config_key = 'ui.traffic_light.red'""",
        "colour_tokens_complete",
        "ui.traffic_light.red has no shape_token",
    ),
    "a colour has no high-contrast pair": (
        """update dot_config set config_value = config_value - 'high_contrast'
           where config_key = 'ui.traffic_light.red'""",
        "colour_tokens_complete",
        "ui.traffic_light.red, high contrast: fg and bg must be written #RRGGBB",
    ),
    "a colour has too little contrast": (
        """update dot_config set config_value = config_value || '{"bg": "#059669", "contrast_ratio": 4.6}'
           where config_key = 'ui.traffic_light.green'""",
        "colour_tokens_complete",
        "ui.traffic_light.green, normal: contrast is 3.77, declared 4.6, required at least 4.5",
    ),
    "a declared contrast ratio is false": (
        """update dot_config set config_value = config_value || '{"contrast_ratio": 9.3}'
           where config_key = 'ui.traffic_light.gray'""",
        "colour_tokens_complete",
        "ui.traffic_light.gray, normal: contrast is 6.87, declared 9.3",
    ),
    "a dialect has no word": (
        "delete from state_dialect where dialect = 'node' and scope = 'step' and state_code = 'overdue'",
        "dialects_total",
        "dialect node has no word for step state overdue",
    ),
    "a dialect has no word for one part of failed": (
        "delete from state_dialect where dialect = 'job' and qualifier = 'transient'",
        "dialects_total",
        "dialect job has no word for step state failed",
    ),
    "an exception has two classes": (
        """update failure_class_registry set exception_names = exception_names || '{TypeError}'
           where failure_class = 'timeout'""",
        "failure_classes_unambiguous",
        "exception TypeError has 2 classes: invalid_input, timeout",
    ),
    "the default failure class is missing": (
        "delete from failure_class_registry where failure_class = 'handler_error'",
        "failure_classes_unambiguous",
        "handler_error is missing",
    ),
}


@pytest.mark.requirement("SM-03")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_registry_check_finds_the_fault(db: psycopg.Connection, fault: str):
    statement, check_name, detail = FAULTS[fault]
    # The gates that would refuse the edit at once.
    for table in ("state_def", "rollup_policy_def", "state_dialect", "dot_config"):
        db.execute(f"alter table {table} disable trigger user")
    for part in statement.split(";"):
        if part.strip():
            db.execute(part)
    failed = dict(db.execute("select check_name, detail from fn_registry_check() where not ok").fetchall())
    assert detail in failed[check_name]


TOKEN = """{"fg": "#FFFFFF", "bg": "#1D4ED8", "contrast_ratio": 6.7, "shape_token": "square",
    "high_contrast": {"fg": "#FFFFFF", "bg": "#000000", "contrast_ratio": 21}}"""


@pytest.mark.requirement("SM-02")
def test_a_token_that_does_not_declare_everything_is_refused(db: psycopg.Connection):
    """000 §3.2: a new token has to declare its colours, their contrast, its high contrast and its shape."""
    add = "insert into dot_config values ('ui.traffic_light.blue', %s::jsonb - %s::text[], 'A test')"
    for missing in ("fg", "bg", "contrast_ratio", "high_contrast", "shape_token"):
        with pytest.raises(psycopg.Error, match=r"ui\.traffic_light\.blue") as refused:
            db.execute(add, (TOKEN, [missing]))
        assert refused.value.sqlstate == "SW004"
    db.execute(add, (TOKEN, []))
    pale = """update dot_config set config_value = config_value || '{"fg": "#93C5FD"}'"""
    with pytest.raises(psycopg.Error, match="normal: contrast is"):
        db.execute(f"{pale} where config_key = 'ui.traffic_light.blue'")
    assert db.execute("select * from fn_registry_check() where not ok").fetchall() == []


@pytest.mark.requirement("SM-03")
def test_a_machine_without_the_floor_cannot_be_active(db: psycopg.Connection):
    db.execute("update state_machine_def set active = false where state_machine_id = 'step.1'")
    db.execute(
        """insert into state_machine_def (state_machine_id, scope, version, active, description)
           values ('step.2', 'step', '2.0.0', false, 'Another')"""
    )
    activate = "update state_machine_def set active = true where state_machine_id = 'step.2'"
    with pytest.raises(
        psycopg.Error, match=r"step\.2 cannot be active: .* not_started, ready, in_progress, wait"
    ) as refused:
        db.execute(activate)
    assert refused.value.sqlstate == "SW004"
    columns = [
        name
        for (name,) in db.execute(
            """select attname from pg_attribute where attrelid = 'state_def'::regclass and attnum > 0
                and not attisdropped and attname <> 'state_machine_id'"""
        )
    ]
    listed = ", ".join(columns)
    copied = f"insert into state_def (state_machine_id, {listed}) select 'step.2', {listed} from state_def"
    db.execute(f"{copied} where state_machine_id = 'step.1' and state_code <> 'overdue' and not is_derived")
    with pytest.raises(psycopg.Error, match="does not have the floor states overdue as"):
        db.execute(activate)
    db.execute(f"{copied} where state_machine_id = 'step.1' and state_code = 'overdue'")
    db.execute(activate)


@pytest.mark.requirement("SM-03")
@pytest.mark.parametrize("fault", list(FAULTS)[1:5])
def test_an_active_machine_keeps_its_floor(db: psycopg.Connection, fault: str):
    with pytest.raises(psycopg.Error, match="cannot be active"):
        db.execute(FAULTS[fault][0])


GAPS = {
    "a word is taken away": """
        delete from state_dialect where dialect = 'node' and state_code = 'overdue' and scope = 'step'""",
    "a gap has no reason": """
        update state_dialect set dialect_code = '—', note = null
        where dialect = 'job' and state_code = 'blocked' and scope = 'step'""",
    "one half of failed is missing": """
        delete from state_dialect where dialect = 'linear' and qualifier = 'permanent'""",
}


@pytest.mark.requirement("SM-26")
@pytest.mark.parametrize("gap", GAPS)
def test_a_dialect_that_cannot_say_the_floor_is_refused(db: psycopg.Connection, gap: str):
    with pytest.raises(
        psycopg.Error, match=r"cannot say the floor states (overdue|blocked|failed);"
    ) as refused:
        db.execute(GAPS[gap])
    assert refused.value.sqlstate == "SW004"


@pytest.mark.requirement("SM-26")
def test_a_gap_with_a_reason_is_accepted(db: psycopg.Connection):
    db.execute(
        """update state_dialect set dialect_code = '—', note = 'That system has no such state'
           where dialect = 'job' and state_code = 'blocked' and scope = 'step'"""
    )
    gaps = db.execute(
        "select count(*) from state_dialect where dialect_code = '—' and note is null"
    ).fetchone()
    assert gaps == (0,)


CLAIMS = {
    "one_active_version_per_scope": """
        insert into state_machine_def (state_machine_id, scope, version, active, description)
        values ('step.2', 'step', '2.0.0', true, 'Another')""",
    "derived_state_has_floor_equivalent_and_reason": """
        update state_def set floor_equivalent = null where state_code = 'skipped'""",
    "floor_equivalent_exists": "update state_def set floor_equivalent = 'x' where state_code = 'skipped'",
    "from_state_exists": "update transition_def set from_state = 'asleep' where transition_code = 'T1'",
    "to_state_exists": "update transition_def set to_state = 'asleep' where transition_code = 'T1'",
    "emitted_event_type_exists": """
        update transition_def set emitted_event_type = 'step.dreamt' where transition_code = 'T1'""",
    "extension_has_a_reason": "update transition_def set reason = null where transition_code = 'T3q'",
    "guard_has_ref_when_it_has_a_kind": """
        update transition_def set guard_ref = null
        where transition_code = 'T1' and state_machine_id = 'step.1'""",
    "actor_class_is_known": "update transition_def set actor_class = 'cat' where transition_code = 'W1'",
    "waiting_always_has_a_facet": """
        insert into work_unit (tenant_id, unit_id, last_transition_at, scope, state_machine_id, state_code)
        values (1, 1, now(), 'step', 'step.1', 'waiting')""",
}


@pytest.mark.requirement("SM-01", "SM-03", "SM-10")
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_constraint_refuses_the_change(db: psycopg.Connection, claim: str):
    with pytest.raises(psycopg.errors.IntegrityError) as refused:
        db.execute(CLAIMS[claim])
    assert refused.value.diag.constraint_name == claim


def test_a_refresh_makes_an_edit_take_effect(db: psycopg.Connection):
    db.execute(f"update transition_def set audit_required = true where {EDGE}")
    query = "select fn_registry_refresh() = (select count(*) from transition_def)"
    assert db.execute(query).fetchone() == (True,)
    assert db.execute("select bool_and(ok) from fn_registry_check()").fetchone() == (True,)
    columns = "leases_directly, audit_required"
    query = f"select {columns} from transition_rule where transition_id = 'step.T1' order by 1"
    assert db.execute(query).fetchall() == [(False, True), (True, True)]
