"""Fixtures of the walls: `two` tenants with the same work."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.walls.probing import MARK


@pytest.fixture
def two(engine: Engine) -> dict[int, Engine]:
    """Two tenants with the same work; the texts of the second one carry a mark."""
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    drivers = {1: engine, 2: Engine(engine.db, 2)}
    for tenant, driver in drivers.items():
        mark = MARK if tenant == 2 else "own"
        driver.publish("w", operation(f"op-{mark}"), human("sign", role="office"), edges=[])
        driver.db.execute("select fn_person_set(%s, %s, array['office'])", (tenant, f"ada {mark}"))
        run_id = driver.start("w", {"text": mark})
        driver.start("w", {"text": mark})
        driver.db.execute(
            "select fn_signal(%s, %s, 'e', %s::jsonb, 'k')", (tenant, run_id, f'{{"m": "{mark}"}}')
        )
        driver.db.execute(
            "select fn_approval_request(%s, 'reopen', %s, %s, %s)",
            (tenant, run_id << 20, f"ada {mark}", mark),
        )
        driver.db.execute(
            "select fn_job_enqueue(%s, 'free', array[%s::jsonb])", (tenant, f'{{"text": "{mark}"}}')
        )
        driver.db.execute("select fn_content_write(%s, %s, 'text', %s)", (tenant, f"c-{mark}", f"ada {mark}"))
        driver.db.execute(
            "select fn_schedule_set(%s, %s, 'w', '0 3 * * *', 'UTC', '{}', 'all', 2, now(), %s)",
            (tenant, f"s-{mark}", f"ada {mark}"),
        )
        session = driver.worker()
        leases = driver.claim(session)
        driver.report(session, (leases[0], "completed", {"text": mark}))
        driver.kill(session, leases[-1])
        driver.db.execute("select fn_hold_open(%s, 'connector', 'books', %s, 'cli:ops')", (tenant, mark))
        driver.db.execute("select fn_audit_seal(%s)", (tenant,))
        driver.db.execute(
            "select _lag_note(%s, 'log', %s, array[interval '2 seconds'])", (tenant, f"reader:{mark}")
        )
    return drivers
