"""A worker that lost the answer to a claim reads its leases since the last batch it knows."""

from __future__ import annotations

from tests.sql.drive import Engine, operation


def leases_since(engine: Engine, session: int, batch_id: int) -> list[tuple[int, int, int]]:
    return engine.db.execute(
        "select tenant_id, unit_id, lease_no from fn_worker_leases_read(%s, %s) order by unit_id",
        (session, batch_id),
    ).fetchall()


def test_only_open_leases_after_the_given_batch_are_returned(engine: Engine):
    engine.publish("w", operation("a"))
    for _ in range(4):
        engine.start("w")
    worker, other = engine.worker(), engine.worker("other")
    (first,) = engine.claim(worker, 1)
    (theirs,) = engine.claim(other, 1)
    second, third = engine.claim(worker, 2)
    assert leases_since(engine, worker, 0) == [
        (1, lease.unit_id, lease.lease_no) for lease in (first, second, third)
    ]
    assert leases_since(engine, worker, first.batch_id) == [
        (1, lease.unit_id, lease.lease_no) for lease in (second, third)
    ]
    engine.complete(worker, second)
    assert leases_since(engine, worker, first.batch_id) == [(1, third.unit_id, third.lease_no)]
    assert leases_since(engine, other, 0) == [(1, theirs.unit_id, theirs.lease_no)]
    assert leases_since(engine, worker, third.batch_id) == []
