"""Compare the rows of units with their events and definitions: receives a reader, adds problems.

A row of a unit is a summary: of its events, its published definition, and the record that it belongs to.
"""

from __future__ import annotations

from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import PROBLEM_LIMIT
from stepwell.store.calls.audit import Archived, AuditReader

# What the rows are compared with, by the query that compares them.
SOURCES = {
    "audit_unit_lives": "its events",
    "audit_unit_definitions": "its definition or its record",
    "audit_unit_people": "the log and its definition",
    "audit_unit_catches": "the conditionals that were decided after it",
}


def check_units(reader: AuditReader, verdict: Verdict, archived: Archived) -> None:
    ((verdict.unit_count, verdict.definition_count),) = reader.support("audit_row_counts")
    for query, source in SOURCES.items():
        for unit_id, names in reader.support(query, archived=sorted(archived.months), limit=PROBLEM_LIMIT):
            told = ", ".join(names[:5])
            verdict.say("altered", f"unit {unit_id}", f"{source} say something else about {told}")


def check_definitions(reader: AuditReader, verdict: Verdict, archived: Archived) -> None:
    """The definitions that runs and verdicts name by their hash; the events of old ones may be archived."""
    found = reader.support("audit_definitions", archived=sorted(archived.months), limit=PROBLEM_LIMIT)
    for what, names in found:
        told = ", ".join(names)
        verdict.say("altered", what, f"its hash or its publication says something else about its {told}")


def check_records(reader: AuditReader, verdict: Verdict, archived: Archived) -> None:
    """The policy in force, replays, corrections, comments and bundles: each follows from its event."""
    found = reader.support("audit_records", archived=sorted(archived.months), limit=PROBLEM_LIMIT)
    for what, names in found:
        if names is None:
            verdict.say("missing", what, "the log has its event, but its row is gone")
        elif not names:
            verdict.say("inserted", what, "the log has no event of it")
        else:
            detail = f"the sealed events say something else about its {', '.join(names[:5])}"
            verdict.say("altered", what, detail)
