"""An open approval or correction of a large run does not make reports of its other steps read all steps."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

ITEMS = 2_000


def pages(engine: Engine, session: int, lease: Lease) -> int:
    """How many pages the report of this lease reads."""
    (plan,) = engine.one(
        "explain (analyze, buffers, format json) select * from fn_job_report(%s, %s, %s, %s, %s, %s)",
        (session, [lease.tenant_id], [lease.unit_id], [lease.lease_no], ["completed"], [None]),
    )
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


@pytest.fixture
def leases(engine: Engine) -> tuple[int, int, list[Lease]]:
    publish(engine, sw.Map("$.input.items", sw.Operation("op", id="o"), id="m"))
    run_id = engine.start("w", {"items": list(range(ITEMS))})
    engine.db.execute("vacuum analyze work_unit, run_progress, event_log, map_item")
    session = engine.worker()
    return run_id, session, engine.claim(session, 30)


def median(engine: Engine, session: int, leases: list[Lease]) -> int:
    return sorted(pages(engine, session, lease) for lease in leases)[len(leases) // 2]


def test_an_open_approval_adds_a_few_pages_to_a_report(engine: Engine, leases):
    run_id, session, (first, *others) = leases
    pages(engine, session, first)
    before = median(engine, session, others[:9])
    engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada', 'why')", (run_id << 20,))
    after = median(engine, session, others[9:18])
    # Before, 448 pages: those of all steps, read several times.
    assert after <= before + 40, (before, after)
    assert engine.faults() == {}
