"""Cuts of content: split, merge and restage are requests with their own machine; a failed one is seen."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, human
from tests.sql.people.asking import refused


def write(engine: Engine, code: str, body: str) -> None:
    engine.db.execute("select fn_content_write(1, %s, %s, 'ada')", (code, body))


def split(engine: Engine, code: str, parts: dict[str, str], **named: Any) -> dict[str, Any]:
    words = "".join(f", p_{name} => %s" for name in named)
    listed = json.dumps([{"code": part, "body": body} for part, body in parts.items()])
    query = f"select fn_iu_op_split(1, %s, %s, 'ada'{words})"
    return engine.one(query, (code, listed, *named.values()))


def body(engine: Engine, code: str) -> str:
    query = "select body from v_content_version where iu_code = %s order by version_no desc limit 1"
    return engine.one(query, (code,))


def visits(engine: Engine, cut: dict[str, Any]) -> list[str]:
    query = "select state_code from step_run_state_history where step_run_id = %s order by visit_no"
    return [state for (state,) in engine.db.execute(query, (cut["cut_request_id"],))]


def problems(engine: Engine) -> list[tuple[str, bool]]:
    query = "select reason, closed_at is null from governance_problem where category_code = %s order by 1"
    return engine.db.execute(query, ("failed_cut",)).fetchall()


def life(engine: Engine, code: str) -> list[tuple[str, str, bool]]:
    query = (
        "select what, severity, axis_inconsistency from iu_lifecycle_log where iu_code = %s order by entry_id"
    )
    return engine.db.execute(query, (code,)).fetchall()


@pytest.mark.requirement("SM-23")
def test_a_unit_is_split_and_its_parts_replace_it(engine: Engine):
    write(engine, "manual", "one\ntwo\n")
    engine.publish("w", human("pack", role="r", content="manual"))
    run = engine.start("w")
    cut = split(engine, "manual", {"manual.1": "one\n", "manual.2": "two\n"})
    assert (cut["state_code"], cut["sources"]) == ("completed", ["manual"])
    assert visits(engine, cut) == ["requested", "in_progress", "completed"]
    assert (body(engine, "manual.1"), body(engine, "manual.2")) == ("one\n", "two\n")
    # The run still shows what it pinned, and the log warns that a step shows what was replaced.
    assert engine.one("select body from v_step_content where run_id = %s", (run,)) == "one\ntwo\n"
    written = [("written", "info", False), ("split", "info", False), ("shown_by_step", "warning", False)]
    assert life(engine, "manual") == written
    lineage = "select count(*) from iu_lineage where cut_request_id = %s"
    assert engine.one(lineage, (cut["cut_request_id"],)) == 2
    with refused("SW003", "was replaced by cut"):
        write(engine, "manual", "three")
    assert engine.faults() == {}


@pytest.mark.requirement("SM-23")
@pytest.mark.parametrize(
    ("parts", "said", "axis"),
    [
        ({"b": "on", "c": "e"}, "", None),
        ({"b": "on", "c": "x"}, "together they are not the text", True),
        ({"a2": "on", "c": "e"}, "content a2 exists", False),
        ({"b": "on", "not a code": "e"}, "code: 1 to 200 letters", False),
    ],
)
def test_a_cut_that_fails_changes_nothing_and_is_seen(
    engine: Engine, parts: dict[str, str], said: str, axis: bool | None
):
    write(engine, "a", "one")
    write(engine, "a2", "other")
    before = engine.one("select count(*) from information_unit_version")
    cut = split(engine, "a", parts)
    if axis is None:
        assert (cut["state_code"], problems(engine)) == ("completed", [])
        return
    assert cut["state_code"] == "failed"
    assert said in cut["reason"]
    assert engine.one("select count(*) from information_unit_version") == before
    assert problems(engine) == [(cut["reason"], True)]
    assert life(engine, "a")[-1] == ("cut_failed", "error", axis)
    why = "select code from fn_why_not_running(%s)"
    assert engine.one(why, (cut["cut_request_id"],)) == "cut"
    gone = engine.one("select fn_iu_op_cancel(1, %s, 'ada', 'no longer needed')", (cut["cut_request_id"],))
    assert (gone["state_code"], problems(engine)) == ("cancelled", [(cut["reason"], False)])
    with refused("SW003", "only a failed one"):
        engine.one("select fn_iu_op_retry(1, %s, 'ada')", (cut["cut_request_id"],))
    assert engine.faults() == {}


@pytest.mark.requirement("SM-23")
def test_two_parts_with_one_code_are_refused_because_one_would_hide_the_other(engine: Engine):
    write(engine, "a", "one")
    twice = '[{"code": "b", "body": "on"}, {"code": "b", "body": "e"}]'
    cut = engine.one("select fn_iu_op_split(1, 'a', %s, 'ada')", (twice,))
    assert (cut["state_code"], cut["error_code"]) == ("failed", "SW003")
    assert cut["reason"] == "content b is the code of two parts; each part has a code of its own"
    write(engine, "a", "still in use")
    assert engine.one("select count(*) from information_unit where iu_code = 'b'") == 0
    assert engine.faults() == {}


@pytest.mark.requirement("SM-23")
def test_a_failed_cut_is_retried_after_its_cause_is_mended(engine: Engine):
    write(engine, "a", "one")
    write(engine, "a", "one more")
    cut = split(engine, "a", {"b": "on", "c": "e"}, version_no=1)
    assert "has version 2 now" in cut["reason"]
    engine.one("select fn_iu_op_restage(1, 'a', 1, 'ada')")
    again = engine.one("select fn_iu_op_retry(1, %s, 'ada')", (cut["cut_request_id"],))
    # The parts were made from version 1; version 3 has the same text, and still is another version.
    assert (again["state_code"], again["attempt_count"]) == ("failed", 2)
    assert problems(engine)[0][1] is True
    other = split(engine, "a", {"b": "on", "c": "e"}, version_no=3)
    assert other["state_code"] == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-23")
def test_units_are_merged_in_order_and_an_earlier_version_is_restaged(engine: Engine):
    write(engine, "a", "one")
    write(engine, "b", "two")
    query = "select fn_iu_op_merge(1, %s, 'both', 'ada', '--')"
    cut = engine.one(query, (["b", "a"],))
    assert (cut["state_code"], body(engine, "both")) == ("completed", "two--one")
    # A unit that was replaced is in use again after a restage.
    engine.one("select fn_iu_op_restage(1, 'a', 1, 'ada')")
    write(engine, "a", "new")
    back = engine.one("select fn_iu_op_restage(1, 'a', 1, 'ada')")
    assert (back["state_code"], body(engine, "a")) == ("completed", "one")
    missing = engine.one("select fn_iu_op_restage(1, 'a', 9, 'ada')")
    assert (missing["state_code"], missing["error_code"]) == ("failed", "SW002")
    nothing = engine.one("select fn_iu_op_merge(1, '{a,nothing}', 'x', 'ada')")
    assert nothing["reason"] == "content nothing does not exist"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-23")
def test_a_key_makes_one_cut_and_a_wrong_call_makes_none(engine: Engine, db: psycopg.Connection):
    write(engine, "a", "one")
    first = split(engine, "a", {"b": "on", "c": "e"}, key="k")
    assert split(engine, "a", {"b": "on", "c": "e"}, key="k") == first
    assert engine.one("select count(*) from cut_request") == 1
    with refused("SW001", "at least two"):
        split(engine, "a", {"b": "one"})
    with refused("SW001", "each once"):
        engine.one("select fn_iu_op_merge(1, '{a,a}', 'x', 'ada')")
    with refused("SW001", "version_no"):
        engine.one("select fn_iu_op_restage(1, 'a', null, 'ada')")
    with refused("SW006", "at most 100"):
        split(engine, "a", {f"p{at}": "x" for at in range(101)})
    with refused("SW002", "does not exist"):
        engine.one("select fn_iu_op_cancel(1, 5, 'ada')")
    with refused("SW007", "cannot be changed"):
        db.execute("update iu_lifecycle_log set severity = 'info'")
    assert engine.one("select count(*) from cut_request") == 1


@pytest.mark.requirement("SM-23")
def test_the_door_only_checks_a_cut(engine: Engine):
    write(engine, "a", "one")
    cut = split(engine, "a", {"b": "x", "c": "y"})
    verdict = engine.one(
        "select fn_state_transition_validate(%s, 'cut_request', 'failed', 'in_progress', 'pic_human', 'rpc',"
        " 'iu_op_retry', '{\"audit_ref\": \"x\"}')",
        (cut["cut_request_id"],),
    )
    assert (verdict["transition_id"], verdict["problems"]) == (
        "cut_request.C4",
        ["has_calls_of_its_own:cut_request"],
    )
