"""What the engine and agents say about workers: one sentence, with the events that it was made from."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

WRITE = """select fn_summary_write(1, 'ada', %(subject_kind)s, %(subject)s, %(colour)s, %(sentence_en)s,
    %(sentence_vi)s, %(source_event_count)s, %(source_event_total)s, %(source_event_refs)s,
    %(window_start_at)s::timestamptz,
    %(window_end_at)s::timestamptz, %(summarizer_version)s, %(confidence)s::real)"""


@pytest.fixture(autouse=True)
def people(engine: Engine) -> None:
    engine.person("ada")


def said(engine: Engine, kind: str, subject: str | int) -> dict[str, Any]:
    """The sentence of the engine, written now."""
    engine.one("select fn_summaries_write()")
    with engine.db.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "select * from v_governance_summary where summarizer_kind = 'sql_fn' and subject_kind = %s"
            " and subject = %s",
            (kind, str(subject)),
        ).fetchone()
    assert found is not None, (kind, subject)
    return found


def evidence(engine: Engine, **changed: Any) -> dict[str, Any]:
    """What an agent says about the worker 1, made from the newest event of the log."""
    ref = engine.one(
        "select concat_ws(':', 'event', run_id, event_id) from event_log order by event_id desc limit 1"
    )
    return {
        "subject_kind": "worker", "subject": "1", "colour": "yellow", "sentence_en": "slow today",
        "sentence_vi": None, "source_event_count": 1, "source_event_total": None, "source_event_refs": [ref],
        "window_start_at": engine.one("select stepwell.now() - interval '1 hour'"),
        "window_end_at": engine.one("select stepwell.now()"),
        "summarizer_version": "gpt-9", "confidence": 0.9, **changed,
    }  # fmt: skip


@pytest.mark.requirement("GV-03")
def test_a_worker_has_one_sentence_made_from_its_events(engine: Engine):
    engine.one("select fn_clock_stop(null)")
    session = engine.worker("orders:1")
    engine.beat(session)
    engine.enqueue("a", 14)
    engine.one("select fn_clock_move(stepwell.now() + interval '1.2 seconds')")
    engine.complete(session, *engine.claim(session))
    found = said(engine, "worker", engine.session_id(session))
    assert found["sentence_en"] == "OK, 14 jobs / 0 errors / lag 1.2 s p95"
    assert found["sentence_vi"] == "Ổn, 14 việc / 0 lỗi / trễ 1.2 giây p95"
    assert (found["colour"], found["summarizer_kind"], found["summarizer_ref"]) == (
        "green", "sql_fn", "fn_summaries_write",
    )  # fmt: skip
    assert (found["confidence"], found["is_low_confidence"]) == (None, False)
    # 14 starts and 14 ends.
    assert (found["source_event_count"], found["source_event_total"]) == (28, 28)
    events = engine.db.execute(
        "select event_type from fn_summary_events(1, %s)", (found["summary_id"],)
    ).fetchall()
    assert sorted({kind for (kind,) in events}) == ["job.completed", "job.started"]
    assert len(events) == len(found["source_event_refs"]) == 28
    assert said(engine, "executor", "default")["sentence_en"] == found["sentence_en"]


@pytest.mark.requirement("GV-03")
def test_at_most_a_hundred_refs_are_kept_and_the_total_beside_them(engine: Engine):
    session = engine.worker("orders:1")
    engine.enqueue("a", 80)
    engine.complete(session, *engine.claim(session))
    found = said(engine, "worker", engine.session_id(session))
    assert (found["source_event_count"], len(found["source_event_refs"])) == (160, 100)
    assert found["sentence_en"].startswith("OK, 80 jobs / 0 errors")


@pytest.mark.requirement("GV-03")
def test_errors_are_counted_and_the_sentence_is_not_green(engine: Engine):
    session = engine.worker("orders:1")
    engine.enqueue("a", 3)
    first, *others = engine.claim(session)
    engine.kill(session, first)
    engine.complete(session, *others)
    found = said(engine, "worker", engine.session_id(session))
    assert found["sentence_en"].startswith("Errors, 3 jobs / 1 errors / lag")
    assert found["colour"] == "yellow"


@pytest.mark.requirement("GV-03")
def test_an_idle_worker_is_told_by_its_heartbeat_and_never_without_one(engine: Engine, clock: Clock):
    session = engine.worker("orders:1", lease_seconds=600)
    engine.one("select fn_summaries_write()")
    assert engine.one("select count(*) from governance_summary") == 0
    engine.beat(session)
    found = said(engine, "worker", 1)
    assert found["sentence_en"] == "OK, no jobs in 5 min"
    assert (found["source_event_count"], found["source_event_refs"]) == (1, ["heartbeat:1"])
    clock.advance(seconds=94)
    engine.one("select fn_problems_watch()")
    found = said(engine, "worker", 1)
    assert (found["sentence_en"], found["colour"]) == ("Silent for 94 s, no jobs in 5 min", "red")
    engine.beat(session)
    # It answers again, but its problem is open until the keeper has looked: the sentence is not green.
    assert said(engine, "worker", 1)["colour"] == "yellow"
    engine.one("select fn_problems_watch()")
    assert said(engine, "worker", 1)["colour"] == "green"


@pytest.mark.requirement("GV-03")
@pytest.mark.parametrize(("kind", "word"), [("frozen", "Frozen"), ("drain", "Drained")])
def test_a_stopped_worker_says_so(engine: Engine, clock: Clock, kind: str, word: str):
    session = engine.worker("orders:1", lease_seconds=600)
    engine.beat(session)
    engine.db.execute("select fn_worker_stop(1, 1, %s, 'ada', 'x')", (kind,))
    assert said(engine, "worker", 1)["sentence_en"] == f"{word}, no jobs in 5 min"


def test_a_long_wait_before_the_window_is_not_shown_as_none(engine: Engine):
    engine.one("select fn_clock_stop(null)")
    session = engine.worker("orders:1", lease_seconds=3600)
    engine.enqueue("a")
    engine.one("select fn_clock_move(stepwell.now() + interval '20 minutes')")
    engine.beat(session)
    engine.claim(session)
    assert said(engine, "worker", 1)["sentence_en"] == "OK, 0 jobs / 0 errors / lag 300.0 s p95"


def test_each_tenant_has_the_sentence_of_its_own_events(engine: Engine):
    engine.db.execute("select fn_tenant_set('other')")
    other = Engine(engine.db, engine.one("select tenant_id from tenant where tenant_code = 'other'"))
    session = engine.worker("orders:1")
    engine.beat(session)
    other.enqueue("b", 2)
    engine.complete(session, *engine.claim(session))
    engine.one("select fn_summaries_write()")
    rows = dict(
        engine.db.execute(
            "select tenant_id, sentence_en from governance_summary where subject_kind = 'worker'"
        ).fetchall()
    )
    assert rows[1] == "OK, no jobs in 5 min"
    assert rows[other.tenant_id].startswith("OK, 2 jobs / 0 errors")


def test_sentences_that_fail_stop_those_of_no_other_tenant(engine: Engine):
    engine.db.execute("select fn_tenant_set('other')")
    other = Engine(engine.db, engine.one("select tenant_id from tenant where tenant_code = 'other'"))
    session = engine.worker("orders:1")
    engine.beat(session)
    other.enqueue("b")
    engine.claim(session)
    engine.db.execute("alter table governance_summary add constraint odd check (tenant_id <> 1)")
    engine.one("select fn_summaries_write()")
    assert engine.one("select array_agg(distinct tenant_id) from governance_summary") == [other.tenant_id]
    problem = engine.db.execute("select tenant_id, duty, subject from governance_problem").fetchall()
    assert problem == [(1, "summaries", "workers")]
    engine.db.execute("alter table governance_summary drop constraint odd")
    engine.db.execute("update governance_problem set retry_at = stepwell.now()")
    engine.one("select fn_summaries_write()")
    assert engine.one("select count(*) from governance_problem where closed_at is null") == 0


@pytest.mark.requirement("GV-03")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source_event_count": 0}, "source_event_count: at least 1 event is required"),
        ({"source_event_count": None}, "source_event_count: at least 1 event is required"),
        ({"source_event_total": 0}, "source_event_total: must be source_event_count or more"),
        ({"source_event_refs": []}, "source_event_refs: 1 to 100 are accepted"),
        ({"source_event_refs": None}, "source_event_refs: 1 to 100 are accepted"),
        (
            {"source_event_refs": [f"event:0:{n}" for n in range(101)], "source_event_count": 200},
            "1 to 100 are accepted",
        ),
        ({"source_event_count": 2}, "source_event_refs: 2 are required for 2 events"),
        ({"source_event_refs": ["event:0:999999"]}, "event:0:999999 did not happen in the window"),
        ({"source_event_refs": ["heartbeat:999"]}, "heartbeat:999 did not happen in the window"),
        (
            {"source_event_refs": ["the log"]},
            "and heartbeat:SESSION are accepted, not the log",
        ),
        ({"source_event_refs": [None]}, "source_event_refs: event:RUN:EVENT"),
        ({"window_start_at": None}, "window_start_at: the beginning and the end"),
        ({"window_end_at": None}, "window_start_at: the beginning and the end"),
        ({"window_start_at": "infinity"}, "window_start_at: the beginning and the end"),
        ({"window_end_at": "2000-01-01"}, "window_end_at: must not be before window_start_at"),
        ({"window_end_at": "2999-01-01"}, "window_end_at: must not be in the future"),
        ({"window_start_at": "2000-01-01", "window_end_at": "2000-01-02"}, "did not happen in the window"),
        ({"summarizer_version": None}, "summarizer_version: 1 to 100 characters"),
        ({"confidence": None}, "confidence: how sure the summarizer is"),
        ({"confidence": 1.5}, "confidence: how sure the summarizer is"),
        ({"confidence": float("nan")}, "confidence: how sure the summarizer is"),
        ({"sentence_en": "  "}, "sentence_en: 1 to 500 characters"),
        ({"sentence_en": "x" * 501}, "sentence_en: 1 to 500 characters"),
        ({"colour": "blue"}, "colour: green, yellow and red are accepted"),
        ({"subject_kind": "run"}, "subject_kind: worker, executor and problem are accepted"),
        ({"subject": "999"}, "worker 999 does not exist"),
        ({"subject_kind": "executor", "subject": "gpu"}, "executor gpu does not exist"),
        ({"subject_kind": "problem", "subject": "x"}, "problem x does not exist"),
    ],
)
def test_a_sentence_without_its_evidence_is_refused(engine: Engine, changed: dict[str, Any], message: str):
    engine.worker("orders:1")
    engine.enqueue("a")
    assert engine.one(WRITE, evidence(engine)) is not None
    with pytest.raises(psycopg.Error, match=message) as refused:
        engine.db.execute(WRITE, evidence(engine, **changed))
    assert refused.value.sqlstate in ("SW001", "SW002")
    assert engine.one("select count(*) from governance_summary") == 1


@pytest.mark.requirement("GV-03")
def test_the_table_itself_takes_no_sentence_without_evidence(engine: Engine):
    engine.worker("orders:1")
    engine.enqueue("a")
    engine.one(WRITE, evidence(engine))
    for change, claim in (
        ("source_event_count = 0", "a_summary_has_source_events"),
        ("source_event_refs = '{}'", "refs_are_some_and_few"),
        ("source_event_total = 0", "the_total_has_all"),
        ("confidence = null", "an_agent_says_how_sure_it_is"),
        ("window_end_at = window_start_at - interval '1 day'", "a_window_ends_after_it_begins"),
    ):
        with pytest.raises(psycopg.errors.CheckViolation) as refused:
            engine.db.execute(f"update governance_summary set {change}")  # type: ignore[call-overload]
        assert refused.value.diag.constraint_name == claim


@pytest.mark.requirement("GV-05")
def test_an_unsure_summary_is_flagged_by_the_threshold_of_its_category(engine: Engine):
    engine.worker("orders:1")
    engine.enqueue("a")
    flagged = "select is_low_confidence from v_governance_summary where summarizer_kind = 'ai_agent'"
    engine.one(WRITE, evidence(engine, confidence=0.59))
    assert engine.one(flagged) is True
    engine.one(WRITE, evidence(engine, confidence=0.6))
    assert engine.one(flagged) is False
    engine.db.execute(
        "insert into dot_config (config_key, config_value, description)"
        " values ('ai_summary.min_confidence.worker_status', '0.95', 'test')"
    )
    assert engine.one(flagged) is True
    # The same summarizer has one sentence about a subject.
    assert engine.one("select count(*) from governance_summary") == 1


@pytest.mark.requirement("GV-05")
@pytest.mark.parametrize("confidence", [0.1, 1.0])
def test_a_summary_resolves_nothing_and_green_is_refused_with_a_trace(engine: Engine, confidence: float):
    session = engine.worker("orders:1")
    engine.enqueue("a")
    engine.kill(session, *engine.claim(session))
    engine.one("select fn_problems_watch()")
    problem = engine.one("select problem_id from governance_problem")
    given = evidence(
        engine, subject_kind="problem", subject=str(problem), confidence=confidence, sentence_en="all is well"
    )
    engine.one(WRITE, given)
    engine.one("select fn_problems_watch()")
    still_open = "select count(*) from governance_problem where closed_at is null"
    assert engine.one(still_open) == 1
    with pytest.raises(psycopg.Error, match=f"problem {problem} is open") as refused:
        engine.db.execute(WRITE, {**given, "colour": "green"})
    assert refused.value.sqlstate == "SW004"
    assert engine.one(still_open) == 1
    # What the client does with such a refusal.
    engine.one(
        "select fn_event_reject_note(1, 'summary.resolves', null, %s)", (f'{{"problem_id": {problem}}}',)
    )
    assert "resolved_event_id: is required" in engine.one("select problems[1] from event_validation_audit")
    assert engine.one("select category_code from governance_summary") == "dead_letter"


@pytest.mark.requirement("GV-05")
def test_nobody_says_that_a_silent_worker_is_well(engine: Engine, clock: Clock):
    session = engine.worker("orders:1", lease_seconds=600)
    engine.beat(session)
    clock.advance(seconds=61)
    engine.one("select fn_problems_watch()")
    engine.enqueue("a")
    for kind, subject in (("worker", "1"), ("executor", "default")):
        with pytest.raises(psycopg.Error, match="is open, and only an event resolves it"):
            engine.db.execute(WRITE, evidence(engine, subject_kind=kind, subject=subject, colour="green"))
    engine.beat(session)
    engine.one("select fn_problems_watch()")
    engine.one(WRITE, evidence(engine, colour="green"))


def test_sentences_are_removed_after_a_while(engine: Engine, clock: Clock):
    engine.worker("orders:1")
    engine.enqueue("a")
    engine.one(WRITE, evidence(engine))
    clock.advance(days=8)
    engine.db.execute("select fn_retention_sweep()")
    assert engine.one("select count(*) from governance_summary") == 0


def test_steps_of_runs_are_counted_as_jobs_are(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    session = engine.worker("orders:1")
    engine.start("w")
    engine.drain(session)
    assert said(engine, "worker", 1)["sentence_en"].startswith("OK, 2 jobs / 0 errors / lag 0.")
