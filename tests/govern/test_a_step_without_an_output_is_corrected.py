"""A step that completed without an output is corrected: the log proves what its snapshot says."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.define import Operation
from tests.govern.sealing import check, seal
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import start
from tests.support.deciding import deciding

SNAPSHOT = "update step_run_output_snapshot set {} where output = 'null'"


@pytest.mark.requirement("SM-12")
@pytest.mark.parametrize("first", [None, {"n": 1}])
def test_its_snapshot_is_proved(db: psycopg.Connection, first: dict[str, int] | None):
    engine = Engine(db)
    engine.db.execute("select fn_person_set(1, %s, %s)", ("ben", ["lead", "reviewer"]))
    engine.person("ada")
    session = engine.worker()
    unit = engine.unit(start(engine, Operation("check")), "check")
    for output in (first, None, None):
        engine.complete(session, *engine.claim(session), output=output)
        approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
        engine.one(deciding("approve", "ben"), (approval,))
        engine.one("select fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s)", (unit, approval))
    engine.drain(session)
    seal(db)
    assert check(db).problems == []
    for change in ("lease_no = lease_no + 7", "output = '{}'"):
        with db.transaction(force_rollback=True):
            db.execute(SNAPSHOT.format(change))
            assert check(db).problems != []
