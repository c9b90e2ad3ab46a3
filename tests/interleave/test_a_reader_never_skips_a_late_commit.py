"""A reader of the log stops below the oldest transaction in flight, whatever order the numbers have."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.support.wait import until

READ = "select tx, event_id, payload ->> 'mark' from fn_events_read(1, 'reader')"
APPEND = """
    insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, payload)
    values (1, stepwell.now(), 0, 0, 'event.emitted', 'system', jsonb_build_object('mark', %s::text))
"""
NUMBER = """
    insert into event_log (tenant_id, event_id, at, run_id, unit_id, event_type, actor_class, payload)
    values (1, %s, stepwell.now(), 0, 0, 'event.emitted', 'system', jsonb_build_object('mark', %s::text))
"""


def read_on(engine: Engine, count: int = 0) -> list[str]:
    """Read and move behind it, as a relay does, until so many came.

    A transaction of any database of the server holds the reader back; other tests may have one open.
    """
    marks: list[str] = []

    def read() -> bool:
        rows = engine.db.execute(READ).fetchall()
        if rows:
            engine.db.execute("select fn_events_ack(1, 'reader', %s, %s)", rows[-1][:2])
        marks.extend(mark for _, _, mark in rows)
        return len(marks) >= count

    until(read, what=f"{count} events to read")
    return marks


@pytest.mark.requirement("SM-18")
def test_an_event_that_commits_late_is_read_late_but_read(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("early number, late commit",))
    second.db.execute(APPEND, ("late number, early commit",))
    second.commit()
    assert read_on(engine) == []
    first.commit()
    assert read_on(engine, 2) == ["early number, late commit", "late number, early commit"]
    assert read_on(engine) == []


def test_also_when_the_older_transaction_takes_the_higher_number(engine: Engine, sessions):
    """The number is drawn late: ordering by number alone would pass it over."""
    first, second = sessions(), sessions()
    first.db.execute("select pg_current_xact_id()")
    second.db.execute(NUMBER, (10, "younger transaction, lower number"))
    second.commit()
    assert read_on(engine) == []
    first.db.execute(NUMBER, (5, "older transaction, lowest number"))
    first.db.execute(NUMBER, (20, "older transaction, highest number"))
    first.commit()
    assert read_on(engine, 3) == [
        "older transaction, lowest number",
        "older transaction, highest number",
        "younger transaction, lower number",
    ]


def test_a_transaction_that_begins_after_the_read_is_behind_it(engine: Engine, sessions):
    first, second, third = sessions(), sessions(), sessions()
    first.db.execute(APPEND, ("one",))
    first.commit()
    second.db.execute(APPEND, ("two",))
    third.db.execute(APPEND, ("three",))
    third.commit()
    assert read_on(engine, 1) == ["one"]
    second.commit()
    assert read_on(engine, 2) == ["two", "three"]


def test_what_is_rolled_back_is_never_read_and_holds_nothing_back(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("never",))
    second.db.execute(APPEND, ("kept",))
    second.commit()
    first.rollback()
    assert read_on(engine, 1) == ["kept"]


def test_a_position_ahead_of_what_may_commit_is_refused(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("open",))
    second.db.execute(APPEND, ("done",))
    tx, event_id = second.db.execute(
        "select tx::text::bigint, event_id from event_log where payload ->> 'mark' = 'done'"
    ).fetchone()  # type: ignore[misc]
    second.commit()
    with pytest.raises(Exception, match="must be the position of an event"):
        engine.db.execute("select fn_events_ack(1, 'reader', %s, %s)", (tx, event_id))
