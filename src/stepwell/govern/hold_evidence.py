"""Verify the evidence file of an incident hold: receives the document, returns what is wrong with it.

Each event is hashed again from its fields and its payload; its leaf must stand at its place in its block,
the leaves must give the root of the block, and the header the hash of the block. Who has the log, or its
anchor, compares those hashes with it. A file can be incomplete and intact: that everything is in it follows
only from its digest, which the log has (`fn_hold_evidence_compare`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from stepwell.govern.verify.hashes import block_hash, digest, event_leaf, root

FORMAT: Final = "stepwell.hold-evidence.1"
FINDING_LIMIT: Final = 20
NEAR: Final = timedelta(minutes=5)


def findings(document: Any) -> list[str]:
    """Sentences, each about one thing that is wrong; none for a file that is intact and complete."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return [f"this is no file of the format {FORMAT}"]
    try:
        return _found(document)[:FINDING_LIMIT]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return [f"a field is missing or has another type: {type(error).__name__} {error}"]


def block_hashes(document: Mapping[str, Any]) -> dict[int, str]:
    """The hash of each block of the file: what the log or an anchor must have too."""
    return {int(block["block_no"]): str(block["block_hash"]) for block in document["blocks"]}


def _found(document: dict[str, Any]) -> list[str]:
    found: list[str] = []
    leaves: dict[int, list[bytes]] = {}
    for block in document["blocks"]:
        number, joined = block["block_no"], bytes.fromhex(block["leaves"])
        leaves[number] = [joined[at : at + 32] for at in range(0, len(joined), 32)]
        if len(leaves[number]) != block["event_count"] or root(leaves[number]).hex() != block["event_root"]:
            found.append(f"block {number}: its leaves do not give its root")
        if block_hash(document["chain_id"], block) != block["block_hash"]:
            found.append(f"block {number}: its header does not give its hash")
    for event in document["events"]:
        found += _event_findings(document["tenant_id"], event, leaves)
    return found + _story_findings(document)


def _event_findings(tenant_id: int, event: dict[str, Any], leaves: Mapping[int, list[bytes]]) -> list[str]:
    place = f"event {event['event_id']} ({event['event_type']})"
    if event["block_no"] is None:
        return [f"{place} is not sealed yet"]
    found = []
    told = digest(b"\x02", bytes.fromhex(event["salt"]), event["payload"].encode()).hex()
    if told != event["payload_commitment"] or len(event["payload"].encode()) != event["payload_size"]:
        found.append(f"{place}: its payload is not the sealed one")
    if leaves[event["block_no"]][event["leaf_no"]] != event_leaf(tenant_id, event):
        found.append(f"{place} is not the event that block {event['block_no']} has at its place")
    return found


def _story_findings(document: dict[str, Any]) -> list[str]:
    """What the file says about the hold and its clocks must stand in its events."""
    hold = document["hold"]
    told = {event["event_id"]: event for event in document["events"]}
    own = [event for event in document["events"] if str(event["stream_id"]) == hold["hold_id"]]

    def event_of(event_id: str | None, event_type: str) -> Mapping[str, Any] | None:
        event = told.get(int(event_id or 0))
        return event if event is not None and event["event_type"] == event_type else None

    found = []
    opened = event_of(hold["opened_event_id"], "hold.opened")
    if opened is None or opened not in own or not _is_opened_by(hold, opened):
        found.append("no event opens the hold as the file says")
    graded = next((event for event in own[::-1] if event["event_type"] == "hold.graded"), None)
    if (hold["graded_at"], hold["graded_by"]) != _when_and_who(graded):
        found.append("no event grades the hold as the file says")
    released = event_of(hold["released_event_id"], "hold.released")
    if (hold["released_at"], hold["released_by"]) != _when_and_who(released):
        found.append("no event releases the hold as the file says")
    share = 0 if graded is None else _payload(graded)["share"]
    if hold["share"] != (share if released is None else 100):
        found.append(f"no event lets {hold['share']} of a hundred runs go on")
    ended = next((event for event in own if event["event_type"] == "hold.ended"), None)
    if hold["outcome"] != (None if ended is None else _payload(ended)) or not _is_near(
        hold["ended_at"], None if ended is None else ended["at"]
    ):
        found.append("no event ends the hold as the file says")
    if ended is not None and len(document["denials"]) > hold["outcome"]["denied"]:
        found.append(f"the hold denied {hold['outcome']['denied']} actions, fewer than the file lists")
    if ended is not None and len(document["clocks"]) > hold["outcome"]["clocks"]:
        found.append(f"the hold stopped {hold['outcome']['clocks']} clocks, fewer than the file lists")
    for clock in document["clocks"]:
        stopped = event_of(clock["stopped_event_id"], "clock.stopped")
        if stopped is None or not _is_stopped_by(clock, stopped, hold["hold_id"]):
            found.append(f"unit {clock['unit_id']}: no event stops its clocks as the file says")
        moved = event_of(clock["moved_event_id"], "clock.moved")
        if (moved is None) != (clock["moved_at"] is None) or (
            moved is not None and not _is_moved_by(clock, moved, hold["hold_id"])
        ):
            found.append(f"unit {clock['unit_id']}: no event moves its clocks by {clock['held_seconds']} s")
    return found


def _payload(event: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(event["payload"])
    return read


def _when_and_who(event: Mapping[str, Any] | None) -> tuple[str | None, str | None]:
    return (None, None) if event is None else (event["at"], event["actor"])


def _is_opened_by(hold: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    payload = _payload(event)
    names = ("scope_kind", "scope_value", "reason", "reach")
    said = tuple(payload[name] for name in ("kind", "value", "reason", "reach"))
    return said == tuple(hold[name] for name in names) and _when_and_who(event) == (
        hold["opened_at"], hold["opened_by"]
    )  # fmt: skip


def _is_stopped_by(clock: Mapping[str, Any], event: Mapping[str, Any], hold_id: str) -> bool:
    payload = _payload(event)
    return (
        (str(event["unit_id"]), payload["hold_id"]) == (clock["unit_id"], hold_id)
        and _moment(clock["stopped_at"]) == _moment(payload["stopped_at"])
        and _moment(clock["deadline_from"]) == _moment(payload.get("deadline_at"))
    )


def _is_moved_by(clock: Mapping[str, Any], event: Mapping[str, Any], hold_id: str) -> bool:
    payload = _payload(event)
    return (
        (str(event["unit_id"]), payload["hold_id"]) == (clock["unit_id"], hold_id)
        and float(payload["held_seconds"]) == float(clock["held_seconds"])
        and _moment(clock["deadline_to"]) == _moment(payload.get("deadline_to"))
        and _is_near(clock["moved_at"], event["at"])
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _is_near(one: str | None, other: str | None) -> bool:
    """The time of a row was read from the clock before that of its event."""
    first, second = _moment(one), _moment(other)
    if first is None or second is None:
        return first is second
    return abs(first - second) <= NEAR
