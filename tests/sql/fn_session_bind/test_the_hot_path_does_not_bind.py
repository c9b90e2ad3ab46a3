"""Workers do not bind: claim and report never look at a binding, so identity costs the hot path nothing."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine

# Whatever reads a binding, makes one or asks who calls.
IDENTITY = [
    "_bound", "_stamp_of", "_binding", "_binding_set", "_tenant_bound", "_acts_for_all", "_verb_checked",
    "_allowed_name", "_actor_bound", "bound_tenant", "bound_principal", "read_tenant",
]  # fmt: skip


@pytest.mark.new_database
def test_claim_and_report_look_at_no_binding(engine: Engine):
    engine.enqueue("op", 4)
    session = engine.worker()
    engine.db.execute("set track_functions = 'all'")
    leases = engine.claim(session, 2)
    leases = engine.complete(session, *leases)
    engine.complete(session, *leases)
    engine.db.execute("reset track_functions")
    called = {
        name
        for (name,) in engine.db.execute(
            "select p.proname from pg_proc as p where p.pronamespace = 'stepwell'::regnamespace"
            " and pg_stat_get_xact_function_calls(p.oid) > 0 or pg_stat_get_function_calls(p.oid) > 0"
        ).fetchall()
    }
    assert {"fn_job_claim", "fn_job_report"} <= called
    assert called.isdisjoint(IDENTITY)
