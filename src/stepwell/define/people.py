"""Check the fields of a human step: receives tasks, escalation chains and times, returns plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from stepwell.define.duration import parse_duration
from stepwell.define.expression import ExpressionError, read_expression
from stepwell.define.json_schema import require_form
from stepwell.define.limits import MAX_EXPRESSION_LENGTH
from stepwell.define.names import require_id, require_text
from stepwell.define.problem import DefinitionError, quoted

MAX_TASKS: Final = 100
MAX_LEVELS: Final = 20
TASK_WORDS: Final = ("id", "title", "role", "assignee", "operation", "form", "when")
DEADLINE_FROM: Final = ("ready", "start")


def require_tasks(value: object, field: str = "tasks") -> tuple[dict[str, Any], ...]:
    """Tasks with different ids; each is for a role, a person or an operation."""
    found = tuple(_task(item, f"{field}[{at}]") for at, item in enumerate(_items(value, field, MAX_TASKS)))
    ids = [task["id"] for task in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise DefinitionError.one(f"{quoted(twice[0])} is used twice; accepted: different ids", field=field)
    return found


def _task(value: object, field: str) -> dict[str, Any]:
    given = _mapping(value, field, TASK_WORDS)
    found: dict[str, Any] = {"id": require_id(given.get("id"), f"{field}.id")}
    if "title" in given:
        found["title"] = require_text(given["title"], f"{field}.title")
    for word in ("role", "operation"):
        if word in given:
            found[word] = require_id(given[word], f"{field}.{word}")
    if "assignee" in given:
        found["assignee"] = require_text(given["assignee"], f"{field}.assignee", limit=200)
    if not {"role", "assignee", "operation"} & set(found):
        raise DefinitionError.one(
            "nothing can do the task; accepted: role, assignee or operation", field=field
        )
    if "form" in given:
        found["form"] = require_form(given["form"], f"{field}.form")
    if "when" in given:
        found["when"] = require_condition(given["when"], f"{field}.when")
    return found


def require_escalation(value: object, field: str = "escalation") -> tuple[dict[str, Any], ...]:
    """Who is notified after which time: [{"after": "4h", "tell": "lead"}]."""
    found = []
    for at, item in enumerate(_items(value, field, MAX_LEVELS)):
        given = _mapping(item, f"{field}[{at}]", ("after", "tell"))
        found.append(
            {
                "after": parse_duration(given.get("after"), f"{field}[{at}].after"),
                "tell": require_text(given.get("tell"), f"{field}[{at}].tell", limit=200),
            }
        )
    return tuple(found)


def require_condition(value: object, field: str) -> str:
    """An expression over input and steps; a postcondition may also read $.output."""
    text = require_text(value, field, limit=MAX_EXPRESSION_LENGTH)
    try:
        read_expression(text.replace("$.output", "$.input"))
    except ExpressionError as error:
        raise DefinitionError.one(str(error), field=field) from None
    return text


def require_deadline_from(value: object, field: str = "deadline_from") -> str:
    if value not in DEADLINE_FROM:
        raise DefinitionError.one(
            f"{quoted(value)} is not known; accepted: {', '.join(DEADLINE_FROM)}", field=field
        )
    return str(value)


def require_due_at(value: object, field: str = "due_at") -> str:
    """An absolute time with its zone, as RFC 3339."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise DefinitionError.one(
            f"{quoted(str(value))} is not accepted; accepted: a time with its zone, such as "
            "2026-12-24T17:00:00+07:00",
            field=field,
        )
    return moment.isoformat()


def _items(value: object, field: str, limit: int) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) > limit:
        raise DefinitionError.one(f"is not accepted; accepted: a list of at most {limit}", field=field)
    return value


def _mapping(value: object, field: str, words: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or set(value) - set(words):
        raise DefinitionError.one(
            f"is not accepted; accepted: an object with {', '.join(words)}", field=field
        )
    return value


# Further fields of a human step → the function that checks the field.
HUMAN_WORDS: Final[dict[str, Callable[[object, str], Any]]] = {
    "deadline_from": require_deadline_from,
    "due_at": require_due_at,
    "calendar": require_id,
    "postcondition": require_condition,
    "tasks": require_tasks,
    "escalation": require_escalation,
    "content": require_id,
}
