"""Read, list and count runs: receives numbers and filters, returns calls on the view of runs.

Lists are pages, the newest run first: `after` is the number of the last run of the page before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack, get_args

from stepwell.errors import InvalidInput
from stepwell.store.connection.call import Call, page_size, value

RunState = Literal["not_started", "in_progress", "paused", "completed", "failed", "cancelled"]
Colour = Literal["gray", "green", "yellow", "red"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run and its roll-up."""

    run_id: int
    workflow: str
    version_no: int
    state_code: str
    rollup_state_code: str
    priority: int
    open_count: int
    mandatory_count: int
    completed_count: int
    skipped_count: int
    failed_count: int
    trigger_type: str
    trigger_ref: str | None
    started_by: str
    parent_run_id: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    frozen_at: datetime | None
    deadline_at: datetime | None
    input: dict[str, Any]
    labels: dict[str, str]
    now_at: datetime

    @property
    def key(self) -> str | None:
        """The key of the start: a second start with the same key returns this run."""
        return self.trigger_ref

    @property
    def colour(self) -> str:
        """The roll-up of its steps: gray, green, yellow or red."""
        return self.rollup_state_code


class RunFilter(TypedDict, total=False):
    """Filters of runs; a run must match all filters that are given. None is no filter."""

    workflow: str | None
    state: RunState | None
    colour: Colour | None
    # The key of the start; with `source` if the source is not the workflow itself.
    key: str | None
    source: str | None
    # Runs of sub-workflow steps of this run.
    parent: int | None
    started_after: datetime | None
    started_before: datetime | None
    # Labels that the run has, all of them.
    labels: Mapping[str, str] | None


_ACCEPTED = {"state": get_args(RunState), "colour": get_args(Colour)}
_ASKS = {
    "workflow": "r.workflow = %s",
    "state": "r.state_code = %s",
    "colour": "r.rollup_state_code = %s",
    "key": "r.trigger_ref = %s",
    "source": "r.trigger_type = %s",
    "parent": "r.parent_run_id = %s",
    "started_after": "r.created_at >= %s",
    "started_before": "r.created_at < %s",
    "labels": "r.run_id in (select l.run_id from stepwell.run_label as l where l.tenant_id = r.tenant_id"
    " and l.label_key = %s and l.label_value = %s)",
}


RUN_COLUMNS = ", ".join(f"r.{field.name}" for field in fields(Run) if field.name != "now_at")


def run(tenant: int, run_id: int) -> Call[Run | None]:
    return Call(
        f"select {RUN_COLUMNS}, stepwell.now() from stepwell.workflow_run as r"
        " where r.tenant_id = %s and r.run_id = %s",
        (tenant, run_id),
        lambda rows: Run(*rows[0]) if rows else None,
    )


def runs(
    tenant: int, *, after: int | None = None, limit: int = 50, **only: Unpack[RunFilter]
) -> Call[list[Run]]:
    """The newest first."""
    asked = list(_asked(only))
    if after is not None:
        asked.append(("r.run_id < %s", (after,)))
    return Call(
        f"select {RUN_COLUMNS}, stepwell.now() from stepwell.workflow_run as r"
        f" where r.tenant_id = %s{_where(asked)} order by r.run_id desc limit %s",
        (tenant, *(one for _, given in asked for one in given), page_size(limit)),
        lambda rows: [Run(*row) for row in rows],
    )


def run_count(tenant: int, **only: Unpack[RunFilter]) -> Call[int]:
    asked = list(_asked(only))
    return Call(
        f"select count(*) from stepwell.workflow_run as r where r.tenant_id = %s{_where(asked)}",
        (tenant, *(one for _, given in asked for one in given)),
        value,
    )


def _where(asked: list[tuple[str, tuple[Any, ...]]]) -> str:
    return "".join(f" and {condition}" for condition, _ in asked)


def _asked(only: RunFilter) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, given in only.items():
        if given is None:
            continue
        if name not in _ASKS:
            raise InvalidInput(f"{name} is not a filter", hint=f"accepted: {', '.join(_ASKS)}", field=name)
        accepted = _ACCEPTED.get(name)
        if accepted is not None and given not in accepted:
            from stepwell.define.problem import did_you_mean

            raise InvalidInput(
                f"{name}: {given!r} is not known{did_you_mean(str(given), accepted)}",
                hint=f"accepted: {', '.join(accepted)}",
                field=name,
            )
        if isinstance(given, datetime) and given.tzinfo is None:
            raise InvalidInput(
                f"{name}: {given} has no time zone", hint="give a time with a zone, such as UTC", field=name
            )
        if isinstance(given, Mapping):
            yield from ((_ASKS[name], (str(key), str(text))) for key, text in given.items())
        else:
            yield _ASKS[name], (given,)
