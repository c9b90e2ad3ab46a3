"""Write a workflow as YAML, which reads as an equal workflow; `update_yaml` keeps the comments of a text."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from stepwell.define.duration import format_duration, parse_duration
from stepwell.define.template import (
    Conditional,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Step,
    Workflow,
    callable_name,
    leading_id,
)
from stepwell.define.yaml import read_yaml
from stepwell.define.yaml_words import RETRY_WORDS, STEP_WORDS, head_of

__all__ = ["update_yaml", "write_yaml"]

_DURATIONS: Final = ("timeout", "deadline", "initial", "max")
_DEFAULT_RETRY: Final = Retry()
# Default values of fields; None for all others.
_DEFAULTS: Final[dict[str, Any]] = {
    "inputs": {},
    "priority": 0,
    "mandatory": True,
    "tasks": (),
    "escalation": (),
}
_PLAIN: Final = re.compile(r"[\x20-\x7e\xa1-\u1fff\u3001-\ud7ff]*")


def write_yaml(workflow: Workflow) -> str:
    """The YAML text of a workflow. A function as a test or source is written as its operation."""
    return _dump(_workflow_data(workflow))


def update_yaml(text: str, workflow: Workflow) -> str:
    """`text` changed to describe `workflow`. Unchanged parts keep their comments and their order."""
    if read_yaml(text) == workflow:
        return text
    old = _yaml().load(text)
    return _dump(_merge(old, _workflow_data(workflow)))


def _yaml() -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 100
    yaml.preserve_quotes = True
    yaml.default_flow_style = False
    return yaml


def _dump(data: Any) -> str:
    out = io.StringIO()
    _yaml().dump(data, out)
    return out.getvalue()


def _workflow_data(workflow: Workflow) -> dict[str, Any]:
    found: dict[str, Any] = {"workflow": workflow.name}
    if workflow.title is not None:
        found["title"] = workflow.title
    if workflow.failure_policy != "continue-running":
        found["failure_policy"] = workflow.failure_policy
    if workflow.workflow_class != "default":
        found["workflow_class"] = workflow.workflow_class
    if workflow.input_schema is not None:
        found["input"] = dict(workflow.input_schema)
    quoted: dict[str, Any] = _quote_odd_texts(found | {"steps": _block(workflow.root)})
    return quoted


def _quote_odd_texts(value: Any) -> Any:
    """Texts with control characters or unusual line ends in double quotes; other styles would change them."""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else DoubleQuotedScalarString(value)
    if isinstance(value, list):
        return [_quote_odd_texts(item) for item in value]
    if isinstance(value, dict):
        return {_quote_odd_texts(key): _quote_odd_texts(item) for key, item in value.items()}
    return value


def _block(step: Step) -> Any:
    return [_step(inner) for inner in step.steps] if isinstance(step, Sequential) else _step(step)


def _step(step: Step) -> Any:
    head = head_of(step)
    found: dict[str, Any] = {}
    for key, name in STEP_WORDS[head][1].items():
        value = getattr(step, name)
        if key == head:
            found[key] = _head_value(step, value)
        elif name == "id":
            if value != _default_id(step):
                found[key] = value
        elif value != _DEFAULTS.get(name):
            found[key] = _value(name, value)
    return found[head] if head == "operation" and len(found) == 1 else found


def _head_value(step: Step, value: Any) -> Any:
    if isinstance(step, Sequential | Parallel):
        return [_step(inner) for inner in step.steps]
    if isinstance(value, Operation):
        plain = _step(value)
        return {"operation": plain} if isinstance(plain, str) else plain
    if callable(value):
        kind = "test" if head_of(step) == "if" else "over"
        return {"operation": callable_name(value), "id": f"{getattr(step, 'id', '')}.{kind}"}
    return value


def _default_id(step: Step) -> str:
    """The default id of a step."""
    match step:
        case Conditional():
            first = step.then if step.then is not None else step.otherwise
            return f"if.{leading_id(first)}" if first is not None else ""
        case Map():
            return f"map.{leading_id(step.body)}"
        case _:
            head = head_of(step)
            return str(getattr(step, STEP_WORDS[head][1][head]))


def _value(name: str, value: Any) -> Any:
    if name in ("then", "otherwise", "body"):
        return _block(value)
    if isinstance(value, Retry):
        given = {word: getattr(value, word) for word in RETRY_WORDS}
        kept = {k: v for k, v in given.items() if k == "max_attempts" or v != getattr(_DEFAULT_RETRY, k)}
        return {k: _value(k, v) for k, v in kept.items()}
    if name in _DURATIONS and isinstance(value, int | float | str | timedelta):
        return format_duration(parse_duration(value, name, zero=True))
    if name == "delays":
        return [format_duration(delay) for delay in value]
    if isinstance(value, tuple):
        return list(value)
    if name == "inputs":
        return {parameter: _input(text) for parameter, text in value.items()}
    return dict(value) if isinstance(value, Mapping) else value


def _input(text: str) -> Any:
    """A literal as a number, true, false or null, so that 5 is not written as the text '5'."""
    try:
        literal = json.loads(text)
    except ValueError:
        return text
    return literal if isinstance(literal, int | float | None) and json.dumps(literal) == text else text


def _merge(old: Any, new: Any) -> Any:
    """Change `old` in place into `new` if both have the same structure, so that comments stay; else `new`."""
    if isinstance(old, CommentedMap) and isinstance(new, dict):
        for key in [key for key in old if key not in new]:
            del old[key]
        for position, (key, value) in enumerate(new.items()):
            if key in old:
                old[key] = _merge(old[key], value)
            else:
                old.insert(min(position, len(old)), key, value)
        return old
    if isinstance(old, CommentedSeq) and isinstance(new, list):
        return _merge_list(old, new)
    # In Python 5 == 5.0 and True == 1, but they are written differently.
    return old if (type(old) is type(new) and old == new) or (isinstance(old, str) and old == new) else new


def _merge_list(old: CommentedSeq, new: list[Any]) -> CommentedSeq:
    """Keep the items that both lists have, matched by name, together with their comments."""
    for position, item in enumerate(new):
        wanted = _name(item)
        found = next((at for at in range(position, len(old)) if _name(old[at]) == wanted), None)
        if found is None:
            old.insert(position, item)
            continue
        for _ in range(position, found):
            del old[position]
        old[position] = _merge(old[position], item)
    while len(old) > len(new):
        del old[len(old) - 1]
    return old


def _name(item: Any) -> object:
    """The name of a step in its list: its id, or its kind and first value."""
    if not isinstance(item, Mapping):
        return str(item)
    if "id" in item:
        return ("id", str(item["id"]))
    head = next((key for key in STEP_WORDS if key in item), None)
    value = item.get(head)
    if head in ("sequential", "parallel", "if", "map"):
        return (head, None)
    return str(value) if head == "operation" else (head, str(value))
