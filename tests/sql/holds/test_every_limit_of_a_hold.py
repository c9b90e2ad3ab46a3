"""What a hold does in one transaction is bounded; the rest is done later, and nothing is lost."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation
from tests.sql.holds.conftest import Holding
from tests.sql.holds.test_actions_and_evidence import evidence, propose
from tests.sql.people.asking import refused


def limit(engine: Engine, name: str, value: int) -> None:
    engine.db.execute("update dot_config set config_value = %s where config_key = %s", (Jsonb(value), name))


def test_a_tenant_has_few_holds_at_once(engine: Engine, holding: Holding):  # limits.open_holds
    limit(engine, "limits.open_holds", 1)
    for name in ("a", "b"):
        engine.enqueue(name)
    hold = holding.open("operation", "a")
    with refused("SW006", "1 holds have not ended"):
        holding.open("operation", "b")
    holding.release(hold)
    holding.end()
    holding.open("operation", "b")


def test_a_large_hold_is_opened_and_released_in_parts(engine: Engine, holding: Holding):  # limits.hold_batch
    limit(engine, "limits.hold_batch", 3)
    engine.enqueue("op", 10)
    session = engine.worker()
    hold = holding.open("operation", "op")
    assert engine.one("select count(*) from job_held") == 3
    # What was not taken out of the queue is met by the claims.
    assert engine.claim(session, 4) == []
    assert engine.one("select count(*) from job_held") == 10
    holding.release(hold)
    assert engine.one("select count(*) from job_held") == 7
    holding.end()
    assert len(engine.claim(session)) == 10
    assert engine.faults() == {}


def test_the_reach_is_counted_up_to_a_limit(engine: Engine, holding: Holding):  # limits.hold_reach
    limit(engine, "limits.hold_reach", 3)
    engine.enqueue("op", 5)
    reach = engine.one("select fn_hold_reach(1, 'operation', 'op')")
    assert (reach["jobs"], reach["is_more"]) == (3, True)


def test_a_connector_names_a_bounded_number_of_operations(
    engine: Engine, holding: Holding
):  # limits.hold_operations
    limit(engine, "limits.hold_operations", 1)
    for name in ("a", "b"):
        engine.enqueue(name)
    session = engine.worker()
    leases = engine.claim(session)
    for lease in leases:
        propose(engine, session, lease)
    assert len(engine.one("select fn_hold_reach(1, 'connector', 'sap')")["operations"]) == 1
    hold = holding.open("connector", "sap")
    # An action is denied, whether or not its operation is one of them.
    assert {propose(engine, session, lease)["answer"] for lease in leases} == {"held"}
    assert engine.one("select count(*) from incident_hold_operation where hold_id = %s", (hold,)) == 1


def test_an_evidence_file_has_a_bounded_number_of_rows(
    engine: Engine, holding: Holding
):  # limits.hold_evidence_rows
    limit(engine, "limits.hold_evidence_rows", 1)
    engine.publish("w", human("sign", deadline=3600))
    for _ in range(3):
        engine.start("w")
    hold = holding.open("workflow", "w")
    assert engine.one("select stopped_count from v_incident_hold") == 3
    assert len(evidence(engine, hold)["clocks"]) == 1


def test_without_a_hold_nothing_that_is_hot_reads_a_table_of_holds(engine: Engine, holding: Holding):
    """Claims, direct leases, reports and starts look only at the row of the tenant, as before."""
    engine.publish("w", operation("a"), operation("b"))
    scans = (
        "select coalesce(sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)), 0)"
        " from pg_stat_xact_all_tables where schemaname = 'stepwell'"
        " and (relname like 'incident_hold%%' or relname = 'job_held')"
    )
    session = engine.worker()
    with engine.db.transaction():
        before = engine.one(scans)
        engine.start("w")
        (first,) = engine.claim(session)
        (second,) = engine.report(session, (first, "completed", None), claim_limit=1)
        assert second.operation == "b"
        engine.complete(session, second)
        assert engine.one(scans) == before
    # The same way with a hold does read them: the count above can be wrong.
    holding.open("operation", "b")
    with engine.db.transaction():
        before = engine.one(scans)
        engine.start("w")
        engine.claim(session)
        assert engine.one(scans) > before
