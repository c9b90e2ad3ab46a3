"""Tenants share by weight whatever the claims ask for, one included; also when very many have work."""

from __future__ import annotations

from collections import Counter

import psycopg
import pytest

from tests.sql.drive import Engine

pytestmark = pytest.mark.requirement("RT-04")


def tenants(db: psycopg.Connection, *weights: int) -> list[int]:
    return [
        db.execute(
            "insert into tenant (tenant_code, weight) values (%s, %s) returning tenant_id",
            (f"t{number}", weight),
        ).fetchone()[0]  # type: ignore[index]
        for number, weight in enumerate(weights)
    ]


def enqueue(db: psycopg.Connection, tenant_id: int, count: int) -> None:
    db.execute("select fn_job_enqueue(%s, 'work', array_fill('{}'::jsonb, array[%s]))", (tenant_id, count))


def claimed(engine: Engine, session: int, limit: int, total: int) -> Counter[int]:
    found: Counter[int] = Counter()
    while sum(found.values()) < total:
        leases = engine.claim(session, min(limit, total - sum(found.values())))
        assert leases
        found.update(lease.tenant_id for lease in leases)
    return found


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
@pytest.mark.parametrize("weights", [(9, 1), (1, 1, 1), (5, 3, 2), (1000, 500)])
def test_shares_are_within_a_tenth_of_the_weights(engine: Engine, limit: int, weights: tuple[int, ...]):
    ids = tenants(engine.db, *weights)
    for tenant_id in ids:
        enqueue(engine.db, tenant_id, 200)
    found = claimed(engine, engine.worker(), limit, 200)
    for tenant_id, weight in zip(ids, weights, strict=True):
        fair = 200 * weight / sum(weights)
        assert abs(found[tenant_id] - fair) <= max(0.1 * fair, 1), (found, weights)


def test_two_workers_take_turns_as_one_does(engine: Engine):
    heavy, light = tenants(engine.db, 9, 1)
    enqueue(engine.db, heavy, 200)
    enqueue(engine.db, light, 200)
    sessions = [engine.worker("one"), engine.worker("two")]
    found: Counter[int] = Counter()
    for number in range(200):
        found.update(lease.tenant_id for lease in engine.claim(sessions[number % 2], 1))
    assert abs(found[heavy] - 180) <= 18
    assert abs(found[light] - 20) <= 2


@pytest.mark.parametrize("limit", [1, 25])
def test_weights_hold_when_more_tenants_have_work_than_one_claim_looks_at(engine: Engine, limit: int):
    """One of weight 20 among 99 of weight 1."""
    heavy, *light = tenants(engine.db, 20, *([1] * 99))
    enqueue(engine.db, heavy, 300)
    for tenant_id in light:
        enqueue(engine.db, tenant_id, 40)
    found = claimed(engine, engine.worker(), limit, 714)
    assert abs(found[heavy] - 120) <= 12, found[heavy]
    # Six each is fair; after some hundred claims of so many tenants it is near that, and nobody is left out.
    assert all(2 <= found[tenant_id] <= 12 for tenant_id in light), sorted(found.values())


def test_a_tenant_without_served_work_takes_no_share(engine: Engine):
    first, second = tenants(engine.db, 100, 1)
    enqueue(engine.db, second, 20)
    engine.db.execute("select fn_job_enqueue(%s, 'other', array_fill('{}'::jsonb, array[50]))", (first,))
    session = engine.worker(serves=["work"])
    assert [len(engine.claim(session, 1)) for _ in range(20)] == [1] * 20
