"""Name the records of a block that differ from its seal: receives leaves and events, adds problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import PROBLEM_LIMIT, commitment, event_leaf, salt_of
from stepwell.store.calls.audit import Chain, Leaves, Position

# For so many missing records of a block the check asks whether another record was moved from their position.
MOVED_LIMIT = 1000

Record = dict[str, Any]


def sealed_record(chain: Chain, event: Record, values: list[str] | None = None) -> Record:
    """An event as its leaf has it: with size and commitment of its payload, and the values it carries."""
    payload = event["payload"]
    if payload is None:
        return {**event, "payload_size": None, "payload_commitment": None, "values": values}
    salt = salt_of(chain.salt, f"event:{event['tx']}:{event['event_id']}")
    return {
        **event,
        "payload_size": len(payload.encode()),
        "payload_commitment": commitment(salt, payload),
        "values": values,
    }


def name_records(
    chain: Chain, verdict: Verdict, kept: Leaves, records: list[Record], leaves: list[bytes],
    archived_months: Collection[str],
) -> tuple[int, int]:  # fmt: skip
    """Name every record that differs, in the order of the log; return their number, and that of the archived.

    The leaves have the root, the order and the times of the header.
    """
    now: dict[Position, tuple[Record, bytes]] = {}
    then = dict(zip(kept.positions, range(len(kept.positions)), strict=True))
    for record, leaf in zip(records, leaves, strict=True):
        position = position_of(record)
        if position not in now or leaf == kept.hashes[then.get(position, 0)]:
            now[position] = (record, leaf)
    doubled = {p for p, count in Counter(map(position_of, records)).items() if count > 1}
    changed = [p for p in then if p in now and now[p][1] != kept.hashes[then[p]]]
    lost = [p for p in then if p not in now]
    gone = [p for p in lost if kept.ats[then[p]][:7] not in archived_months]
    new = [p for p in now if p not in then]
    moved = _moved(chain, kept, then, now, changed, gone, new)
    different = sorted({*changed, *gone, *new, *doubled})
    for position in different:
        if position in doubled:
            verdict.say("inserted", event_place(now[position][0]), "the log has it more than once")
        elif position in moved:
            place, detail = event_place(now[position][0]), f"it was at {_text(moved[position])}"
            verdict.say("reordered", place, detail)
        elif position in new:
            place = event_place(now[position][0])
            verdict.say("inserted", place, "it did not exist when the block was sealed")
        else:
            at = then[position]
            before = f"event {_text(position)} ({kept.event_types[at]}, unit {kept.unit_ids[at]})"
            if position not in now:
                if position not in moved.values():
                    verdict.say("missing", before, "it existed when the block was sealed")
            else:
                verdict.say("altered", before, _difference(kept, at, now[position][0]))
    return len(different), len(lost) - len(gone)


def _moved(
    chain: Chain, kept: Leaves, then: dict[Position, int], now: dict[Position, tuple[Record, bytes]],
    changed: list[Position], gone: list[Position], new: list[Position],
) -> dict[Position, Position]:  # fmt: skip
    """The records of which only the position changed, and their position when they were sealed."""
    wanted = {kept.hashes[then[p]]: p for p in (*changed, *gone)[:MOVED_LIMIT]}
    found = {}
    for position in (*changed[:PROBLEM_LIMIT], *new[:PROBLEM_LIMIT]):
        record = now[position][0]
        for origin in wanted.values():
            tx, event_id = origin
            carried = None if kept.values is None else kept.values[then[origin]]
            tried = sealed_record(chain, {**record, "tx": tx, "event_id": event_id}, carried)
            if origin != position and wanted.get(event_leaf(chain.tenant_id, tried)) == origin:
                found[position] = origin
                break
    return found


def _difference(kept: Leaves, at: int, record: Record) -> str:
    """The change, as far as it is known: the leaves store only unit, type, time and hash."""
    told = []
    if kept.unit_ids[at] != record["unit_id"]:
        told.append(f"its unit is now {record['unit_id']}")
    if kept.event_types[at] != record["event_type"]:
        told.append(f"its type is now {record['event_type']}")
    if kept.ats[at] != record["at"]:
        told.append(f"its time is now {record['at']}")
    return ", ".join(told) or "its state, actor, references, payload or values changed"


def position_of(record: Record) -> Position:
    return (record["tx"], record["event_id"])


def _text(position: Position) -> str:
    return f"{position[0]}/{position[1]}"


def event_place(record: Record) -> str:
    return f"event {_text(position_of(record))} ({record['event_type']}, unit {record['unit_id']})"
