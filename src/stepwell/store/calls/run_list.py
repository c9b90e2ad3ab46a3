"""Read, list and count runs: receives numbers and filters, returns calls on the view of runs.

Lists are pages, the newest run first: `after` is the number of the last run of the page before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack, get_args

from stepwell import json_text
from stepwell.errors import InvalidInput
from stepwell.store.connection.call import Call, page_size, value

RunState = Literal["not_started", "in_progress", "paused", "completed", "failed", "cancelled"]
Colour = Literal["gray", "green", "yellow", "red"]


class Named(Protocol):
    """A `Workflow`: here only its name matters."""

    @property
    def name(self) -> str: ...


WorkflowName: TypeAlias = str | Named


def name_of(workflow: WorkflowName) -> str:
    return workflow if isinstance(workflow, str) else workflow.name


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

    workflow: WorkflowName | None
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


RUN_COLUMNS = ", ".join(f"r.{field.name}" for field in fields(Run) if field.name != "now_at")
# A run as the API shows it: the database writes the JSON, which is sent as it is. Numbers are texts, because
# they may be too large for JavaScript.
_SHOWN = "json_build_object({})::text".format(
    ", ".join(
        f"'{field.name}', r.{field.name}{'::text' if field.name.endswith('_id') else ''}"
        for field in fields(Run)
        if field.name != "now_at"
    )
)


class RunText(NamedTuple):
    """A run as JSON."""

    run_id: int
    text: str


def run_text(tenant: int, run_id: int) -> Call[RunText | None]:
    return Call(
        f"select r.run_id, {_SHOWN} from stepwell.workflow_run as r"
        " where r.tenant_id = %s and r.run_id = %s and r.unit_id = %s",
        (tenant, run_id, run_id << 20),
        lambda rows: RunText(*rows[0]) if rows else None,
    )


def run_texts(
    tenant: int, *, after: int | None = None, limit: int = 50, **only: Unpack[RunFilter]
) -> Call[list[RunText]]:
    """The newest first."""
    return Call(
        f"select r.run_id, {_SHOWN} from stepwell.fn_runs_list(%s, %s::jsonb, %s, %s) as r",
        (tenant, _filter(only), after, page_size(limit)),
        lambda rows: [RunText(*row) for row in rows],
    )


def run(tenant: int, run_id: int) -> Call[Run | None]:
    return Call(
        f"select {RUN_COLUMNS}, stepwell.now() from stepwell.workflow_run as r"
        " where r.tenant_id = %s and r.run_id = %s and r.unit_id = %s",
        (tenant, run_id, run_id << 20),
        lambda rows: Run(*rows[0]) if rows else None,
    )


def runs(
    tenant: int, *, after: int | None = None, limit: int = 50, **only: Unpack[RunFilter]
) -> Call[list[Run]]:
    """The newest first."""
    return Call(
        f"select {RUN_COLUMNS}, stepwell.now() from stepwell.fn_runs_list(%s, %s::jsonb, %s, %s) as r",
        (tenant, _filter(only), after, page_size(limit)),
        lambda rows: [Run(*row) for row in rows],
    )


def run_count(tenant: int, **only: Unpack[RunFilter]) -> Call[int]:
    return Call("select stepwell.fn_runs_count(%s, %s::jsonb)", (tenant, _filter(only)), value)


@dataclass(frozen=True, slots=True)
class Places:
    """Every so many rows of a list, the run that stands there; `is_at_least`: counting stopped."""

    count: int
    is_at_least: bool
    run_ids: list[int]


def places(tenant: int, *, every: int, **only: Unpack[RunFilter]) -> Call[Places]:
    """Where the pages of the list begin, the newest first, for the same filters as `runs`."""
    return Call(
        "select p.row_count, p.is_at_least, p.run_ids from stepwell.fn_runs_places(%s, %s, %s::jsonb) as p",
        (tenant, every, _filter(only)),
        lambda rows: Places(*rows[0]),
    )


def _filter(only: RunFilter) -> str:
    """The filters as JSON for the database, which knows what each means; refuses what cannot be one."""
    given: dict[str, Any] = {}
    for name, one in only.items():
        if one is None or one == {}:
            continue
        if name not in RunFilter.__annotations__:
            known = ", ".join(RunFilter.__annotations__)
            raise InvalidInput(f"{name} is not a filter", hint=f"accepted: {known}", field=name)
        accepted = _ACCEPTED.get(name)
        if accepted is not None and one not in accepted:
            from stepwell.define.problem import did_you_mean

            raise InvalidInput(
                f"{name}: {one!r} is not known{did_you_mean(str(one), accepted)}",
                hint=f"accepted: {', '.join(accepted)}",
                field=name,
            )
        if isinstance(one, datetime) and one.tzinfo is None:
            raise InvalidInput(
                f"{name}: {one} has no time zone", hint="give a time with a zone, such as UTC", field=name
            )
        given[name] = {str(key): str(text) for key, text in one.items()} if isinstance(one, Mapping) else one
    if workflow := only.get("workflow"):
        given["workflow"] = name_of(workflow)
    # Without a filter nothing is encoded: the encoder takes longer to load than a list takes to read.
    return json_text.encode(given, "filter") if given else "{}"
