"""A claim commits while its session ends: what the claim leased is released or recovered, never forgotten.

The list of leases must not be deleted by a statement that is younger than the one that read it. To stop the
end of the session between its statements, a third session asks for a lock on the table of lists: it waits
for the open claim, and whoever wants to delete from the table waits behind it, but readers do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.interleave.conftest import Session
from tests.sql.drive import Engine, Lease
from tests.support.clock import Clock
from tests.support.wait import until_blocked

GUARD = "lock table worker_lease in share mode"
OPEN_LEASES = "select count(*) from work_unit where lease_session_id is not null"
RECOVER = "select fn_leases_recover()"


@pytest.fixture
def clock(dsn: str) -> Any:
    moved = Clock(dsn)
    yield moved
    moved.reset()
    moved.close()


def end_while_claiming(
    engine: Engine,
    sessions: Callable[[], Session],
    end: Callable[[Session, int], int],
    before_end: Callable[[], None],
) -> tuple[int, list[Lease]]:
    """Returns what the end of the session answered, and the leases of the claim that committed meanwhile."""
    engine.enqueue("work", 3)
    worker = engine.worker("w1")
    claiming, guarding, ending = sessions(), sessions(), sessions()
    # So that the function is planned, and takes its locks one statement after the other.
    end(ending, engine.worker("w0"))
    ending.commit()
    leases = claiming.claim(worker, 3)
    assert len(leases) == 3
    guard = guarding.start_blocked(lambda: guarding.db.execute(GUARD))
    before_end()
    ended = ending.start_blocked(lambda: end(ending, worker))
    claiming.commit()
    guard.result()
    until_blocked(engine.db, ending.db.info.backend_pid)
    guarding.commit()
    answer = ended.result()
    ending.commit()
    return answer, leases


def close(session: Session, worker: int) -> int:
    found: int = session.one("select fn_worker_close(%s)", [worker])
    return found


def recover(session: Session, _: int) -> int:
    found: int = session.one(RECOVER)
    return found


def test_a_closed_session_forgets_no_lease(engine: Engine, sessions: Callable[[], Session]):
    end_while_claiming(engine, sessions, close, lambda: None)
    # What the end of the session did not see, the keeper recovers from the list.
    engine.one(RECOVER)
    assert engine.one(OPEN_LEASES) == 0
    assert len(engine.claim(engine.worker("w2"), 10)) == 3
    assert engine.faults() == {}


def test_the_recovery_of_a_silent_session_forgets_no_lease(
    engine: Engine, sessions: Callable[[], Session], clock: Clock
):
    end_while_claiming(engine, sessions, recover, lambda: clock.advance(days=2))
    engine.one(RECOVER)
    assert engine.one(OPEN_LEASES) == 0
    assert engine.faults() == {}
