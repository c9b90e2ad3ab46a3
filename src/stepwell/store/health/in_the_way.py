"""Name the sessions that hold others up: receives a subject, returns findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stepwell.sql import support_text
from stepwell.store.health.finding import Finding, Level, Subject, worded

# An old transaction lets the queue and its indexes grow; a short one does nothing.
HORIZON_WARN_SECONDS = 60.0
LOCK_WARN_SECONDS = 5.0
MONTHS_WARN_COUNT = 1


def check_sessions(subject: Subject) -> Iterable[Finding]:
    """The oldest transaction, the oldest lock that somebody waits for, the months that the log has left."""
    with subject.keeping("fn_sessions_in_the_way()") as keeper:
        if keeper is None:
            return
        row = keeper.execute(support_text("health_sessions")).fetchone()
    assert row is not None, "a select without from has one row"
    found: dict[str, Any] = row[0]
    yield _session("vacuum", found["horizon"], HORIZON_WARN_SECONDS)
    yield _session("locks", found["lock"], LOCK_WARN_SECONDS)
    level = Level.OK if found["months_left"] >= MONTHS_WARN_COUNT else Level.WARNING
    yield worded("months", level, "months.left", "months.remedy", count=found["months_left"])


def _session(check: str, session: dict[str, Any] | None, limit_seconds: float) -> Finding:
    if session is None or session["seconds"] is None or session["seconds"] < limit_seconds:
        return worded(check, Level.OK, f"{check}.free")
    facts = {
        **session,
        "seconds": round(session["seconds"]),
        "query": " ".join((session["query"] or "?").split()),
    }
    return worded(check, Level.WARNING, f"{check}.held", f"{check}.remedy", **facts)
