"""Verify the evidence file of an incident hold: receives the document, returns what is wrong with it.

Each event is hashed again from its fields and its payload; its leaf must stand at its place in its block,
the leaves must give the root of the block, and the header the hash of the block. Who has the log, or its
anchor, compares those hashes with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from stepwell.govern.verify.hashes import block_hash, digest, event_leaf, root

FORMAT: Final = "stepwell.hold-evidence.1"
FINDING_LIMIT: Final = 20


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
    hold, found = document["hold"], []
    told = {event["event_id"]: event for event in document["events"]}

    def payload(event_id: str | None, event_type: str) -> dict[str, Any] | None:
        event = told.get(int(event_id or 0))
        if event is None or event["event_type"] != event_type:
            return None
        read: dict[str, Any] = json.loads(event["payload"])
        return read

    opened = payload(hold["opened_event_id"], "hold.opened")
    wanted = (hold["scope_kind"], hold["scope_value"], hold["reason"])
    if opened is None or (opened["kind"], opened["value"], opened["reason"]) != wanted:
        found.append("no event opens the hold as the file says")
    if hold["released_at"] is not None and payload(hold["released_event_id"], "hold.released") is None:
        found.append("no event releases the hold")
    for clock in document["clocks"]:
        moved = payload(clock["moved_event_id"], "clock.moved")
        if payload(clock["stopped_event_id"], "clock.stopped") is None:
            found.append(f"unit {clock['unit_id']}: no event stops its clocks")
        if clock["moved_at"] is not None and (
            moved is None or float(moved["held_seconds"]) != float(clock["held_seconds"])
        ):
            found.append(f"unit {clock['unit_id']}: no event moves its clocks by {clock['held_seconds']} s")
    return found
