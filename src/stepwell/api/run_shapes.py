"""The shapes of what the database writes as JSON: a run in one answer, its steps, its time, its stream.

The answers are sent as they are, so these models check nothing at run time. They document the answers in the
OpenAPI document, from which the types of the web console are made; `tests/api/test_run_shapes.py` compares
them with real answers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from stepwell.api.actions import ActionView

Milliseconds = Annotated[int | None, Field(description="after the start of the run")]


class Shape(BaseModel):
    """Every field of an answer is listed."""

    model_config = ConfigDict(extra="forbid")


class Counts(Shape):
    """Steps of a run: all open ones, the mandatory ones, and by class of state."""

    open: int
    mandatory: int
    idle: int
    active: int
    wait: int
    red: int
    completed: int
    skipped: int
    failed: int


class RunHead(Shape):
    """The run itself. In the past the last fields are absent."""

    run_id: int
    workflow: str
    title: str | None = Field(description="the title of the workflow, for people")
    version_no: int
    state: str
    colour: str | None = Field(description="null in the past, like the counts")
    key: str | None
    source: str
    started_by: str | None
    labels: dict[str, str]
    created_at: datetime
    counts: Counts | None
    workspace: str | None = None
    priority: int | None = None
    parent_run_id: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    frozen_at: datetime | None = None
    deadline_at: datetime | None = None


class StepColumns(Shape):
    """Columns of equal length, one entry for each step. In the past only the first three."""

    no: list[int]
    def_: list[int] = Field(alias="def", description="number of the step in the graph")
    state: list[int] = Field(description="index into states")
    facet: list[int | None] = Field(default_factory=list, description="index into facets")
    started: list[Milliseconds] = Field(default_factory=list)
    ended: list[Milliseconds] = Field(default_factory=list)
    pic: list[int | None] = Field(default_factory=list, description="index into people")


class Progress(Shape):
    done: int
    total: int | None
    note: str | None


class StepsPart(Shape):
    """Steps of a run: those of a snapshot, or those that changed. What few steps have is by their number."""

    states: list[str]
    facets: list[str]
    people: list[str]
    steps: StepColumns
    items: dict[str, tuple[int, int]] = Field(
        default_factory=dict, description="step of a map item: number of the map, of the item"
    )
    facets_more: dict[str, list[str]] = Field(default_factory=dict)
    attempts: dict[str, tuple[int, int]] = Field(default_factory=dict, description="attempt and the most")
    deadlines: dict[str, datetime] = Field(default_factory=dict)
    overdue: list[int] = Field(default_factory=list)
    escalated: list[int] = Field(default_factory=list)
    late: list[int] = Field(default_factory=list)
    next_at: dict[str, datetime] = Field(default_factory=dict)
    children: dict[str, int] = Field(default_factory=dict, description="number of the run of a sub-workflow")
    pins: dict[str, tuple[str, int]] = Field(default_factory=dict, description="content and its version")
    failures: dict[str, str] = Field(default_factory=dict)
    approvals: dict[str, str] = Field(default_factory=dict)
    progress: dict[str, Progress] = Field(default_factory=dict)
    behind: dict[str, int] = Field(default_factory=dict, description="the step that it waits behind")


class Cause(Shape):
    """One cause of a chain, what helps against it, and when it is expected to be over."""

    unit_id: str
    run_id: int
    no: int
    name: str
    code: str = Field(examples=["human"])
    en: str
    vi: str
    who: str | None
    action: str | None = Field(description="the call that helps", examples=["claim"])
    target_id: str | None = Field(description="the step, run or approval of the call")
    command: str | None = Field(examples=["stepwell step claim 8.1"])
    expected_at: datetime | None
    past_runs: int | None = Field(description="how many past runs the expectation is from; null: a set time")
    help: ActionView | None = Field(default=None, description="at the root: whether the caller may act")


class Why(Shape):
    """Why something does not go on, in two languages, and who can act."""

    code: str = Field(examples=["human"])
    en: str
    vi: str
    who: str | None = Field(examples=["role:clerk"])
    path: list[Cause] = Field(default_factory=list, description="of a step: from it to the cause at the root")


class Rollup(Shape):
    decisive_no: int | None = Field(description="the step that decides the colour")
    red: int
    yellow: int
    green: int
    skipped: int


class ExpectedEnd(Shape):
    at: datetime | None
    past_runs: int
    median_seconds: float | None
    slow_seconds: float | None


class Milestone(Shape):
    """A moment that people wait for: its step is completed. Expected times come from past runs."""

    no: int
    name: str = Field(examples=["Order confirmed"])
    state: Literal["reached", "expected", "skipped", "missed"]
    reached_at: datetime | None
    expected_at: datetime | None = Field(description="null with fewer than three past runs, and in the past")


class ExpectedSteps(Shape):
    """When open steps are expected to begin and to end, by past runs of the same version; columns."""

    past_runs: int
    no: list[int]
    from_: list[int] = Field(alias="from", description="milliseconds after the start of the run")
    to: list[int]


class PastPoint(Shape):
    event_id: int | None
    time: datetime | None


class Snapshot(StepsPart):
    """A run in one answer."""

    run: RunHead
    position: str | None = Field(description="where a stream goes on; null in the past")
    last_event_id: int | None
    now: datetime
    at: PastPoint | None
    graph_hash: str
    layout_hash: str | None = None
    rollup: Rollup | None
    critical_path: list[int]
    expected_end: ExpectedEnd | None
    milestones: list[Milestone] = Field(default_factory=list)
    expected_steps: ExpectedSteps | None = Field(
        default=None, description="null without three past runs, when the run has ended, and in the past"
    )
    why: Why | None
    actions: list[ActionView] = Field(default_factory=list, description="what the caller may do with the run")


class RunChange(StepsPart):
    """What a stream shows of a run: its counters, and the steps that changed."""

    state: str
    colour: str
    counts: Counts
    finished_at: datetime | None
    frozen_at: datetime | None


class StreamChanges(Shape):
    """The data of the message `changes` of a stream."""

    position: str
    last_event_id: int
    events: list[tuple[int, datetime, int, int, str, str | None, str | None, str | None]] = Field(
        description="number, time, run, number of the step, type, from, to, actor"
    )
    topics: dict[str, list[int]] = Field(description="topic → indexes into events")
    runs: dict[str, RunChange]


class Bound(Shape):
    bound: Any
    origin: str
    problem: str | None


class Output(Shape):
    lease_no: int
    output: Any
    created_at: datetime


class Attempt(Shape):
    attempt: int
    outcome: str
    started_at: datetime | None
    ended_at: datetime | None
    worker: str | None
    failure_class: str | None
    error: dict[str, Any] | None
    next_at: datetime | None


class StepReceipt(Shape):
    receipt_id: str
    connector: str
    operation: str
    target: str | None
    state: str
    at: datetime
    reversible: bool


class StepTask(Shape):
    no: int
    unit_id: str
    task_id: str
    title: str | None
    state: str
    pic: str | None


class StepContent(Shape):
    name: str
    version: int
    label_en: str | None
    label_vi: str | None
    body: str | None
    items: Any


class StepEvent(Shape):
    event_id: int
    at: datetime
    type: str
    from_: str | None = Field(alias="from")
    to: str | None
    actor: str | None
    payload: Any


class StepEvents(Shape):
    items: list[StepEvent]
    next: int | None


class StepBody(Shape):
    """One step; the parts that were not asked for are absent."""

    run_id: int
    no: int
    unit_id: str
    step_id: str
    kind: str
    state: str
    facet: str | None
    position: str
    why: Why | None = None
    actions: list[ActionView] = Field(default_factory=list, description="what the caller may do with it")
    inputs: Bound | None = None
    outputs: list[Output] | None = Field(default=None, description="null without the right to read them")
    attempts: list[Attempt] = Field(default_factory=list)
    receipts: list[StepReceipt] = Field(default_factory=list)
    tasks: list[StepTask] = Field(default_factory=list)
    content: list[StepContent] = Field(default_factory=list)
    events: StepEvents = Field(default=StepEvents(items=[], next=None))


class Mark(Shape):
    event_id: int
    at: datetime
    kind: str
    no: int | None
    type: str


class Density(Shape):
    """Events of a run over its time."""

    from_: datetime = Field(alias="from")
    to: datetime
    bucket_seconds: float
    counts: list[int]
    first_event_id: list[int | None]
    marks: list[Mark]
    sealed_event_id: int | None
    last_event_id: int | None


class Segments(Shape):
    """Columns: what a step did from when to when; `to` null is now."""

    no: list[int]
    kind: list[int]
    attempt: list[int]
    from_: list[int] = Field(alias="from")
    to: list[int | None]


class Timeline(Shape):
    """What each step did when, on a scale whose idle parts are folded."""

    from_: datetime = Field(alias="from")
    to: datetime
    now: datetime
    is_ended: bool
    scale: list[tuple[int, int, int, int]] = Field(description="from, to, drawn from, drawn to")
    drawn_ms: int
    segments: Segments
    kinds: list[str]
    groups: dict[str, list[int]] = Field(description="people, code", examples=[{"people": [2], "code": [1]}])
    milestones: list[Milestone]
    expected: dict[str, tuple[int, int]] = Field(
        default_factory=dict, description="open steps: from, to, by past runs"
    )
    worked_ms: int
    standing_ms: int


class LayoutSteps(Shape):
    """Columns of equal length, one entry for each step of the graph."""

    no: list[int]
    id: list[str]
    kind: list[str]
    title: list[str | None]
    milestone: list[str | None]
    content: list[str | None] = Field(description="the name of the content that the step shows")
    mandatory: list[bool]
    role: list[str | None]
    operation: list[str | None]
    executor: list[str | None]
    workflow: list[str | None]
    scope: list[int]
    branch: list[int | None]
    group: list[str | None]


class LayoutScope(Shape):
    """The drawing of the run (scope 0), or of the body of a map."""

    scope: int
    width: int
    height: int
    lanes: list[tuple[str, int, int, int]] = Field(description="name, y, height, number of steps")
    boxes: list[tuple[int, int, int, int, int]] = Field(description="no, x, y, column, lane")
    lines: list[tuple[int | None, int | None, int | None, list[int]]] = Field(
        description="from, to, branch, points as x, y, x, y …"
    )
