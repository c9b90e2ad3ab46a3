"""While many transactions write or roll back and two seal, every committed event is in exactly one block."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.govern.sealing import append, check, seal
from tests.support.databases import configure

WRITERS = 4
SEALERS = 2
TRANSACTIONS = 40


def test_no_event_is_skipped_while_others_write(dsn: str, db: psycopg.Connection):
    done = threading.Event()
    configure(db, "audit.block_events", "25")

    def write(seed: int) -> int:
        rng = random.Random(seed)
        kept = 0
        with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as own:
            for _ in range(TRANSACTIONS):
                # The id of the transaction comes first, its events later: younger transactions commit before.
                own.execute("select pg_current_xact_id()")
                count = rng.randint(1, 5)
                for _ in range(count):
                    append(own, rng.randint(1, 20) << 20, payload={"seed": seed})
                if rng.random() < 0.2:
                    own.rollback()
                else:
                    own.commit()
                    kept += count
        return kept

    def seal_on() -> None:
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as own:
            while not done.is_set():
                own.execute("select * from fn_audit_seal(1)")

    with ThreadPoolExecutor(WRITERS + SEALERS) as threads:
        sealing = [threads.submit(seal_on) for _ in range(SEALERS)]
        kept = sum(threads.map(write, range(WRITERS)))
        done.set()
        for future in sealing:
            future.result()
    seal(db)
    verdict = check(db)
    assert (verdict.problems, verdict.event_count, verdict.unsealed_count) == ([], kept, 0)
    assert verdict.block_count >= kept // 25
