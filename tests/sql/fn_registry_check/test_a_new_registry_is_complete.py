"""The registry of this release passes its own check; `stepwell doctor` runs the same check."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human

FLOOR = [
    ("not_started", "idle", False),
    ("ready", "active", False),
    ("in_progress", "active", False),
    ("waiting", "wait", False),
    ("blocked", "wait", False),
    ("overdue", "red", False),
    ("failed", "red", False),
    ("cannot_complete", "red", False),
    ("completed", "active", True),
]


def test_every_check_is_ok(db: psycopg.Connection):
    rows = db.execute("select check_name, ok, detail from fn_registry_check()").fetchall()
    assert len(rows) == 17
    assert [row for row in rows if not row[1]] == []


@pytest.mark.requirement("SM-01")
def test_there_is_one_active_machine_for_each_scope(db: psycopg.Connection):
    rows = db.execute("select scope, version from state_machine_def where active order by scope").fetchall()
    scopes = ["approval", "cut_request", "job", "proposal", "receipt", "step", "task", "workflow_run"]
    assert rows == [(scope, "1.0.0") for scope in scopes]


@pytest.mark.requirement("SM-02")
@pytest.mark.parametrize("machine", ["step.1", "task.1", "job.1", "workflow_run.1"])
def test_the_floor_equals_the_source_document(db: psycopg.Connection, machine: str):
    query = """
        select state_code, semantic_class, is_terminal from state_def
        where state_machine_id = %s and not is_derived order by ordinal
    """
    assert db.execute(query, (machine,)).fetchall() == FLOOR


@pytest.mark.requirement("SM-02")
def test_floor_labels_are_those_of_the_document(db: psycopg.Connection):
    query = """
        select s.state_code, s.ui_icon_glyph, vi.text_value, en.text_value
        from state_def as s
        inner join i18n_text as vi on s.ui_label_i18n_key = vi.text_key and vi.lang = 'vi'
        inner join i18n_text as en on s.ui_label_i18n_key = en.text_key and en.lang = 'en'
        where s.state_machine_id = 'step.1' and not s.is_derived order by s.ordinal
    """
    assert db.execute(query).fetchall() == [
        ("not_started", "○", "Chưa tới lượt", "Not started"),
        ("ready", "▶", "Sẵn sàng", "Ready"),
        ("in_progress", "►", "Đang làm", "In progress"),
        ("waiting", "⏳", "Đang chờ", "Waiting"),
        ("blocked", "⚠", "Bị chặn", "Blocked"),
        ("overdue", "⏰", "Trễ hạn", "Overdue"),
        ("failed", "✕", "Thất bại", "Failed"),
        ("cannot_complete", "⛔", "Không thể hoàn tất", "Cannot complete"),
        ("completed", "✓", "Hoàn thành", "Completed"),
    ]


@pytest.mark.requirement("SM-02")
def test_every_token_declares_what_the_document_asks_for(db: psycopg.Connection):
    query = """
        select config_key from dot_config where config_key like 'ui.traffic\\_light.%'
            and not (config_value ?& '{fg,bg,contrast_ratio,shape_token,high_contrast}'
                and config_value -> 'high_contrast' ?& '{fg,bg}')
    """
    assert db.execute(query).fetchall() == []


@pytest.mark.requirement("SM-03")
def test_derived_states_extend_the_floor(db: psycopg.Connection):
    query = """
        select m.scope, s.state_code, s.floor_equivalent
        from state_def as s inner join state_machine_def as m on s.state_machine_id = m.state_machine_id
        where s.is_derived order by m.scope, s.ordinal
    """
    assert db.execute(query).fetchall() == [
        ("job", "cancelled", "cannot_complete"),
        ("step", "cancelled", "cannot_complete"),
        ("step", "skipped", "completed"),
        ("task", "cancelled", "cannot_complete"),
        ("task", "skipped", "completed"),
        ("workflow_run", "paused", "waiting"),
        ("workflow_run", "cancelled", "cannot_complete"),
    ]


@pytest.mark.requirement("SM-10")
def test_waiting_has_its_four_facets_in_order(db: psycopg.Connection):
    query = """
        select facet_code from state_facet_def
        where state_machine_id = 'step.1' and state_code = 'waiting' order by primary_ordinal
    """
    facets = [code for (code,) in db.execute(query)]
    assert facets == ["waiting_dependency", "waiting_human", "waiting_external", "waiting_time_gate"]


@pytest.mark.requirement("SM-20")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("block_severity.threshold_seconds.default", 14400),
        ("ai_summary.min_confidence.default", 0.6),
        ("heartbeat.threshold.default", 60),
        ("event_lag.threshold.p50", 500),
        ("event_lag.threshold.p95", 2000),
        ("event_lag.threshold.p99", 5000),
        ("limits.payload_bytes", 1048576),
        ("approval.expiry_seconds.default", 259200),
    ],
)
def test_thresholds_are_rows_of_dot_config(db: psycopg.Connection, key: str, value: object):
    row = db.execute("select config_value from dot_config where config_key = %s", (key,)).fetchone()
    assert row == (value,)


@pytest.mark.requirement("SM-20")
def test_vocabularies_are_rows_of_dot_config_in_both_languages(db: psycopg.Connection):
    query = """
        select split_part(config_key, '.', 2), count(*), bool_and(config_value ?& '{vi,en}')
        from dot_config where config_key like 'vocab.%' group by 1 order by 1
    """
    rows = db.execute(query).fetchall()
    assert [(word, whole) for word, _, whole in rows] == [
        ("block_reason", True),
        ("cancel_reason", True),
        ("correction_reason", True),
    ]


@pytest.mark.requirement("SM-16")
def test_both_kinds_of_guards_are_evaluated(db: psycopg.Connection):
    """A guard is an expression over the data of the run, or a named predicate."""
    db.execute(
        """create function guard_is_monday(p_unit work_unit, p_evidence jsonb) returns boolean
           language sql stable as $$ select p_evidence ->> 'day' = 'monday' $$"""
    )
    db.execute(
        """insert into guard_predicate (predicate_name, description, is_builtin)
           values ('is_monday', 'x', false)"""
    )
    db.execute(
        """insert into i18n_text (text_key, lang, text_value)
           select 'guard.is_monday', l, 'x' from unnest('{vi,en}'::text[]) as l"""
    )
    engine = Engine(db)
    engine.publish("w", human("sign"))
    guards = {
        "config": '$.evidence.amount <= 100 && $.input.currency == "EUR"',
        "predicate_fn": "is_monday",
    }
    for kind, guard in guards.items():
        db.execute(
            """update transition_def set guard_kind = %s, guard_ref = %s
               where state_machine_id = 'step.1' and transition_code = 'T2' and actor_class = 'pic_human'""",
            (kind, guard),
        )
        db.execute("select fn_registry_refresh()")
        assert db.execute("select detail from fn_registry_check() where not ok").fetchall() == []
        for given, evidence, holds in [
            ({"currency": "EUR"}, {"amount": 100, "day": "monday"}, True),
            ({"currency": "EUR"}, {"amount": 101, "day": "tuesday"}, False),
            ({"currency": "EUR"}, {}, False),
        ]:
            unit_id = engine.unit(engine.start("w", given), "sign")
            answer = engine.one(
                """select fn_state_transition_validate(
                    %s, 'step', 'ready', 'in_progress', 'pic_human', 'rpc', 'step_claim', %s)""",
                (unit_id, Jsonb({"audit_ref": "a"} | evidence)),
            )
            assert answer["ok"] is holds
            assert answer["problems"] == ([] if holds else [f"transition_refused_by_guard:{guard}"])
            assert engine.state(unit_id) == ("in_progress" if holds else "ready")


@pytest.mark.requirement("SM-16")
def test_every_built_in_guard_is_implemented(db: psycopg.Connection):
    query = """
        select g.predicate_name from guard_predicate as g
        where g.is_builtin and not exists (
            select from pg_proc as p
            where p.pronamespace = 'stepwell'::regnamespace
                and p.proname in ('_transition_problems', '_guard_named', '_guard_approval')
                and p.prosrc like '%''' || g.predicate_name || '''%'
        )
    """
    assert db.execute(query).fetchall() == []
