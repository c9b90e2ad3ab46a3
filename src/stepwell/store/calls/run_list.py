"""List and count runs: receives filters, returns calls on the view of runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack, get_args

from stepwell.define.problem import did_you_mean
from stepwell.errors import InvalidInput
from stepwell.store.calls.views import RUN_COLUMNS, Run, page_size
from stepwell.store.connection.call import Call, value

RunState = Literal["not_started", "in_progress", "paused", "completed", "failed", "cancelled"]
Colour = Literal["gray", "green", "yellow", "red"]


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
}


def runs(
    tenant: int, *, after: int | None = None, limit: int = 50, **only: Unpack[RunFilter]
) -> Call[list[Run]]:
    """The newest first."""
    asked = list(_asked(only))
    if after is not None:
        asked.append(("r.run_id < %s", after))
    return Call(
        f"select {RUN_COLUMNS}, stepwell.now() from stepwell.workflow_run as r"
        f" where r.tenant_id = %s{_where(asked)} order by r.run_id desc limit %s",
        (tenant, *(given for _, given in asked), page_size(limit)),
        lambda rows: [Run(*row) for row in rows],
    )


def run_count(tenant: int, **only: Unpack[RunFilter]) -> Call[int]:
    asked = list(_asked(only))
    return Call(
        f"select count(*) from stepwell.workflow_run as r where r.tenant_id = %s{_where(asked)}",
        (tenant, *(given for _, given in asked)),
        value,
    )


def _where(asked: list[tuple[str, Any]]) -> str:
    return "".join(f" and {condition}" for condition, _ in asked)


def _asked(only: RunFilter) -> Iterator[tuple[str, Any]]:
    for name, given in only.items():
        if given is None:
            continue
        if name not in _ASKS:
            raise InvalidInput(f"{name} is not a filter", hint=f"accepted: {', '.join(_ASKS)}", field=name)
        accepted = _ACCEPTED.get(name)
        if accepted is not None and given not in accepted:
            raise InvalidInput(
                f"{name}: {given!r} is not known{did_you_mean(str(given), accepted)}",
                hint=f"accepted: {', '.join(accepted)}",
                field=name,
            )
        if isinstance(given, datetime) and given.tzinfo is None:
            raise InvalidInput(
                f"{name}: {given} has no time zone", hint="give a time with a zone, such as UTC", field=name
            )
        yield _ASKS[name], given
