"""Go on after a mistake in a YAML file: receives what was refused, returns values that stand in for it.

What stands in is never published. It keeps the shape of the tree, so that one pass finds every mistake of a
file: those of reading, of single fields, of references and of expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepwell.define.template import Conditional, Human, Map, Operation, Retry, SubWorkflow, Wait, Workflow
from stepwell.define.yaml_located import Located

__all__ = ["StandIns"]

# The field a template names in its refusal, and the argument that fills it where the two differ.
ARGUMENTS: Final[dict[type, dict[str, str]]] = {
    Operation: {"operation": "name"},
    Human: {"human": "id"},
    Wait: {"wait": "event"},
    Conditional: {"if": "test"},
    Map: {"map": "over", "do": "body"},
    Workflow: {"workflow": "name", "steps": "root"},
}
# Arguments a template cannot do without, and those whose absence was refused.
NAMES: Final = {"id", "role"}
REQUIRED_NAMES: Final[dict[type, str]] = {
    Operation: "name",
    Human: "id",
    Wait: "event",
    SubWorkflow: "workflow",
    Workflow: "name",
}
REQUIRED_SOURCES: Final[dict[type, tuple[str, ...]]] = {Conditional: ("test",), Map: ("over", "body")}
STEPS: Final = {"then", "body", "root"}
SOURCES: Final = {"test", "over"}
ITEMS: Final[dict[str, dict[str, str]]] = {
    "tasks": {"role": "unreadable"},
    "escalation": {"after": "1h", "tell": "unreadable"},
}

_FIELD = re.compile(r"(?P<head>[a-z_]+)(?:\[(?P<at>\d+)\]|\.(?P<key>.+))?")


class StandIns:
    """Values for what could not be read, and the names that may have been meant by it."""

    def __init__(self) -> None:
        self.count = 0
        # A reference to one of these is not refused: its step may be the one that could not be read.
        self.names: set[str] = set()

    def name(self) -> str:
        self.count += 1
        self.names.add(f"unreadable-{self.count}")
        return f"unreadable-{self.count}"

    def step(self, located: Located | None = None) -> Operation:
        """In place of a step that says nothing usable."""
        if located is not None:
            self.names |= set(_texts(located))
        return Operation(self.name())

    def complete(self, made: type, fields: dict[str, Any]) -> dict[str, Any]:
        """The arguments with those a template cannot do without; one that is missing here was refused."""
        if made in REQUIRED_NAMES:
            fields.setdefault(REQUIRED_NAMES[made], None)
        for argument in REQUIRED_SOURCES.get(made, ()):
            fields.setdefault(argument, None)
        for argument, value in fields.items():
            if value is None:
                fields[argument] = self._value(made, argument)
        return fields

    def _value(self, made: type, argument: str) -> Any:
        if argument == REQUIRED_NAMES.get(made) or argument in NAMES:
            return self.name()
        return self.step() if argument in STEPS else "$.input"

    def repair(self, made: type, field: str | None, fields: dict[str, Any]) -> bool:
        """Change the arguments of a template so that it can be built without the refused field."""
        found = _FIELD.match((field or "").removeprefix("retry.") if made is Retry else field or "")
        if found is None:
            return False
        argument = ARGUMENTS.get(made, {}).get(found["head"], found["head"])
        given = fields.get(argument)
        if isinstance(given, str):
            self.names.add(given)
        if found["key"] and isinstance(given, dict) and found["key"] in given:
            fields[argument] = {key: value for key, value in given.items() if key != found["key"]}
        elif found["at"] and argument in ITEMS and isinstance(given, list) and int(found["at"]) < len(given):
            stand_in = {**ITEMS[argument], **({"id": self.name()} if argument == "tasks" else {})}
            at = int(found["at"])
            fields[argument] = [*given[:at], stand_in, *given[at + 1 :]]
        elif argument in NAMES | STEPS | SOURCES or argument == REQUIRED_NAMES.get(made):
            fields[argument] = self._value(made, argument)
        elif argument in fields:
            del fields[argument]
        else:
            return False
        return True


def _texts(located: Located) -> Iterator[str]:
    """Every text below a value: one of them may be the id of the step it was to be."""
    match located.value:
        case str() as text:
            yield text
        case list() as items:
            for item in items:
                yield from _texts(item)
        case dict() as pairs:
            for _, item in pairs.values():
                yield from _texts(item)
