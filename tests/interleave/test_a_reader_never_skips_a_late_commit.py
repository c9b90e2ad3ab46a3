"""A reader of the log stops before the oldest open transaction, whatever the order of the event ids is."""

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
    """Reads events and stores the position, as a relay does, until `count` events were read.

    An open transaction in any database of the server stops the reader; other tests may have one.
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
def test_an_event_that_commits_late_is_still_read(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("early number, late commit",))
    second.db.execute(APPEND, ("late number, early commit",))
    second.commit()
    assert read_on(engine) == []
    first.commit()
    assert read_on(engine, 2) == ["early number, late commit", "late number, early commit"]
    assert read_on(engine) == []


def test_events_of_an_older_transaction_with_higher_ids_are_read_too(engine: Engine, sessions):
    """The older transaction gets its event ids late: a reader that orders by event id would skip them."""
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


def test_events_behind_an_open_transaction_are_read_after_it_commits(engine: Engine, sessions):
    first, second, third = sessions(), sessions(), sessions()
    first.db.execute(APPEND, ("one",))
    first.commit()
    second.db.execute(APPEND, ("two",))
    third.db.execute(APPEND, ("three",))
    third.commit()
    assert read_on(engine, 1) == ["one"]
    second.commit()
    assert read_on(engine, 2) == ["two", "three"]


def test_a_rolled_back_event_is_never_read_and_stops_no_reader(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("never",))
    second.db.execute(APPEND, ("kept",))
    second.commit()
    first.rollback()
    assert read_on(engine, 1) == ["kept"]


def test_a_position_behind_an_open_transaction_is_refused(engine: Engine, sessions):
    first, second = sessions(), sessions()
    first.db.execute(APPEND, ("open",))
    second.db.execute(APPEND, ("done",))
    tx, event_id = second.db.execute(
        "select tx::text::bigint, event_id from event_log where payload ->> 'mark' = 'done'"
    ).fetchone()  # type: ignore[misc]
    second.commit()
    with pytest.raises(Exception, match="must be the position of an event"):
        engine.db.execute("select fn_events_ack(1, 'reader', %s, %s)", (tx, event_id))
