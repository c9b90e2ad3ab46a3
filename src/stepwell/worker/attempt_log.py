"""Log the ends of attempts and runs: receives the answers of the database, writes one line for each.

A failed attempt is logged after the database has classified it, because only then the next action is known.
"""

from __future__ import annotations

import logging
from typing import Any

from stepwell.store.calls.leases import Ended, Failed, Lease, Refused, Report

UNIT_BITS = 20


def place(unit_id: int, step_id: str | None) -> dict[str, Any]:
    """The log fields of a unit: run and step, or job."""
    if unit_id & ((1 << UNIT_BITS) - 1) == 0:
        return {"job": unit_id}
    return {"run": unit_id >> UNIT_BITS, "step": step_id}


class AttemptLog:
    """Failed attempts are warnings, or errors if no attempt follows; run ends are info; the rest is debug."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._logger = logging.getLogger("stepwell.worker")

    def ended(self, lease: Lease, report: Report | None) -> None:
        """A handler ended without a failure; `answered` logs failures."""
        if not self._logger.isEnabledFor(logging.DEBUG):
            return
        outcome = "lost" if report is None else str(report.outcome)
        if outcome not in ("failed", "retry", "dead"):
            self._log.debug(
                "attempt ended",
                **place(lease.unit_id, lease.step_id),
                operation=lease.operation_name,
                attempt=lease.attempt,
                outcome=outcome,
            )

    def answered(self, answer: Failed | Refused | Ended) -> None:
        if isinstance(answer, Failed):
            self._failed(answer)
        elif isinstance(answer, Refused):
            self._log.warning("a report came too late", **place(answer.unit_id, None))
        else:
            self._run_ended(answer)

    def _failed(self, failed: Failed) -> None:
        where = place(failed.unit_id, failed.step_id)
        say = self._log.error if failed.next == "none" else self._log.warning
        say(
            "attempt failed",
            **where,
            operation=failed.operation_name,
            attempt=failed.attempt,
            max_attempts=failed.max_attempts,
            failure_class=failed.failure_class,
            error=_shown(failed.error),
            next=failed.next,
            next_at=None if failed.next_at is None else failed.next_at.isoformat(),
        )
        if trace := failed.error.get("traceback"):
            self._log.debug("traceback", **where, attempt=failed.attempt, traceback=trace)

    def _run_ended(self, ended: Ended) -> None:
        level = logging.ERROR if ended.state == "failed" else logging.INFO
        if not self._logger.isEnabledFor(level):
            return
        self._log.log(
            level,
            "run ended",
            run=ended.run_id,
            workflow=ended.workflow,
            state=ended.state,
            seconds=round(ended.seconds, 3),
        )


def _shown(error: dict[str, Any]) -> str:
    return ": ".join(str(error[part]) for part in ("type", "message") if error.get(part))
