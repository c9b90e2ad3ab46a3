"""The keeper checks the invariants in slices: a broken row is a problem until a check finds it good."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock

BREAK = "update run_progress set open_count = 99 where run_id = (select max(run_id) from run_progress)"


def look(engine: Engine, run_count: int = 3) -> list[dict[str, Any]]:
    """The faults of all slices, as the doctor finds them."""
    place, found = (0, 0), []
    for _ in range(1000):
        said = engine.one("select fn_integrity_look(%s, %s, %s)", (*place, run_count))
        found += said["faults"]
        if said["tenant_id"] is None:
            return found
        place = (said["tenant_id"], said["unit_id"])
    raise AssertionError("the slices have no end")


def watch(engine: Engine) -> int:
    """Watches until a whole pass is done; returns how many problems were opened or closed."""
    count: int = engine.one("select fn_integrity_watch()")
    while engine.one("select (tenant_id, unit_id) <> (0, 0) from integrity_watch"):
        count += engine.one("select fn_integrity_watch()")
    return count


def problems(engine: Engine) -> list[tuple[str, int, str, bool]]:
    query = (
        "select p.subject, p.unit_id, v.remedy_en, p.closed_at is null from governance_problem as p"
        " inner join v_governance_problem as v on p.problem_id = v.problem_id"
        " where p.category_code = 'integrity_warning' order by p.subject"
    )
    return engine.db.execute(query).fetchall()


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """Runs that have ended, run and wait; jobs."""
    engine.publish("w", operation("a"), human("sign"), operation("b"))
    for _ in range(7):
        engine.start("w")
    engine.enqueue("job", 3)
    session = engine.worker()
    engine.complete(session, *engine.claim(session, 6), output=1)
    return engine


def test_a_correct_engine_has_no_fault_in_any_slice(filled: Engine):
    assert look(filled, 1) == look(filled, 1000) == []
    assert watch(filled) == 0
    assert problems(filled) == []


@pytest.mark.requirement("GV-06")
def test_a_broken_row_becomes_a_problem_with_its_remedy(filled: Engine):
    run = filled.one("select max(run_id) from run_progress")
    filled.db.execute("update run_progress set open_count = open_count + 5 where run_id = %s", (run,))
    assert watch(filled) == 1
    ((subject, unit_id, remedy, is_open),) = problems(filled)
    assert (subject, unit_id) == (f"invariant:counters_equal_a_recount:{run << 20}", run << 20)
    assert remedy.startswith("Pause and resume the run")
    assert is_open
    reason = filled.one("select reason from governance_problem where category_code = 'integrity_warning'")
    assert f"run {run}, open_count: counted" in reason
    assert watch(filled) == 0, "one fault is one problem"


def test_only_a_good_check_of_that_row_closes_it_with_an_event(filled: Engine, clock: Clock):
    run = filled.one("select max(run_id) from run_progress")
    filled.db.execute("update run_progress set open_count = open_count + 5 where run_id = %s", (run,))
    watch(filled)
    clock.advance(minutes=2)
    assert watch(filled) == 0
    assert problems(filled)[0][3], "the row is still wrong"
    seen = "select seen_count from governance_problem where category_code = 'integrity_warning'"
    assert filled.one(seen) == 2
    filled.db.execute("update run_progress set open_count = open_count - 5 where run_id = %s", (run,))
    clock.advance(minutes=2)
    assert watch(filled) == 1
    assert not problems(filled)[0][3]
    event = (
        "select e.payload from event_log as e"
        " inner join governance_problem as p on p.closed_event_id = e.event_id"
        " where e.event_type = 'problem.resolved'"
    )
    assert filled.one(event)["reason"] == "a check of the row finds it good"


def test_what_somebody_closed_is_not_opened_again_for_a_day(filled: Engine, clock: Clock):
    filled.person("ada")
    filled.db.execute(
        "update run_progress set open_count = 99 where run_id = (select max(run_id) from run_progress)"
    )
    watch(filled)
    number = filled.one("select problem_id from governance_problem where category_code = 'integrity_warning'")
    filled.one("select fn_problem_close(1, %s, 'cli:op', 'known')", (number,))
    clock.advance(hours=2)
    assert watch(filled) == 0
    clock.advance(days=2)
    assert watch(filled) == 1


def test_the_watch_rests_while_nothing_happens(filled: Engine, db: psycopg.Connection):
    watch(filled)

    def whole() -> Any:
        return filled.one("select whole_at from integrity_watch")

    before = whole()
    filled.db.execute("update run_progress set open_count = 99")
    assert watch(filled) == 0, "without an event nothing is checked again before its time"
    assert whole() == before
    filled.start("w")
    assert watch(filled) > 0
    assert whole() > before


def test_a_pass_begins_again_after_an_hour(filled: Engine, clock: Clock):
    watch(filled)
    filled.db.execute(
        "update run_progress set open_count = 99 where run_id = (select max(run_id) from run_progress)"
    )
    clock.advance(minutes=61)
    assert watch(filled) == 1


def test_two_keepers_share_one_place(filled: Engine, dsn: str):
    with psycopg.connect(dsn) as other:
        other.execute("select from stepwell.integrity_watch for update")
        assert filled.one("select fn_integrity_watch()") == 0
        assert filled.one("select unit_id from integrity_watch") == 0


def pages(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_slice_reads_no_more_when_there_are_more_runs(engine: Engine, db: psycopg.Connection):
    """The pages that the check of one run reads, among few and among many runs."""
    engine.publish("w", *(operation(f"s{at}") for at in range(4)))
    found = []
    for count in (5, 400):
        for _ in range(count):
            engine.start("w")
        engine.drain(engine.worker(), limit=4000)
        db.execute("vacuum analyze")
        run = engine.start("w")
        query = "select count(*) from _slice_faults(1, %s, %s)"
        values = (run << 20, (run + 1 << 20) - 1)
        engine.one(query, values)
        (plan,) = engine.one("explain (analyze, buffers, format json) " + query, values)
        found.append(pages(plan["Plan"]))
    assert found[1] < 2 * found[0] + 200, json.dumps(found)


def test_the_number_of_runs_follows_the_time_that_a_slice_takes(filled: Engine):
    slice_of = "update dot_config set config_value = %s where config_key = 'integrity.slice_milliseconds'"
    filled.db.execute(slice_of, ("1",))
    filled.db.execute("update integrity_watch set run_count = 1")
    watch(filled)
    assert 1 <= filled.one("select run_count from integrity_watch") <= 500
    filled.db.execute(slice_of, ("100000",))
    filled.start("w")
    watch(filled)
    assert filled.one("select run_count from integrity_watch") > 1
