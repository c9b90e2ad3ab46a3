"""The seal stops before the oldest open transaction; two seals at the same time seal each event once."""

from __future__ import annotations

from tests.govern.sealing import append, check, seal
from tests.interleave.conftest import LIMIT_SECONDS
from tests.sql.drive import Engine

SEAL = "select event_count from fn_audit_seal(1)"
ORDER = "select unit_id >> 20 from event_log order by tx, event_id"


def test_a_transaction_that_commits_late_is_sealed_in_its_place(engine: Engine, sessions):
    """The older transaction has the lower id and commits last: no later event is sealed before it."""
    first, second = sessions(), sessions()
    append(first.db, 1 << 20)
    append(second.db, 2 << 20)
    second.commit()
    assert engine.one(SEAL) is None
    first.commit()
    seal(engine.db)
    assert [stream for (stream,) in engine.db.execute(ORDER)] == [1, 2]
    verdict = check(engine.db)
    assert (verdict.problems, verdict.event_count) == ([], 2)


def test_only_events_before_the_open_transaction_are_sealed(engine: Engine, sessions):
    first, second = sessions(), sessions()
    append(engine.db, 1 << 20)
    append(first.db, 2 << 20)
    append(second.db, 3 << 20)
    second.commit()
    assert engine.one("select coalesce(sum(event_count), 0) from fn_audit_seal(1)") <= 1
    assert engine.one("select count(*) from audit_block_stream where run_id = 3") == 0
    first.commit()
    seal(engine.db)
    assert check(engine.db).problems == []


def test_an_older_transaction_that_writes_last_is_not_skipped(engine: Engine, sessions):
    """The older transaction has an id but no event yet; a seal that reads only the log would skip it."""
    first, second = sessions(), sessions()
    first.db.execute("select pg_current_xact_id()")
    append(second.db, 2 << 20)
    second.commit()
    assert engine.one(SEAL) is None
    append(first.db, 1 << 20)
    first.commit()
    seal(engine.db)
    assert check(engine.db).problems == []


def test_two_seals_at_the_same_time_seal_each_event_once(engine: Engine, sessions):
    for stream in range(1, 6):
        append(engine.db, stream << 20)
    seal(engine.db)
    append(engine.db, 9 << 20)
    first, second = sessions(), sessions()
    first.db.execute(SEAL)
    waiting = second.start_blocked(lambda: second.db.execute(SEAL).fetchall())
    first.commit()
    assert waiting.result(LIMIT_SECONDS) in ([], [(1,)])
    second.commit()
    seal(engine.db)
    assert engine.one("select sum(event_count) from audit_block") == 6
    assert check(engine.db).problems == []


def test_two_first_seals_at_the_same_time_make_one_chain(engine: Engine, sessions):
    append(engine.db, 1 << 20)
    first, second = sessions(), sessions()
    first.db.execute(SEAL)
    waiting = second.start_blocked(lambda: second.db.execute(SEAL).fetchall())
    first.commit()
    waiting.result(LIMIT_SECONDS)
    second.commit()
    assert engine.one("select count(*) from audit_chain") == 1
    seal(engine.db)
    assert check(engine.db).problems == []


def test_a_report_does_not_wait_for_a_seal(engine: Engine, sessions):
    """The transaction of the seal is open and holds its lock; reports do not wait for it."""
    engine.enqueue("op", 2)
    sealing = sessions()
    sealing.db.execute(SEAL)
    engine.drain(engine.worker())
    sealing.commit()
    seal(engine.db)
    assert check(engine.db).problems == []
