"""Blocks are bounded and chained, hold every event once, and have the same hashes in SQL and in Python."""

from __future__ import annotations

from datetime import UTC, timedelta

import psycopg
import pytest

from stepwell.govern import verify
from stepwell.store.calls.audit import AuditReader
from tests.govern.sealing import append, await_sealable, check, seal, without_rows
from tests.sql.binding import bound
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.support.databases import configure

ODD_TEXTS = ['quote " and \\ slash', "tab\tline\nfeed\r\x01\x1f\x7f", "tiếng Việt ✓ 日本 🙂", "", "</script>"]


def test_every_event_is_in_one_block(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    for _ in range(5):
        engine.start("w", {"x": 1})
    engine.drain(engine.worker())
    seal(engine.db)
    events = engine.one("select count(*) from event_log")
    assert engine.one("select sum(event_count) from audit_block") == events
    verdict = check(engine.db)
    assert (verdict.problems, verdict.event_count, verdict.unsealed_count) == ([], events, 0)


def test_python_and_the_database_write_the_same_bytes(engine: Engine):
    """The verifier builds the canonical form without the database: odd texts, numbers and missing fields."""
    for at, text in enumerate(ODD_TEXTS):
        payload = {"text": text, "n": 1.50, "big": 10**25, "small": 1e-7, "deep": [None, {"k": text}]}
        append(engine.db, (7 << 20) + at, payload=payload, actor=text)
    append(engine.db, 8 << 20, to="ready", actor=None)
    without_rows(engine.db)
    engine.db.execute(
        "insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, payload)"
        " select 1, stepwell.now(), 9, 9 << 20, 'x.y', 'system', v"
        " from (values (null::jsonb), ('null'), ('3')) as v (v)"
    )
    seal(engine.db)
    assert check(engine.db).problems == []


def test_without_new_events_no_block_is_made(engine: Engine):
    engine.publish("w", operation("a"))
    seal(engine.db)
    assert engine.db.execute("select * from fn_audit_seal(1)").fetchall() == []
    assert engine.one("select count(*) from audit_block") == 1


def test_a_block_holds_at_most_the_configured_number_of_events(engine: Engine):
    configure(engine.db, "audit.block_events", "3")
    for at in range(7):
        append(engine.db, (at + 1) << 20)
    seal(engine.db)
    counts = [row[0] for row in engine.db.execute("select event_count from audit_block order by block_no")]
    assert counts == [3, 3, 1]
    assert check(engine.db).problems == []


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
def test_the_tree_is_that_of_rfc_6962(engine: Engine, count: int):
    for at in range(count):
        append(engine.db, (at + 1) << 20)
    seal(engine.db)
    reader = AuditReader(engine.db, 1)
    (block,) = reader.blocks()
    leaves = reader.leaves(1)
    assert leaves is not None
    assert block["event_root"] == rfc_6962(leaves.hashes).hex()
    tree = verify.levels(leaves.hashes)
    for at, leaf in enumerate(leaves.hashes):
        assert verify.path_root(leaf, at, count, verify.path(tree, at)) == bytes.fromhex(block["event_root"])


def rfc_6962(leaves: list[bytes]) -> bytes:
    """The tree as RFC 6962 defines it, by recursion."""
    if len(leaves) == 1:
        return leaves[0]
    cut = 1
    while cut * 2 < len(leaves):
        cut *= 2
    return verify.digest(b"\x01", rfc_6962(leaves[:cut]), rfc_6962(leaves[cut:]))


def test_each_block_proves_all_blocks_before_it(engine: Engine):
    """The newest header proves every earlier one: `history_root` is the tree root of their hashes."""
    for at in range(11):
        append(engine.db, (at + 1) << 20)
        seal(engine.db)
    reader = AuditReader(engine.db, 1)
    for block in reader.blocks():
        assert block["history_root"] == verify.root(reader.block_hashes(block["block_no"])).hex()


def test_a_stream_is_linked_through_its_blocks(engine: Engine):
    for _ in range(3):
        append(engine.db, 5 << 20)
        append(engine.db, 6 << 20)
        seal(engine.db)
    rows = engine.db.execute(
        "select block_no, previous_block_no from audit_block_stream where run_id = 5 order by 1"
    )
    assert rows.fetchall() == [(1, 0), (2, 1), (3, 2)]


def test_a_seal_that_is_rolled_back_or_killed_leaves_no_rows(engine: Engine, dsn: str):
    append(engine.db, 5 << 20)
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as other:
        other.execute("select * from fn_audit_seal(1)")
        other.rollback()
        other.execute("select * from fn_audit_seal(1)")
        engine.one("select pg_terminate_backend(%s)", (other.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            other.execute("select 1")
    for table in ("audit_block", "audit_leaves", "audit_block_stream"):
        assert engine.one(f"select count(*) from {table}") == 0
    seal(engine.db)
    assert check(engine.db).problems == []


def test_each_tenant_has_its_own_chain(engine: Engine):
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    append(engine.db, 5 << 20)
    engine.db.execute(
        "insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class)"
        " values (2, stepwell.now(), 5, 5 << 20, 'event.emitted', 'system')"
    )
    seal(engine.db, 1)
    seal(engine.db, 2)
    assert engine.one("select count(distinct chain_id) from audit_chain") == 2
    assert check(engine.db, 1).event_count == check(engine.db, 2).event_count == 1
    with pytest.raises(psycopg.Error) as refused, bound(engine.db, 2):
        engine.db.execute("select * from fn_audit_seal(1)")
    assert refused.value.sqlstate == "SW007"
    with pytest.raises(psycopg.Error) as unknown:
        engine.db.execute("select * from fn_audit_seal(99)")
    assert unknown.value.sqlstate == "SW002"


@pytest.mark.parametrize(
    "change", ["update audit_block set event_count = 9", "delete from audit_block", "truncate audit_block"]
)
def test_not_even_the_owner_can_change_a_block_header(engine: Engine, change: str):
    append(engine.db, 5 << 20)
    seal(engine.db)
    with pytest.raises(psycopg.Error) as refused:
        engine.db.execute(change)
    assert refused.value.sqlstate == "SW007"


def test_fn_audit_due_names_no_tenant_when_all_is_sealed_or_sealing_is_off(engine: Engine):
    append(engine.db, 5 << 20)
    seal(engine.db)
    assert engine.db.execute("select * from fn_audit_due()").fetchone() == (60, [], None)
    append(engine.db, 5 << 20)
    engine.db.execute(
        "update dot_config set config_value = '0' where config_key = 'audit.seal_interval_seconds'"
    )
    assert engine.db.execute("select * from fn_audit_due()").fetchone() == (0, [], None)


def test_fn_audit_due_tells_when_the_oldest_event_has_waited_for_the_interval(engine: Engine, clock: Clock):
    def due_in_seconds() -> float:
        await_sealable(engine.db)
        return engine.one("select due_in_seconds from fn_audit_due()")

    append(engine.db, 5 << 20)
    assert 0 < due_in_seconds() <= 60
    clock.advance(seconds=45)
    append(engine.db, 6 << 20)
    assert 0 <= due_in_seconds() <= 15
    clock.advance(seconds=45)
    assert due_in_seconds() == 0


def test_a_keeper_seals_under_its_role(engine: Engine):
    append(engine.db, 5 << 20)
    with engine.db.transaction():
        engine.db.execute("set local role stepwell_keeper")
        engine.db.execute("select * from fn_audit_due()")
        engine.db.execute("select * from fn_audit_seal(1)")
        engine.db.execute(
            "select fn_anchor_due('x', null), fn_anchor_headers(1, 'x', null, 5),"
            " fn_anchor_written(1, 'x', 1, null, null)"
        )


@pytest.mark.parametrize("call", ["fn_audit_due()", "fn_anchor_written(1, 'x', 1, null, null)"])
def test_the_api_role_cannot_call_the_functions_of_the_keeper(engine: Engine, call: str):
    engine.db.execute("set role stepwell_api")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        engine.db.execute(f"select {call}")


@pytest.mark.parametrize("table", ["audit_chain", "audit_block", "audit_leaves", "evidence_bundle"])
def test_a_reader_sees_only_the_seal_of_its_tenant_and_cannot_write(engine: Engine, table: str):
    append(engine.db, 5 << 20)
    seal(engine.db)
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    with bound(engine.db, 2, "stepwell_reader"):
        assert engine.one(f"select count(*) from {table}") == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege), bound(engine.db, 2, "stepwell_reader"):
        engine.db.execute(f"delete from {table}")


class TestRetention:
    """Dropping a month does not break the chain: headers stay, and the check lists the archived events."""

    def seal_then_drop(self, engine: Engine, clock: Clock) -> None:
        append(engine.db, 5 << 20)
        seal(engine.db)
        clock.advance(days=450)
        engine.db.execute("select fn_partitions_ensure()")
        append(engine.db, 6 << 20)
        seal(engine.db)
        engine.db.execute("select * from fn_retention_sweep()").fetchall()

    def test_archived_events_are_not_reported_as_missing(self, engine: Engine, clock: Clock):
        self.seal_then_drop(engine, clock)
        verdict = check(engine.db)
        assert verdict.problems == []
        assert (verdict.archived_blocks, verdict.archived_event_count, verdict.event_count) == ([1], 1, 1)
        assert engine.one("select count(*) from audit_leaves") == 1

    def test_a_month_that_retention_did_not_drop_is_missing(self, engine: Engine, clock: Clock):
        self.seal_then_drop(engine, clock)
        month = clock.now().strftime("event_log_%Y_%m")
        engine.db.execute(f"drop table {month}")
        # The month also had the event that says what was archived: the archived block is a finding too.
        missing = [problem.place for problem in check(engine.db).problems if problem.kind == "missing"]
        assert f"unit {6 << 20}" in " ".join(missing)

    def test_a_month_is_not_dropped_before_it_is_sealed(self, engine: Engine, clock: Clock):
        month = clock.now().strftime("event_log_%Y_%m")
        append(engine.db, 5 << 20)
        seal(engine.db)
        append(engine.db, 5 << 20)
        clock.advance(days=450)
        engine.db.execute("select fn_partitions_ensure()")
        engine.db.execute("select * from fn_retention_sweep()").fetchall()
        assert engine.one("select to_regclass(%s) is not null", (month,))
        seal(engine.db)
        engine.db.execute("select * from fn_retention_sweep()").fetchall()
        assert engine.one("select to_regclass(%s) is null", (month,))
        verdict = check(engine.db)
        assert (verdict.problems, verdict.archived_event_count) == ([], 2)

    @pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Auckland"])
    def test_months_begin_in_utc_whatever_the_zone_of_the_session(
        self, engine: Engine, clock: Clock, zone: str
    ):
        engine.db.execute(f"set timezone = '{zone}'")
        append(engine.db, 5 << 20)
        seal(engine.db)
        days = engine.one("select _limit('retention.event_log_days')")
        first_hour = (clock.now() + timedelta(days=70)).astimezone(UTC).replace(day=1, hour=1)
        clock.advance(first_hour - clock.now())
        engine.db.execute("select fn_partitions_ensure()")
        append(engine.db, 6 << 20)
        seal(engine.db)
        # The month of the second event is the oldest that is kept; the month of the first event is dropped.
        clock.advance(days=days)
        engine.db.execute("select * from fn_retention_sweep()").fetchall()
        assert engine.one("select array_agg(block_no) from audit_leaves") == [2]
        verdict = check(engine.db)
        assert (verdict.problems, verdict.archived_blocks) == ([], [1])
