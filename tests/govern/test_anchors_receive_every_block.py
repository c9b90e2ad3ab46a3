"""Anchors receive every block at least once and in order, whatever fails; the check reads them back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.errors import InvalidInput, StorageUnavailable
from stepwell.govern.anchor import open_anchor, tell
from stepwell.keeper import Keeper
from stepwell.store.calls.keep import keeper_connection
from tests.govern.sealing import append, check, seal
from tests.support.clock import Clock
from tests.support.wait import until


def seal_blocks(db: psycopg.Connection, count: int) -> None:
    for _ in range(count):
        append(db, 5 << 20)
        seal(db)


def send_to_anchor(dsn: str, address: str) -> int:
    with keeper_connection(dsn) as connection:
        return tell(connection, address)


class Receiver:
    """A webhook that stores its requests; it answers the first `failures` requests with an error."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.failures = 0
        self.got: list[dict[str, Any]] = []
        self.keys: list[str] = []


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if receiver.failures > 0:
                receiver.failures -= 1
                self.send_response(503)
            else:
                receiver.got.append(body)
                receiver.keys.append(self.headers["idempotency-key"])
                self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://user:secret@127.0.0.1:{server.server_port}/seals?token=secret")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("kind", ["file", "folder", "memory"])
def test_every_block_is_anchored_once_in_order(dsn: str, db: psycopg.Connection, tmp_path: Path, kind: str):
    addresses = {
        "file": str(tmp_path / "deep" / "seals.jsonl"),
        "folder": str(tmp_path / "seals"),
        "memory": "memory:" + f"//{tmp_path.name}/seals",
    }
    address = addresses[kind]
    seal_blocks(db, 3)
    assert send_to_anchor(dsn, address) == 3
    assert send_to_anchor(dsn, address) == 0
    seal_blocks(db, 2)
    assert send_to_anchor(dsn, address) == 2
    anchored = open_anchor(address).read()
    assert [block["block_no"] for block in anchored] == [1, 2, 3, 4, 5]
    verdict = check(db, anchored=anchored)
    assert (verdict.problems, verdict.anchored_count) == ([], 5)


def test_a_webhook_that_fails_gets_the_same_blocks_again(dsn: str, db: psycopg.Connection):
    seal_blocks(db, 3)
    with receiving() as receiver:
        receiver.failures = 1
        with pytest.raises(StorageUnavailable, match="answered 503"):
            send_to_anchor(dsn, receiver.url)
        row = db.execute("select last_block_no, last_error, anchor from audit_anchor").fetchone()
        assert row is not None
        assert (row[0], "503" in row[1]) == (0, True)
        assert "secret" not in row[1] + row[2]
        assert send_to_anchor(dsn, receiver.url) == 3
        assert [block["block_no"] for block in receiver.got] == [1, 2, 3]
        assert receiver.keys == [f"{block['chain_id']}:{block['block_no']}" for block in receiver.got]
    assert check(db, anchored=receiver.got).problems == []
    assert db.execute("select last_block_no, last_error from audit_anchor").fetchone() == (3, None)


def test_the_error_of_an_unreachable_anchor_is_stored(dsn: str, db: psycopg.Connection):
    seal_blocks(db, 1)
    with receiving() as receiver:
        url = receiver.url
    with pytest.raises(StorageUnavailable, match="cannot be used"):
        send_to_anchor(dsn, url)
    assert db.execute("select last_block_no from audit_anchor").fetchone() == (0,)


def test_a_line_that_a_crash_cut_is_written_again(dsn: str, db: psycopg.Connection, tmp_path: Path):
    """The process died after the write and before the database stored that it was done."""
    anchor = tmp_path / "seals.jsonl"
    seal_blocks(db, 2)
    send_to_anchor(dsn, str(anchor))
    anchor.write_bytes(anchor.read_bytes()[:-20])
    db.execute("update audit_anchor set last_block_no = 1")
    assert send_to_anchor(dsn, str(anchor)) == 1
    anchored = open_anchor(str(anchor)).read()
    assert [block["block_no"] for block in anchored] == [1, 2]
    assert check(db, anchored=anchored).problems == []


def test_an_anchor_that_lost_a_block_is_reported(dsn: str, db: psycopg.Connection, tmp_path: Path):
    seal_blocks(db, 3)
    send_to_anchor(dsn, str(tmp_path / "seals.jsonl"))
    first, _, last = open_anchor(str(tmp_path / "seals.jsonl")).read()
    assert check(db, anchored=[first, last]).problems == [
        ("missing", "block 2", "the anchor does not have it")
    ]


def test_a_webhook_cannot_be_read_back_and_an_empty_address_is_refused():
    with pytest.raises(InvalidInput, match="cannot be read"):
        open_anchor("https:" + "//example.org/seals").read()
    with pytest.raises(InvalidInput, match="anchor is empty"):
        open_anchor("")


def test_the_keeper_seals_after_the_interval_and_notifies_the_anchor(
    dsn: str, db: psycopg.Connection, clock: Clock, tmp_path: Path
):
    anchor = tmp_path / "seals.jsonl"
    keeper = Keeper(dsn, anchor=str(anchor))

    def sealed(count: int) -> bool:
        clock.advance(seconds=61)
        keeper.run_once()
        row = db.execute("select coalesce(sum(event_count), 0) from audit_block").fetchone()
        return row == (count,)

    append(db, 5 << 20)
    until(lambda: sealed(1))
    append(db, 5 << 20)
    assert keeper.run_once().sealed_count == 0, "sealed before the interval has passed"
    until(lambda: sealed(2))
    assert [block["block_no"] for block in open_anchor(str(anchor)).read()] == [1, 2]


def test_an_unusable_anchor_does_not_stop_the_keeper(dsn: str, db: psycopg.Connection, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    keeper = Keeper(dsn, anchor=str(tmp_path / "file" / "seals.jsonl"))
    append(db, 5 << 20)
    seal(db)
    tick = keeper.run_once()
    assert tick.acted
    row = db.execute("select last_block_no, last_error from audit_anchor").fetchone()
    assert row is not None
    assert row[0] == 0
    assert "cannot be used" in row[1]


def test_three_keepers_seal_each_event_once(dsn: str, db: psycopg.Connection, clock: Clock):
    for _ in range(5):
        append(db, 5 << 20)
    seal(db)
    append(db, 5 << 20)

    def all_sealed() -> bool:
        # A pass leaves events out while another test has a transaction open; the next one is due later.
        clock.advance(seconds=61)
        return db.execute("select sum(event_count) from audit_block").fetchone() == (6,)

    keepers = [Keeper(dsn, poll_seconds=0.02) for _ in range(3)]
    threads = [threading.Thread(target=keeper.run) for keeper in keepers]
    for thread in threads:
        thread.start()
    try:
        until(all_sealed)
    finally:
        for keeper in keepers:
            keeper.stop()
        for thread in threads:
            thread.join(30)
    assert check(db).problems == []


def test_the_keeper_does_not_seal_when_sealing_is_off(dsn: str, db: psycopg.Connection):
    db.execute("update dot_config set config_value = '0' where config_key = 'audit.seal_interval_seconds'")
    append(db, 5 << 20)
    assert Keeper(dsn).run_once().sealed_count == 0
    assert db.execute("select count(*) from audit_block").fetchone() == (0,)
