"""Write the messages of streams: receives new events and topics, returns bytes that streams share. Pure.

A message is written once for all streams with the same topics, and an event once for all messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi.sse import format_sse_event

from stepwell.store.calls.live import Asked, LiveEvent, NewEvents

# Events in one message; more are sent in several. All streams share the bytes of a message; what each has of
# its own is what its connection has taken and not sent, so messages are small.
MESSAGE_EVENTS = 100

PROBLEM_TYPES: Final = (
    "problem.opened",
    "problem.resolved",
    "dlq_replay.proposed",
    "dlq_replay.completed",
    "dlq_replay.stage_started",
    "dlq_replay.plan_stopped",
    "dlq_replay.plan_completed",
    "hold.opened",
    "hold.graded",
    "hold.released",
    "hold.ended",
)
APPROVAL_TYPES: Final = (
    "approval.requested", "approval.vote_recorded", "approval.approved", "approval.rejected",
    "approval.expired", "approval.cancelled",
)  # fmt: skip
# After these the rights of all streams are asked for at once.
RIGHTS_TYPES: Final = frozenset({"principal.changed", "token.revoked", "session.ended", "permission.changed"})


@dataclass(frozen=True, slots=True)
class Topics:
    """What a stream shows."""

    names: tuple[str, ...]

    @property
    def run_ids(self) -> list[int]:
        return [int(name[4:]) for name in self.names if name.startswith("run:")]

    def asked(self) -> Asked:
        return asked_by([self])


class Page:
    """New events, found by topic: a stream looks only at its own, however many runs others follow."""

    def __init__(self, found: NewEvents) -> None:
        self.events, self.reached = found.events, found.reached
        self._rows: dict[int, str] = {}
        self._by_topic: dict[str, list[int]] = {}
        for at, event in enumerate(found.events):
            for name in _topics_of(event):
                self._by_topic.setdefault(name, []).append(at)

    def of(self, topics: Topics) -> dict[str, list[int]]:
        """Topic → the places of its events."""
        return {name: self._by_topic.get(name, []) for name in topics.names if name != "workers"}

    def row(self, at: int) -> str:
        """An event as a message shows it; written once for all streams."""
        if at not in self._rows:
            self._rows[at] = as_text(_row(self.events[at]))
        return self._rows[at]


def _topics_of(event: LiveEvent) -> Iterator[str]:
    yield f"run:{event.run_id}"
    if event.event_type in PROBLEM_TYPES:
        yield "problems"
    if event.event_type in APPROVAL_TYPES:
        yield "approvals"
    if event.is_people or event.event_type in APPROVAL_TYPES:
        yield "inbox"


def asked_by(topics: Iterable[Topics]) -> Asked:
    names = {name for one in topics for name in one.names}
    types: set[str] = set(RIGHTS_TYPES)
    if "problems" in names:
        types |= set(PROBLEM_TYPES)
    if names & {"approvals", "inbox"}:
        types |= set(APPROVAL_TYPES)
    runs = sorted(int(name[4:]) for name in names if name.startswith("run:"))
    return Asked(runs, sorted(types), "inbox" in names)


@dataclass(frozen=True, slots=True)
class Message:
    """Bytes that all streams with the same topics share, and the position after them."""

    data: bytes
    position: str | None = None


def messages(topics: Topics, page: Page, before: str, runs: Mapping[int, str]) -> list[Message]:
    """What streams with these topics get. The last message has the position of the whole page."""
    found = page.of(topics)
    shown = sorted(set().union(*found.values()))
    base = before.partition(";")[0]
    made = []
    for begin in range(0, len(shown), MESSAGE_EVENTS):
        part = shown[begin : begin + MESSAGE_EVENTS]
        is_last = begin + MESSAGE_EVENTS >= len(shown)
        last_id = page.events[part[-1]].event_id
        position = page.reached if is_last else f"{base};{page.reached};{last_id}"
        changed = [f'"{run}":{runs[run]}' for run in topics.run_ids if is_last and run in runs]
        place = {at: number for number, at in enumerate(part)}
        by_topic = {name: [place[at] for at in all_of if at in place] for name, all_of in found.items()}
        made.append(_message(position, last_id, [page.row(at) for at in part], by_topic, changed))
    return made


def changed_units(events: Iterable[LiveEvent], run_ids: frozenset[int]) -> dict[int, list[int]]:
    """Run → its units that changed; the run itself is among them."""
    found: dict[int, set[int]] = {}
    for event in events:
        if event.run_id in run_ids:
            found.setdefault(event.run_id, set()).add(event.unit_id)
    return {run_id: sorted(units) for run_id, units in found.items()}


def _message(
    position: str, last_id: int, rows: Sequence[str], by_topic: dict[str, list[int]], runs: Sequence[str]
) -> Message:
    head = as_text({"position": position, "last_event_id": last_id, "topics": by_topic})
    text = f'{head[:-1]},"events":[{",".join(rows)}],"runs":{{{",".join(runs)}}}}}'
    return Message(format_sse_event(event="changes", id=position, data_str=text), position)


def _row(event: LiveEvent) -> list[Any]:
    return [
        event.event_id, event.at.isoformat(), event.run_id, event.unit_id & 0xFFFFF, event.event_type,
        event.from_state, event.to_state, event.actor,
    ]  # fmt: skip


def reset(position: str, reason: str = "too_far_behind") -> Message:
    data = {"position": position, "reason": reason}
    return Message(format_sse_event(event="reset", id=position, data_str=as_text(data)), position)


def ended(position: str, reason: str) -> bytes:
    return format_sse_event(event="end", data_str=as_text({"position": position, "reason": reason}))


# One encoder for all: to make one takes longer than to write an event.
as_text: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
