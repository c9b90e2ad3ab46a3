"""The messages of streams: each stream gets its own events, in order, and every event is written once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from stepwell.api import stream_messages
from stepwell.api.stream_messages import Message, Page, Topics, messages
from stepwell.store.calls.live import LiveEvent, NewEvents

AT = datetime(2026, 11, 18, tzinfo=UTC)


def event(number: int, run: int, kind: str = "step.completed", *, is_people: bool = False) -> LiveEvent:
    return LiveEvent(number, AT, run, run << 20 | 1, kind, "in_progress", "completed", 'a "b"', is_people)


def page(*events: LiveEvent) -> Page:
    return Page(NewEvents("9:9:", False, list(events)))


def read(message: Message) -> dict[str, Any]:
    (line,) = [line for line in message.data.decode().split("\n") if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return found


def test_a_stream_gets_the_events_of_its_topics_in_their_order_and_once():
    found = page(
        event(1, 7),
        event(2, 8),
        event(3, 7, "approval.requested"),
        event(4, 9, is_people=True),
        event(5, 0, "problem.opened"),
    )
    (message,) = messages(Topics(("inbox", "run:7", "workers")), found, "5:5:", {7: '{"state":"x"}'})
    shown = read(message)
    assert [row[0] for row in shown["events"]] == [1, 3, 4]
    assert shown["topics"] == {"inbox": [1, 2], "run:7": [0, 1]}
    assert (shown["position"], shown["last_event_id"], shown["runs"]) == ("9:9:", 4, {"7": {"state": "x"}})
    assert shown["events"][0][7] == 'a "b"'
    assert messages(Topics(("run:6", "approvals")), page(event(1, 7)), "5:5:", {}) == []


def test_a_long_page_has_several_messages_and_only_the_last_has_the_runs(monkeypatch):
    monkeypatch.setattr(stream_messages, "MESSAGE_EVENTS", 2)
    found = page(*(event(number, 7) for number in range(1, 6)))
    made = [read(one) for one in messages(Topics(("run:7",)), found, "5:5:", {7: "{}"})]
    assert [one["position"] for one in made] == ["5:5:;9:9:;2", "5:5:;9:9:;4", "9:9:"]
    assert [one["topics"]["run:7"] for one in made] == [[0, 1], [0, 1], [0]]
    assert [list(one["runs"]) for one in made] == [[], [], ["7"]]


def test_streams_with_other_topics_share_the_text_of_an_event():
    found = page(*(event(number, number % 3) for number in range(1, 10)))
    first = messages(Topics(("run:1",)), found, "5:5:", {})
    both = messages(Topics(("run:1", "run:2")), found, "5:5:", {})
    assert [row[0] for row in read(first[0])["events"]] == [1, 4, 7]
    assert [row[0] for row in read(both[0])["events"]] == [1, 2, 4, 5, 7, 8]
    assert found.row(0) is found.row(0)
