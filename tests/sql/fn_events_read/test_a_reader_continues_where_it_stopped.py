"""Readers read the log in order, page by page, from a given or a stored position."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import bind, token
from tests.sql.drive import Engine, operation
from tests.support.wait import until_row

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


@pytest.fixture(autouse=True)
def events(engine: Engine):
    engine.publish("w", operation("a"))
    for _ in range(5):
        engine.start("w")
    # While a transaction in another database of the same server is open, readers do not see newer events.
    until_row(engine.db, "select count(*) = (select count(*) from event_log) from fn_events_read(1)")


def test_pages_follow_each_other_without_gap_or_repeat(engine: Engine):
    everything = engine.db.execute("select tx, event_id from fn_events_read(1)").fetchall()
    assert len(everything) == engine.one("select count(*) from event_log")
    assert everything == sorted(everything)
    read, position = [], (0, 0)
    while rows := engine.db.execute(
        "select tx, event_id from fn_events_read(1, null, %s, %s, 3)", position
    ).fetchall():
        assert len(rows) <= 3
        read += rows
        position = rows[-1]
    assert read == everything


def test_the_position_of_a_reader_is_stored_and_only_moves_forward(engine: Engine):
    rows = engine.db.execute("select tx, event_id from fn_events_read(1, 'relay', p_limit => 4)").fetchall()
    ack = "select fn_events_ack(1, 'relay', %s, %s)"
    assert engine.one(ack, rows[2]) is True
    assert engine.one(ack, rows[2]) is False
    assert engine.one(ack, rows[0]) is False
    following = engine.db.execute("select tx, event_id from fn_events_read(1, 'relay')").fetchall()
    assert following[0] == rows[3]
    assert engine.db.execute("select tx, event_id from fn_events_read(1, 'other')").fetchall()[0] == rows[0]


def test_only_its_own_account_moves_a_reader(engine: Engine):
    rows = engine.db.execute("select tx, event_id from fn_events_read(1, p_limit => 4)").fetchall()
    tokens = {name: token(engine.db, 1, name, ["viewer"]) for name in ("ada", "ben")}

    def ack(name: str, position: tuple[int, int]) -> bool:
        with engine.db.transaction():
            engine.db.execute("set local role stepwell_api")
            bind(engine.db, tokens[name])
            return bool(engine.one("select stepwell.fn_events_ack(1, 'relay', %s, %s)", position))

    assert ack("ada", rows[0])
    with pytest.raises(psycopg.Error) as caught:
        ack("ben", rows[2])
    assert caught.value.sqlstate == "SW007"
    assert "another account" in str(caught.value)
    assert ack("ada", rows[1])


def test_another_tenant_reads_no_event_of_this_one(engine: Engine):
    assert engine.one("select count(*) from fn_events_read(2)") == 0


def test_an_event_is_read_with_all_its_fields(engine: Engine):
    row = engine.db.execute(
        """select run_id, unit_id, event_type, from_state, to_state, actor_class, actor
           from fn_events_read(1) where event_type = 'workflow.started' limit 1"""
    ).fetchone()
    assert row == (1, 1 << 20, "workflow.started", "not_started", "in_progress", "mow_orchestrator", "test")


@pytest.mark.parametrize(
    "call",
    ["fn_events_ack(1, '', 1, 1)", "fn_events_ack(1, 'r', null, 1)", "fn_events_ack(1, 'r', 999999999, 1)"],
)
def test_an_impossible_position_is_refused(engine: Engine, call: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(f"select {call}")
    assert caught.value.sqlstate == "SW001"


def test_a_page_is_bounded_and_read_through_the_index(engine: Engine, db: psycopg.Connection):
    db.execute("update dot_config set config_value = '2' where config_key = 'limits.events_page'")
    assert engine.one("select count(*) from fn_events_read(1, p_limit => 100)") == 2
    assert engine.one("select count(*) from fn_events_read(1, p_limit => -1)") == 0
    db.execute("set enable_seqscan = off")
    plan = "\n".join(
        line
        for (line,) in db.execute(
            """explain select * from event_log where tenant_id = 1 and (tx, event_id) > ('1'::xid8, 0)
           and tx < '99999'::xid8 order by tx, event_id limit 10"""
        )
    )
    assert "->  Sort" not in plan
    assert "tenant_id_tx_event_id" in plan
