"""Write a workflow as a tree of frozen steps; every step checks its own fields.

`freeze` checks what one step cannot know: unique ids, references to other steps, the size of the workflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Self, get_args

from typing_extensions import TypeVar

from stepwell.define.duration import Duration, parse_duration
from stepwell.define.json_schema import require_form, require_schema
from stepwell.define.limits import (
    MAX_CONCURRENCY,
    MAX_EXPRESSION_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PARALLEL_WIDTH,
    MAX_PRIORITY,
    MIN_PRIORITY,
)
from stepwell.define.names import (
    kind_of,
    require_id,
    require_inputs,
    require_int,
    require_text,
)
from stepwell.define.people import HUMAN_WORDS
from stepwell.define.problem import DefinitionError, did_you_mean, quoted
from stepwell.define.retry import Retry

__all__ = [
    "Conditional",
    "FailurePolicy",
    "Human",
    "Map",
    "Operation",
    "Parallel",
    "Retry",
    "Sequential",
    "Step",
    "SubWorkflow",
    "Wait",
    "Workflow",
    "leading_id",
]

R = TypeVar("R", default=Any)
FailurePolicy = Literal["continue-running", "abort-dependents"]
FAILURE_POLICIES: tuple[str, ...] = get_args(FailurePolicy)


class _Step:
    """Base of the classes that become a step of the graph."""

    def __new__(cls, *values: object, **fields: object) -> Self:
        if "optional" in fields:
            raise DefinitionError.one("is not accepted; accepted: mandatory=False", field="optional")
        return super().__new__(cls)


@dataclass(frozen=True)
class Operation(_Step):
    """One call of a registered operation. The default `id` is the name of the operation."""

    name: str
    _: KW_ONLY
    id: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    retry: Retry | None = None
    timeout: Duration | None = None
    deadline: Duration | None = None
    priority: int = 0
    mandatory: bool = True
    executor: str | None = None
    title: str | None = None
    milestone: str | None = None

    def __post_init__(self) -> None:
        require_id(self.name, "operation")
        _set_id(self, self.name)
        if self.retry is not None and not isinstance(self.retry, Retry):
            raise DefinitionError.one(
                f"{kind_of(self.retry)} is not accepted; accepted: Retry(…)", field="retry"
            )
        if self.timeout is not None:
            _set(self, "timeout", parse_duration(self.timeout, "timeout"))
        if self.executor is not None:
            require_id(self.executor, "executor")
        _check_step(self)


@dataclass(frozen=True)
class Human(_Step):
    """Work for a person: people with `role` may claim it, `assignee` gets it, `form` describes the output."""

    id: str
    _: KW_ONLY
    role: str | None = None
    assignee: str | None = None
    deadline: Duration | None = None
    deadline_from: str | None = None
    due_at: str | datetime | None = None
    calendar: str | None = None
    form: Any = None
    postcondition: str | None = None
    tasks: Sequence[Mapping[str, Any]] = ()
    escalation: Sequence[Mapping[str, Any]] = ()
    content: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    mandatory: bool = True
    title: str | None = None
    milestone: str | None = None

    def __post_init__(self) -> None:
        require_id(self.id, "human")
        if self.role is None and self.assignee is None:
            raise DefinitionError.one(
                "no person can do the step; accepted: role=… , assignee=… or both",
                step_id=self.id,
                field="role",
            )
        if self.role is not None:
            require_id(self.role, "role")
        if self.assignee is not None:
            require_text(self.assignee, "assignee", limit=200)
        if self.form is not None:
            _set(self, "form", require_form(self.form))
        for name, require in HUMAN_WORDS.items():
            value = getattr(self, name)
            if value is not None and value != ():
                _set(self, name, require(value, name))
        _check_step(self)


@dataclass(frozen=True)
class Wait(_Step):
    """Wait until an event of this type arrives, at most `timeout`. The default `id` is the event type."""

    event: str
    _: KW_ONLY
    id: str = ""
    timeout: Duration | None = None
    deadline: Duration | None = None
    mandatory: bool = True
    title: str | None = None
    milestone: str | None = None

    def __post_init__(self) -> None:
        require_id(self.event, "wait")
        _set_id(self, self.event)
        if self.timeout is not None:
            _set(self, "timeout", parse_duration(self.timeout, "timeout"))
        _check_step(self)


@dataclass(frozen=True)
class SubWorkflow(_Step):
    """Run another published workflow as one step. The default `id` is its name."""

    workflow: str
    _: KW_ONLY
    inputs: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    timeout: Duration | None = None
    deadline: Duration | None = None
    priority: int = 0
    mandatory: bool = True
    title: str | None = None
    milestone: str | None = None

    def __post_init__(self) -> None:
        require_id(self.workflow, "workflow")
        _set_id(self, self.workflow)
        if self.timeout is not None:
            _set(self, "timeout", parse_duration(self.timeout, "timeout"))
        _check_step(self)


@dataclass(frozen=True, init=False)
class Sequential:
    """Steps that run one after the other."""

    steps: tuple[Step, ...]

    def __init__(self, *steps: Step) -> None:
        _set(self, "steps", _require_steps(steps, "Sequential"))


@dataclass(frozen=True, init=False)
class Parallel:
    """Steps that do not wait for each other; at most `max_concurrency` of them run at the same time."""

    steps: tuple[Step, ...]
    max_concurrency: int | None = None

    def __init__(self, *steps: Step, max_concurrency: int | None = None) -> None:
        _set(self, "steps", _require_steps(steps, "Parallel"))
        if len(steps) > MAX_PARALLEL_WIDTH:
            raise DefinitionError.one(
                f"has {len(steps):,} steps; the limit is {MAX_PARALLEL_WIDTH:,}", field="parallel"
            )
        if max_concurrency is not None:
            require_int(max_concurrency, "max_concurrency", 1, MAX_CONCURRENCY)
        _set(self, "max_concurrency", max_concurrency)


@dataclass(frozen=True)
class Conditional:
    """Take `then` or `otherwise`. Test: a SQL/JSON path, a step id ("that step completed") or a function."""

    test: str | Callable[..., Any] | Operation
    then: Step | None = None
    otherwise: Step | None = None
    _: KW_ONLY
    id: str = ""

    def __post_init__(self) -> None:
        _require_source(self.test, "if")
        first = self.then if self.then is not None else self.otherwise
        if first is None:
            raise DefinitionError.one(
                "has neither then nor otherwise; accepted: at least one of them", field="then"
            )
        for name, branch in (("then", self.then), ("otherwise", self.otherwise)):
            if branch is not None:
                _require_step(branch, name)
        _set_id(self, f"if.{leading_id(first)}", derived=True)


@dataclass(frozen=True)
class Map(_Step):
    """Run `body` for each item of the list `over`; at most `max_concurrency` steps run at the same time."""

    over: str | Callable[..., Any] | Operation
    body: Step
    _: KW_ONLY
    max_concurrency: int | None = None
    id: str = ""
    deadline: Duration | None = None
    mandatory: bool = True
    title: str | None = None
    milestone: str | None = None

    def __post_init__(self) -> None:
        _require_source(self.over, "map")
        _require_step(self.body, "do")
        if self.max_concurrency is not None:
            require_int(self.max_concurrency, "max_concurrency", 1, MAX_CONCURRENCY)
        _set_id(self, f"map.{leading_id(self.body)}", derived=True)
        _check_step(self)


Step = Operation | Sequential | Parallel | Conditional | Map | Human | Wait | SubWorkflow


@dataclass(frozen=True)
class Workflow(Generic[R]):
    """A named tree of steps. `failure_policy`: what happens to running steps after a failure.

    `workflow_class` names the thresholds of `dot_config` that count for its runs, such as
    `block_severity.threshold_seconds.<class>`.
    `input` is the type of the input of a run: a Pydantic model, a dataclass, a TypedDict or a JSON Schema.
    `output` is the type of the result for Python callers; it is not published.
    """

    name: str
    root: Step
    _: KW_ONLY
    failure_policy: FailurePolicy = "continue-running"
    workflow_class: str = "default"
    title: str | None = None
    input: type[Any] | Mapping[str, Any] | None = None
    output: type[R] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        require_id(self.name, "workflow")
        _require_step(self.root, "steps")
        if self.failure_policy not in FAILURE_POLICIES:
            hint = did_you_mean(str(self.failure_policy), FAILURE_POLICIES)
            raise DefinitionError.one(
                f"{quoted(self.failure_policy)} is not known{hint}; accepted: {', '.join(FAILURE_POLICIES)}",
                field="failure_policy",
            )
        require_id(self.workflow_class, "workflow_class")
        if self.title is not None:
            require_text(self.title, "title")
        if self.input is not None:
            _set(self, "input", require_schema(self.input, "input"))

    @property
    def input_schema(self) -> Mapping[str, Any] | None:
        """`input` as a JSON Schema."""
        return self.input if isinstance(self.input, Mapping) else None


def leading_id(step: Step) -> str:
    """The id of the first step inside. Default ids of conditionals and maps use it, so that other edits do
    not change them."""
    while isinstance(step, Sequential | Parallel):
        step = step.steps[0]
    return step.id


def _set(step: object, name: str, value: object) -> None:
    object.__setattr__(step, name, value)


def _set_id(
    step: Operation | Wait | SubWorkflow | Conditional | Map, default: str, *, derived: bool = False
) -> None:
    if step.id == "":
        _set(step, "id", default)
    try:
        require_id(step.id, "id")
    except DefinitionError:
        if derived and step.id == default:
            message = f"the derived id {quoted(default)} is too long; give id="
            raise DefinitionError.one(message, field="id") from None
        raise


def _check_step(step: Operation | Human | Wait | SubWorkflow | Map) -> None:
    inputs = getattr(step, "inputs", None)
    if inputs is not None:
        _set(step, "inputs", require_inputs(inputs))
    if step.deadline is not None:
        _set(step, "deadline", parse_duration(step.deadline, "deadline"))
    require_int(getattr(step, "priority", 0), "priority", MIN_PRIORITY, MAX_PRIORITY)
    if not isinstance(step.mandatory, bool):
        raise DefinitionError.one(
            f"{quoted(step.mandatory)} is not accepted; accepted: true or false", field="mandatory"
        )
    if step.title is not None:
        require_text(step.title, "title")
    if step.milestone is not None:
        require_text(step.milestone, "milestone", limit=MAX_NAME_LENGTH)


def _require_step(value: object, name: str) -> None:
    if isinstance(value, Step):
        return
    hint = f"; write Operation({quoted(value)})" if isinstance(value, str) else ""
    raise DefinitionError.one(
        f"{kind_of(value)} is not a step{hint}; accepted: Operation, Sequential, Parallel, "
        "Conditional, Map, Human, Wait, SubWorkflow",
        field=name,
    )


def _require_steps(steps: tuple[Any, ...], name: str) -> tuple[Step, ...]:
    if not steps:
        raise DefinitionError.one(
            f"a {name} without steps is not accepted; accepted: at least one step", field=name.lower()
        )
    for position, step in enumerate(steps):
        _require_step(step, f"{name.lower()}[{position}]")
    return steps


def _require_source(value: object, name: str) -> None:
    if isinstance(value, Operation):
        return
    if isinstance(value, str):
        require_text(value, name, limit=MAX_EXPRESSION_LENGTH)
        return
    if not callable(value):
        raise DefinitionError.one(
            f"{kind_of(value)} is not accepted; accepted: a SQL/JSON path, a step id, a function "
            "or an Operation",
            field=name,
        )
    # Workers find the function by its name, and a lambda has no name.
    if not callable_name(value):
        raise DefinitionError.one(
            "has no name, so no worker can find it; accepted: a function made with def",
            field=name,
        )


def callable_name(function: object) -> str:
    """The operation name of a function: module and qualified name. Empty for a lambda or an object."""
    qualified = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", None) or ""
    if (
        not isinstance(qualified, str)
        or not qualified
        or "<lambda>" in qualified
        or isinstance(function, type)
    ):
        return ""
    return f"{module}.{qualified}".replace(".<locals>.", ".").replace("<", "").replace(">", "")
