"""A client that does not read its stream is dropped, costs little, and continues where it was."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from bench.following import Message, Messages
from stepwell.api import protocol, stream_feed
from stepwell.api.app import create_app
from stepwell.api.stream_hub import Hub
from stepwell.api.stream_messages import Topics
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, operation
from tests.support import wait
from tests.support.roles import as_process, bound_token

STEPS = 250
FEW_BYTES = 4096


class Page:
    """A stream by a socket with a small buffer. It reads only when it is told to."""

    def __init__(self, client: httpx.Client, token: str, run_id: int, after: str) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FEW_BYTES)
        self.socket.settimeout(60)
        self.socket.connect((client.base_url.host, client.base_url.port))
        path = f"/api/v1/stream?topics=run:{run_id}&after={after}"
        self.socket.sendall(
            f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        self._text = b""
        self._read_until(b"event: open")

    def _read_until(self, word: bytes) -> None:
        while word not in self._text:
            part = self.socket.recv(1000)
            assert part, self._text
            self._text += part

    def rest(self) -> list[Message]:
        """All whole messages until the server ends the connection."""
        with suppress(ConnectionResetError):
            while part := self.socket.recv(65_536):
                self._text += part
        return self._messages()

    def until_run_ends(self) -> list[Message]:
        self._read_until(b"workflow.completed")
        at = self._text.index(b"workflow.completed")
        while b"\n\n" not in self._text[at:]:
            self._text += self.socket.recv(65_536)
        self.socket.close()
        return self._messages()

    def _messages(self) -> list[Message]:
        whole = self._text.partition(b"\r\n\r\n")[2].split(b"\n\n")[:-1]
        reader = Messages()
        return [message for text in whole if (message := reader.read(text)) is not None]


@contextmanager
def served(dsn: str, tmp_path: Path) -> Iterator[tuple[httpx.Client, Hub]]:
    address = as_process(dsn, "api")
    app: FastAPI = create_app(Settings(database_url=address, data_dir=tmp_path), address)
    with serving(app, send_buffer_bytes=FEW_BYTES) as client:
        yield client, app.state.serving.hub


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    edges = [(f"s{at}", f"s{at + 25}") for at in range(STEPS - 25)]
    made.publish("large", *(operation(f"s{at}") for at in range(STEPS)), edges=edges)
    return made


def started(engine: Engine) -> tuple[int, str]:
    run_id = engine.start("large")
    position: str = engine.one("select fn_workflow_run_snapshot(1, %s) ->> 'position'", (run_id,))
    return run_id, position


def whole(engine: Engine, run_id: int, position: str) -> list[int]:
    found: list[int] = engine.one(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s"
        " and not pg_visible_in_snapshot(tx, %s::pg_snapshot)",
        (run_id, position),
    )
    return found


def numbers(messages: list[Message]) -> list[int]:
    return [number for message in messages for number in message.events]


@pytest.mark.requirement("UI-09")
def test_a_slow_reader_is_told_the_position_from_which_it_continues(
    dsn: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_feed, "BYTES_LIMIT", 20_000)
    run_id, position = started(engine)
    token = bound_token(dsn)
    with served(dsn, tmp_path) as (client, hub):
        page = Page(client, token, run_id, position)
        subscriber = next(iter(hub._feeds[1, 3, ""][0].subscribers))
        session = engine.worker()
        engine.complete(session, *engine.claim(session))
        wait.until(lambda: subscriber.sent != position, what="the first message is sent")
        engine.drain(session)
        wait.until(lambda: subscriber.end is not None, what="the stream is dropped")
        assert (subscriber.end, subscriber.waits) == ("slow_reader", False)
        first = page.rest()
        assert (first[-1].event, first[-1].data["reason"]) == ("end", "slow_reader")
        assert hub.stream_count == 0
        second = Page(client, token, run_id, first[-1].data["position"]).until_run_ends()
    assert numbers(first), "nothing was sent before"
    assert numbers(first) + numbers(second) == whole(engine, run_id, position)


@pytest.mark.requirement("UI-09")
def test_a_client_that_reads_nothing_is_cut_and_continues_after_its_last_message(
    dsn: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.3)
    run_id, position = started(engine)
    token = bound_token(dsn)
    with served(dsn, tmp_path) as (client, hub):
        page = Page(client, token, run_id, position)
        engine.drain(engine.worker())
        wait.until(lambda: hub.stream_count == 0, what="the connection is cut")
        first = page.rest()
        after = first[-1].data["position"]
        second = Page(client, token, run_id, after).until_run_ends()
    assert numbers(first) + numbers(second) == whole(engine, run_id, position)


def test_a_stream_that_ends_before_it_has_caught_up_continues_where_it_began():
    """A server that stops at that moment must not say that what it has not read yet was sent."""
    topics = Topics(("run:1",))
    behind = stream_feed.Subscriber("token", topics, position="9:9:", sent="5:5:")
    behind.close("restart")
    assert behind.sent == "5:5:"
    caught_up = stream_feed.Subscriber("token", topics, position="9:9:", sent="5:5:", is_behind=False)
    caught_up.close("restart")
    assert caught_up.sent == "9:9:"
