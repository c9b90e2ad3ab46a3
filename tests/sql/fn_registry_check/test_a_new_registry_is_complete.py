"""The registry of this release passes its own check; `stepwell doctor` runs the same check."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human
from tests.support.clock import Clock

CORRECTION_REASONS = ("data_error", "policy_change", "downstream_dependency_failed", "regulatory_recall")

FLOOR = [
    ("not_started", "idle", False, "gray", "circle_hollow"),
    ("ready", "active", False, "green_pale", "play_outline"),
    ("in_progress", "active", False, "green", "play_filled"),
    ("waiting", "wait", False, "yellow", "hourglass"),
    ("blocked", "wait", False, "yellow_dark", "warn_filled"),
    ("overdue", "red", False, "red_pale", "clock_alert"),
    ("failed", "red", False, "red", "cross_filled"),
    ("cannot_complete", "red", False, "red_dark", "stop_filled"),
    ("completed", "active", True, "green_deep", "check_filled"),
]
# Section 3.2. The ground of green is another one: the document's #059669 has too little contrast.
TOKENS = {
    "gray": ("#4B5563", "#F3F4F6", "circle_hollow"),
    "green_pale": ("#047857", "#ECFDF5", "triangle_outline"),
    "green": ("#FFFFFF", "#04875E", "triangle_filled"),
    "green_deep": ("#FFFFFF", "#047857", "check_filled"),
    "yellow": ("#92400E", "#FEF3C7", "hourglass"),
    "yellow_dark": ("#FFFFFF", "#B45309", "warn_filled"),
    "red_pale": ("#B91C1C", "#FEE2E2", "clock_alert"),
    "red": ("#FFFFFF", "#DC2626", "cross_filled"),
    "red_dark": ("#FFFFFF", "#991B1B", "stop_filled"),
}


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
        select state_code, semantic_class, is_terminal, substr(ui_color_token, 18), substr(ui_icon_token, 6)
        from state_def where state_machine_id = %s and not is_derived order by ordinal
    """
    assert db.execute(query, (machine,)).fetchall() == FLOOR
    # Section 3.4: an icon is named icon.*, a colour ui.traffic_light.*, the texts after the state.
    query = """
        select state_code from state_def
        where state_machine_id = %s and not is_derived
            and (ui_icon_token not like 'icon.%%' or ui_color_token not like 'ui.traffic\\_light.%%'
                or ui_label_i18n_key <> 'state.' || state_code || '.label'
                or ui_short_message_key <> 'state.' || state_code || '.short')
    """
    assert db.execute(query, (machine,)).fetchall() == []
    # Every floor state has its short message, beside its label, in both languages.
    query = """
        select count(distinct (t.text_key, t.lang)) from state_def as s
        inner join i18n_text as t on t.text_key in (s.ui_label_i18n_key, s.ui_short_message_key)
        where s.state_machine_id = %s and not s.is_derived and btrim(t.text_value) <> ''
    """
    assert db.execute(query, (machine,)).fetchone() == (4 * len(FLOOR),)


@pytest.mark.requirement("SM-02")
@pytest.mark.parametrize("machine", ["step.1", "task.1"])
def test_floor_labels_are_those_of_the_document(db: psycopg.Connection, machine: str):
    query = """
        select s.state_code, s.ui_icon_glyph, vi.text_value, en.text_value
        from state_def as s
        inner join i18n_text as vi on s.ui_label_i18n_key = vi.text_key and vi.lang = 'vi'
        inner join i18n_text as en on s.ui_label_i18n_key = en.text_key and en.lang = 'en'
        where s.state_machine_id = %s and not s.is_derived order by s.ordinal
    """
    assert db.execute(query, (machine,)).fetchall() == [
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
        select split_part(config_key, '.', 3), config_value ->> 'fg', config_value ->> 'bg',
            config_value ->> 'shape_token'
        from dot_config where config_key like 'ui.traffic\\_light.%'
    """
    assert {name: tuple(rest) for name, *rest in db.execute(query)} == TOKENS
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
    # Section 4.5: class, colour, icon, terminal.
    query = """
        select distinct s.state_code, s.semantic_class, s.ui_color_token, s.ui_icon_token, s.is_terminal
        from state_def as s inner join state_machine_def as m on s.state_machine_id = m.state_machine_id
        where s.state_code in ('paused', 'cancelled') and m.scope in ('step', 'task', 'workflow_run')
        order by 1
    """
    assert db.execute(query).fetchall() == [
        ("cancelled", "red", "ui.traffic_light.red_dark", "icon.cancel_filled", True),
        ("paused", "wait", "ui.traffic_light.yellow_dark", "icon.pause_filled", False),
    ]


@pytest.mark.requirement("SM-10")
def test_waiting_has_its_four_facets_in_order(db: psycopg.Connection):
    query = """
        select facet_code, primary_ordinal from state_facet_def
        where state_machine_id = %s and state_code = 'waiting' order by primary_ordinal
    """
    for machine in ("step.1", "task.1"):
        assert db.execute(query, (machine,)).fetchall() == [
            ("waiting_dependency", 10),
            ("waiting_human", 20),
            ("waiting_external", 30),
            ("waiting_time_gate", 40),
        ]


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
    # The words of section 4.2: correction reasons, and what may be missing.
    wanted = {
        *(f"correction_reason.{reason}" for reason in CORRECTION_REASONS),
        *(f"block_reason.{reason}" for reason in ("missing_iu", "missing_approval", "config_error")),
    }
    query = "select substr(config_key, 7) from dot_config where config_key like 'vocab.%'"
    assert wanted <= {key for (key,) in db.execute(query)}


@pytest.mark.requirement("SM-20")
def test_a_row_is_enough_for_a_new_word_and_another_threshold(engine: Engine, clock: Clock):
    engine.person("ada")
    engine.publish("w", human("sign", assignee="ada"), human("other", assignee="ada"), edges=[])
    run_id = engine.start("w")
    sign, other = engine.unit(run_id, "sign"), engine.unit(run_id, "other")
    for unit in (sign, other):
        engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    block = "select fn_step_block(1, %s, 'ada', 'strike')"
    with pytest.raises(psycopg.Error) as refused:
        engine.db.execute(block, (other,))
    assert refused.value.sqlstate == "SW004"
    engine.db.execute(
        """insert into dot_config (config_key, config_value, description)
           values ('vocab.block_reason.strike', '{"vi": "Đình công", "en": "Strike"}', 'Nobody works')"""
    )
    engine.db.execute(block, (other,))
    clock.advance(minutes=10)
    severity = "select fn_step_blocked_severity(%s)"
    assert engine.one(severity, (other,)) == "yellow_dark"
    engine.db.execute(
        """update dot_config set config_value = '300'
           where config_key = 'block_severity.threshold_seconds.default'"""
    )
    assert engine.one(severity, (other,)) == "red"


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
