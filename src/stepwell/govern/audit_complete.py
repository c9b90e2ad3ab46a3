"""Check that the log is complete: receives a reader, counts what began and ended, adds what is missing.

Every change of a unit begins where the change before it ended; every verdict has an outcome; every effect has
a verdict. What began and has not ended is open: it is counted and named, and is no problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.govern.audit_verdict import Life, Verdict
from stepwell.govern.verify import PROBLEM_LIMIT, payload_of, typed
from stepwell.store.calls import audit_governed as tables
from stepwell.store.calls.audit import Archived, AuditReader
from stepwell.unit_numbers import short

OPEN_LIMIT = 20
WORK_ENDS = ["completed", "skipped", "cancelled", "cannot_complete"]
# First part of an event type → the states that end such a unit. A failed step is tried again: it is open.
ENDS = {
    "workflow": ["completed", "failed", "cancelled"], "step": WORK_ENDS, "task": WORK_ENDS, "job": WORK_ENDS,
    "approval": ["approved", "rejected", "expired", "cancelled"], "proposal": ["merged", "rejected"],
    "receipt": ["confirmed", "void", "reversed"],
}  # fmt: skip

Judged = Mapping[int, tuple[str | None, int | None, int | None]]


def check_complete(reader: AuditReader, verdict: Verdict, archived: Archived, judged: Judged) -> None:
    """`judged` has, for each verdict of the log, its effect, receipt and approval."""
    begun = reader.begun(archived)
    for what, kind, state, number, some, tx, event_id in reader.lives(ENDS, begun, OPEN_LIMIT):
        if what == "gap":
            place = f"event {tx}/{event_id} ({kind}, unit {number})"
            verdict.say("missing", place, f"a change of its unit between {state} and this one")
            continue
        life = verdict.lives.setdefault(kind, Life())
        life.began_count += number
        if state in ENDS.get(kind, ()):
            life.ended_count += number
        else:
            named = [f"{kind} {short(unit_id)} ({state})" for unit_id in some or () if unit_id is not None]
            verdict.open_units += named[: OPEN_LIMIT - len(verdict.open_units)]
    _check_decisions(reader, verdict, archived, judged, begun)


def _check_decisions(
    reader: AuditReader, verdict: Verdict, archived: Archived, judged: Judged, begun: set[int]
) -> None:
    """`begun` are the streams whose first events are of archived months."""
    logged: set[int] = set()
    # Receipts whose first event says everything; those of earlier releases are not checked.
    modern: set[int] = set()
    for number, is_receipt, payload, is_old in tables.effects(reader, archived):
        logged.add(number)
        told = payload_of({"payload": payload})
        if is_receipt and "connector" in told:
            modern.add(number)
        if number in modern:
            named = typed(told, {"verdict_id": "i"})["verdict_id"]
            allowed = None if named is None else judged.get(named)
            if (allowed is None or allowed[1] != number) and not is_old:
                verdict.say("missing", f"receipt {number}", "no verdict of the log allowed this effect")
    for verdict_id, (effect, receipt_id, approval_id) in sorted(judged.items()):
        verdict.verdict_effects[str(effect)] = verdict.verdict_effects.get(str(effect), 0) + 1
        wanted = {"allow": receipt_id, "needs_approval": approval_id}.get(str(effect), 0)
        if wanted == 0 or wanted in logged or (wanted is not None and wanted >> 20 in begun):
            continue
        if len(verdict.problems) < PROBLEM_LIMIT:
            what = (
                "receipt of the effect that it allowed" if effect == "allow" else "approval that it asked for"
            )
            verdict.say("missing", f"verdict {verdict_id}", f"the log has no {what}")
