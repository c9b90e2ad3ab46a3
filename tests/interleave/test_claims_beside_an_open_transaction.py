"""Sessions put and claim at the same time while an open transaction keeps the rows of claimed jobs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event

import psycopg
import pytest

from tests.sql.drive import Engine
from tests.sql.job_ready.pinned import bury, lane, pin

OPERATIONS = ["a", "b", "c"]
PUTTERS, CLAIMERS, ROUNDS = 3, 3, 40


def put(dsn: str, seed: int) -> set[int]:
    """Puts jobs in transactions of several calls; every fifth is rolled back. Returns what was committed."""
    random = Random(seed)
    committed: set[int] = set()
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as connection:
        engine = Engine(connection)
        for _ in range(ROUNDS):
            jobs: set[int] = set()
            for _ in range(random.randint(1, 3)):
                name, priority = random.choice(OPERATIONS), random.choice([0, 0, 5])
                jobs |= set(engine.enqueue(name, random.randint(1, 9), p_priority=priority))
            if random.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
                committed |= jobs
    return committed


def claim(dsn: str, seed: int, is_over: Event) -> list[int]:
    """Claims until nothing more comes and the queue has nothing left; some claims are rolled back."""
    random = Random(seed)
    got: list[int] = []
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as connection:
        engine = Engine(connection)
        session = engine.worker(f"w{seed}")
        connection.commit()
        while True:
            was_over = is_over.is_set()
            leases = engine.claim(session, random.choice([1, 7, 50]))
            if random.random() < 0.1:
                connection.rollback()
                continue
            connection.commit()
            got += [lease.unit_id for lease in leases]
            if was_over and not leases:
                assert engine.one("select current_setting('stepwell.gaps', true)") == "on"
                return got


@pytest.mark.parametrize("kind", ["reader", "writer", "putter"])
def test_each_job_is_claimed_once_and_none_is_left(engine: Engine, dsn: str, kind: str):
    for name in OPERATIONS:
        lane(engine, name)
    is_over = Event()
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as open_one:
        pin(open_one, kind)
        for name in OPERATIONS:
            bury(engine, name, 5000)
        with ThreadPoolExecutor(PUTTERS + CLAIMERS) as threads:
            claims = [threads.submit(claim, dsn, seed, is_over) for seed in range(CLAIMERS)]
            puts = [threads.submit(put, dsn, 100 + seed) for seed in range(PUTTERS)]
            committed = set().union(*(one.result() for one in puts))
            is_over.set()
            got = [unit for one in claims for unit in one.result()]
        # A claim that was rolled back may have held rows while all others looked for the last time.
        got += [lease.unit_id for lease in engine.claim(engine.worker("last"), 1000)]
        open_one.rollback()
    assert len(got) == len(set(got))
    assert set(got) == committed
    assert engine.faults() == {}
