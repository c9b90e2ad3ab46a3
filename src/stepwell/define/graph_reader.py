"""Read a graph from JSON: receives parsed JSON, returns a Graph or names each wrong field.

This module checks only single fields and cycles; `check.py` checks references between steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from stepwell.define.duration import parse_duration
from stepwell.define.graph import (
    FORMAT,
    KINDS,
    Branch,
    Edge,
    Graph,
    GraphStep,
    Group,
    catches_of,
    find_cycle,
    reads_of,
)
from stepwell.define.json_schema import require_form, require_schema
from stepwell.define.limits import (
    MAX_ATTEMPTS,
    MAX_CONCURRENCY,
    MAX_EDGES,
    MAX_EXPRESSION_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PRIORITY,
    MAX_STEPS,
    MIN_PRIORITY,
)
from stepwell.define.names import kind_of, require_id, require_inputs, require_int, require_text
from stepwell.define.people import HUMAN_WORDS, require_tasks
from stepwell.define.problem import DefinitionError, Problem, did_you_mean, quoted
from stepwell.define.template import FAILURE_POLICIES, Retry

__all__ = ["read_graph", "step_numbers"]

Read = Callable[[Any, str], Any]


def read_graph(data: object, *, is_stored: bool = False) -> Graph:
    """The graph of a JSON object. null means that the key is absent; `reads` and `catches` are
    computed again. The database accepted the names and people of a stored graph, so nobody decides again.
    It leaves out steps that are hidden from the caller, so numbers may be missing: they are counted again."""
    found = _current(data)
    whole = _object(_dense(found) if is_stored else found, "graph", ("format", "name"), _GRAPH_KEYS)
    if whole["format"] != FORMAT:
        raise DefinitionError.one(
            f"{quoted(whole['format'])} is not known; accepted: 1 or {FORMAT}", field="format"
        )
    problems: list[Problem] = []
    steps = _list(whole.get("steps"), "steps", MAX_STEPS, partial(_read_step, is_stored=is_stored), problems)
    edges = _list(whole.get("edges", []), "edges", MAX_EDGES, _read_edge, problems)
    branches = _list(whole.get("branches", []), "branches", MAX_STEPS, _read_branch, problems)
    groups = _list(whole.get("groups", []), "groups", MAX_STEPS, _read_group, problems)
    for field, rows in (("steps", steps), ("branches", branches), ("groups", groups)):
        rows.sort(key=lambda row: int(row.no))
        if not problems and [row.no for row in rows] != list(range(1, len(rows) + 1)):
            problems.append(Problem("accepted: the numbers 1, 2, 3 …, each once", field=f"{field}.no"))
    if not steps and not problems:
        problems.append(Problem("has no steps; accepted: at least one", field="steps"))
    policy = whole.get("failure_policy", FAILURE_POLICIES[0])
    if policy not in FAILURE_POLICIES:
        problems.append(
            Problem(
                f"{quoted(policy)} is not known; accepted: {', '.join(FAILURE_POLICIES)}",
                field="failure_policy",
            )
        )
    if problems:
        raise DefinitionError(problems)
    title, accepted = whole.get("title"), whole.get("input")
    _check_edges(steps, edges)
    return Graph(
        name=_as_stored(require_id, is_stored)(whole["name"], "name"),
        steps=tuple(_with_reads(steps)),
        edges=tuple(sorted(edges, key=lambda edge: (edge.from_no, edge.to_no, edge.branch or 0))),
        branches=tuple(branches),
        groups=tuple(groups),
        failure_policy=policy,
        workflow_class=_as_stored(require_id, is_stored)(
            whole.get("workflow_class", "default"), "workflow_class"
        ),
        title=None if title is None else require_text(title, "title"),
        input_schema=None if accepted is None else require_schema(accepted, "input"),
    )


def _current(data: object) -> object:
    """A graph of format 1 converted to format 2; old published versions still have format 1."""
    if not isinstance(data, Mapping) or data.get("format") != 1:
        return data
    return _renamed(data, "nodes", "steps") | {
        "format": FORMAT,
        "steps": [_current_step(step) for step in data.get("nodes") or ()],
        "branches": [_renamed(branch, "decision", "conditional") for branch in data.get("branches") or ()],
    }


def _current_step(step: Any) -> Any:
    is_conditional = isinstance(step, Mapping) and step.get("kind") == "decision"
    return {**step, "kind": "conditional"} if is_conditional else step


def step_numbers(data: Mapping[str, Any]) -> list[int]:
    """The numbers of the steps of a stored graph, in order; `read_graph` counts them from 1."""
    return sorted(step["no"] for step in data.get("steps", data.get("nodes", ())))


def _dense(data: Any) -> Any:
    """A stored graph whose steps and branches are numbered 1, 2, 3 …, also where some are left out."""
    steps = {no: place for place, no in enumerate(step_numbers(data), 1)}
    branches = {no: place for place, no in enumerate(sorted(b["no"] for b in data.get("branches", ())), 1)}
    if all(no == place for numbers in (steps, branches) for no, place in numbers.items()):
        return data

    def counted(row: Mapping[str, Any], names: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
        return {key: names[key].get(value, value) if key in names else value for key, value in row.items()}

    return {
        **data,
        "steps": [counted(row, {"no": steps, "scope": steps, "branch": branches}) for row in data["steps"]],
        "edges": [counted(row, {"from": steps, "to": steps, "branch": branches}) for row in data["edges"]],
        "branches": [
            counted(row, {"no": branches, "conditional": steps, "parent": branches})
            for row in data["branches"]
        ],
    }


def _renamed(row: Any, old: str, new: str) -> Any:
    if not isinstance(row, Mapping):
        return row
    return {new if key == old else key: value for key, value in row.items()}


def _with_reads(steps: list[GraphStep]) -> Iterator[GraphStep]:
    numbers = {step.id: step.no for step in steps}
    for step in steps:
        reads = reads_of({"inputs": step.inputs, "test": step.test, "over": step.over}, numbers)
        # A version of an older release names no steps that it catches: it keeps catching all that it reads.
        catches = None if step.catches is None else catches_of(step.test, reads, numbers)
        yield step if reads is None else replace(step, reads=reads, catches=catches)


def _check_edges(steps: list[GraphStep], edges: list[Edge]) -> None:
    after: dict[int, tuple[int, ...]] = {}
    grouped: dict[int, list[int]] = {}
    for edge in edges:
        for end in (edge.from_no, edge.to_no):
            if not 1 <= end <= len(steps):
                raise DefinitionError.one(f"{end} is not the number of a step", field="edges")
        grouped.setdefault(edge.from_no, []).append(edge.to_no)
    after = {start: tuple(sorted(ends)) for start, ends in sorted(grouped.items())}
    cycle = find_cycle(after)
    if cycle is not None:
        names = [steps[no - 1].id for no in cycle]
        shown = names if len(names) <= 20 else [*names[:10], "…", *names[-10:]]
        raise DefinitionError.one(
            f"the steps wait for each other in a circle: {' → '.join(shown)}", field="edges"
        )


def _number(value: object, field: str) -> int:
    return require_int(value, field, 1, MAX_EDGES)


def _concurrency(value: object, field: str) -> int:
    return require_int(value, field, 1, MAX_CONCURRENCY)


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise DefinitionError.one(f"{quoted(value)} is not accepted; accepted: true or false", field=field)
    return value


def _expression(value: object, field: str) -> str:
    return require_text(value, field, limit=MAX_EXPRESSION_LENGTH)


def _assignee(value: object, field: str) -> str:
    return require_text(value, field, limit=200)


def _test(value: object, field: str) -> str | dict[str, str]:
    if isinstance(value, Mapping):
        step = _object(value, field, ("step",), ("step",))
        return {"step": require_id(step["step"], f"{field}.step")}
    return _expression(value, field)


def _retry(value: object, field: str) -> dict[str, Any]:
    names = (
        "max_attempts",
        "initial_seconds",
        "max_seconds",
        "multiplier",
        "delays_seconds",
        "non_retryable",
    )
    found = _object(value, field, names[:4], names)
    require_int(found["max_attempts"], f"{field}.max_attempts", 1, MAX_ATTEMPTS)
    retry = Retry(
        found["max_attempts"],
        initial=found["initial_seconds"],
        max=found["max_seconds"],
        multiplier=found["multiplier"],
        delays=tuple(found.get("delays_seconds", ())),
        non_retryable=tuple(found.get("non_retryable", ())),
    )
    plain: dict[str, Any] = {
        "max_attempts": retry.max_attempts,
        "initial_seconds": retry.initial,
        "max_seconds": retry.max,
        "multiplier": retry.multiplier,
    }
    if retry.delays:
        plain["delays_seconds"] = list(retry.delays)
    return plain | {"non_retryable": list(retry.non_retryable)} if retry.non_retryable else plain


_GRAPH_KEYS: Final = (
    "format",
    "name",
    "title",
    "failure_policy",
    "workflow_class",
    "input",
    "steps",
    "edges",
    "branches",
    "groups",
)

_COMMON: Final[dict[str, Read]] = {
    "no": _number,
    "id": require_id,
    "kind": lambda value, field: _one_of(value, field, KINDS),
    "scope": lambda value, field: require_int(value, field, 0, MAX_STEPS),
    "branch": _number,
    "group": _number,
    "mandatory": _flag,
    "priority": lambda value, field: require_int(value, field, MIN_PRIORITY, MAX_PRIORITY),
    "title": require_text,
    "milestone": lambda value, field: require_text(value, field, limit=MAX_NAME_LENGTH),
    "reads": lambda value, field: None,
    "deadline": parse_duration,
}
_BY_KIND: Final[dict[str, dict[str, Read]]] = {
    "operation": {
        "operation": require_id,
        "inputs": require_inputs,
        "retry": _retry,
        "timeout_seconds": parse_duration,
        "executor": require_id,
    },
    "human": {
        "inputs": require_inputs,
        "role": require_id,
        "assignee": _assignee,
        "form": require_form,
        **HUMAN_WORDS,
    },
    "wait": {"event": require_id, "timeout_seconds": parse_duration},
    "subworkflow": {"workflow": require_id, "inputs": require_inputs, "timeout_seconds": parse_duration},
    "conditional": {"catches": lambda value, field: (), "test": _test},
    "map": {"over": _expression, "max_concurrency": _concurrency},
}
# What the database writes into the graph of a template of job graphs.
_OF_TEMPLATES: Final[dict[str, Read]] = {
    "join": lambda value, field: _one_of(value, field, ("any",)),
    "delay_seconds": parse_duration,
    "source_ref": require_text,
    "target_ref": require_text,
    "payload_ref": require_text,
}
_REQUIRED: Final = {
    "operation": "operation",
    "wait": "event",
    "subworkflow": "workflow",
    "conditional": "test",
    "map": "over",
}


def _as_stored(read: Read, is_stored: bool) -> Read:
    """The reader of a field of a stored graph: a name is any text, tasks are as they are. A template of job
    graphs declares only the attempts of a retry; the rest is that of the operation."""
    if is_stored and read is require_id:
        return require_text
    if is_stored and read is _retry:
        return lambda value, field: dict(value)
    if is_stored and read is require_tasks:
        return lambda value, field: tuple(value)
    return read


def _read_step(value: object, field: str, *, is_stored: bool) -> GraphStep:
    kind = _one_of(_object(value, field, ("no", "id", "kind"), None)["kind"], f"{field}.kind", KINDS)
    readers = _COMMON | _BY_KIND[kind] | (_OF_TEMPLATES if is_stored else {})
    required = ("no", "id", "kind", *([_REQUIRED[kind]] if kind in _REQUIRED else []))
    given = _object(value, field, required, tuple(readers))
    if kind == "human" and not is_stored and "role" not in given and "assignee" not in given:
        raise DefinitionError.one(
            "no person can do the step; accepted: a role, an assignee or both", field=f"{field}.role"
        )
    return GraphStep(
        **{
            name: _as_stored(readers[name], is_stored)(item, f"{field}.{name}")
            for name, item in given.items()
        }
    )


def _read_edge(value: object, field: str) -> Edge:
    given = _object(value, field, ("from", "to"), ("from", "to", "branch"))
    branch = given.get("branch")
    return Edge(
        _number(given["from"], f"{field}.from"),
        _number(given["to"], f"{field}.to"),
        None if branch is None else _number(branch, f"{field}.branch"),
    )


def _read_branch(value: object, field: str) -> Branch:
    names = ("no", "conditional", "label", "negated", "parent")
    given = _object(value, field, ("no", "conditional", "label"), names)
    parent = given.get("parent")
    return Branch(
        no=_number(given["no"], f"{field}.no"),
        conditional=_number(given["conditional"], f"{field}.conditional"),
        label=_one_of(given["label"], f"{field}.label", ("then", "otherwise")),  # type: ignore[arg-type]
        negated=_flag(given.get("negated", False), f"{field}.negated"),
        parent=None if parent is None else _number(parent, f"{field}.parent"),
    )


def _read_group(value: object, field: str) -> Group:
    given = _object(value, field, ("no", "max_concurrency"), ("no", "max_concurrency"))
    return Group(
        _number(given["no"], f"{field}.no"),
        _concurrency(given["max_concurrency"], f"{field}.max_concurrency"),
    )


def _one_of(value: object, field: str, accepted: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in accepted:
        raise DefinitionError.one(
            f"{quoted(value)} is not known; accepted: {', '.join(accepted)}", field=field
        )
    return value


def _object(
    value: object, field: str, required: tuple[str, ...], known: tuple[str, ...] | None
) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise DefinitionError.one(f"{kind_of(value)} is not accepted; accepted: an object", field=field)
    given = {key: item for key, item in value.items() if item is not None}
    for key in given:
        if known is not None and key not in known:
            hint = did_you_mean(str(key), known)
            raise DefinitionError.one(
                f"{quoted(key)} is not known{hint}; accepted: {', '.join(known)}", field=field
            )
    for key in required:
        if key not in given:
            raise DefinitionError.one("is missing", field=f"{field}.{key}")
    return given


def _list(value: object, field: str, limit: int, read: Read, problems: list[Problem]) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise DefinitionError.one(f"{kind_of(value)} is not accepted; accepted: a list", field=field)
    if len(value) > limit:
        raise DefinitionError.one(f"has {len(value):,} entries; the limit is {limit:,}", field=field)
    found = []
    for position, item in enumerate(value):
        try:
            found.append(read(item, f"{field}[{position}]"))
        except DefinitionError as error:
            problems.extend(error.problems)
    return found
