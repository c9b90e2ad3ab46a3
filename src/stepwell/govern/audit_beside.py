"""Compare the tables beside the log with the log: receives the intact events of a block, adds problems.

A value must be the one that its sealed event carries; a unit must have the state after its last event.
"""

from __future__ import annotations

from typing import Any

from stepwell.govern.audit_retention import Retention
from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import commitment, salt_of, value_hash
from stepwell.store.calls.audit import AuditReader, Chain, Position, UnitNow, Value

Record = dict[str, Any]
# The stream of events that belong to no run: they have no unit.
NO_RUN = 0


def check_beside(
    reader: AuditReader, chain: Chain, verdict: Verdict, records: list[Record], seals_values: bool,
    retention: Retention,
) -> None:  # fmt: skip
    since, until = _ends(records)
    streams = sorted({record["stream_id"] for record in records} - {NO_RUN})
    units: dict[int, UnitNow] = {}
    for unit in reader.units(streams, since):
        if unit.unit_id in units:
            verdict.say("inserted", f"unit {unit.unit_id}", "its row is there twice")
        units[unit.unit_id] = unit
    carried = {record["unit_id"]: record["values"] for record in records if record["values"] is not None}
    held: dict[int, dict[str, Value]] = {}
    for value in reader.values(sorted(units)):
        found = held.setdefault(value.unit_id, {})
        key = _hash(chain, value)
        if key in found:
            verdict.say("inserted", f"{value.label}, a value of unit {value.unit_id}", "it is there twice")
        found[key] = value
    at = {(record["tx"], record["event_id"]): record["at"] for record in records}
    for unit_id, unit in sorted(units.items()):
        # Retention removes a run or job as a whole: it is looked at where its own last change is.
        is_own = not unit_id & 0xFFFFF and unit.state_last in at
        if not unit.has_run:
            if is_own and unit.state_last is not None:
                retention.check_gone(unit_id, unit.state_last, at[unit.state_last])
            continue
        if is_own:
            retention.check_there(unit_id)
        if unit.state_last is not None and since <= unit.state_last <= until:
            _check_state(verdict, unit)
        is_last = seals_values and unit.last <= until
        _check_values(verdict, unit_id, carried.get(unit_id, []), held.get(unit_id, {}), is_last)


def _ends(records: list[Record]) -> tuple[Position, Position]:
    first, last = records[0], records[-1]
    return (first["tx"], first["event_id"]), (last["tx"], last["event_id"])


def _hash(chain: Chain, value: Value) -> str:
    """A value that lost its key or its text has a hash too, which no event carries."""
    label, text = str(value.label), str(value.text)
    hidden = commitment(salt_of(chain.salt, label), text)
    return value_hash(label, value.unit_id, value.at, len(text.encode()), hidden, value.facts)


def _check_state(verdict: Verdict, unit: UnitNow) -> None:
    if not unit.exists:
        verdict.say("missing", f"unit {unit.unit_id}", "the log has its events, but its row is gone")
    elif unit.state != unit.last_state:
        detail = f"it is {unit.state}, but {unit.last_state} after its last event"
        verdict.say("altered", f"unit {unit.unit_id}", detail)


def _check_values(
    verdict: Verdict, unit_id: int, carried: list[str], held: dict[str, Value], is_last: bool
) -> None:
    """Every carried value must be there. After the last event of a unit it has no others."""
    lost = [one for one in carried if one not in held]
    new = [str(value.label) for one, value in held.items() if one not in carried]
    verdict.value_count += len(carried) - len(lost)
    if lost:
        named = f" ({', '.join(new[:3])})" if new else ""
        detail = f"{len(lost)} of its {len(carried)} sealed values changed or are missing{named}"
        verdict.say("altered", f"the values of unit {unit_id}", detail)
    elif is_last:
        for label in new:
            verdict.say("inserted", f"{label}, a value of unit {unit_id}", "no sealed event carries it")
