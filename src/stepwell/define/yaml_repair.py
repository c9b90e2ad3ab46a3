"""Continue after a problem in a YAML file: receives what was refused, returns stand-in values for it.

A stand-in is never published. It keeps the structure of the tree, so that one pass finds every problem of a
file: of syntax, single fields, references and expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepwell.define.template import Conditional, Human, Map, Operation, Retry, SubWorkflow, Wait, Workflow
from stepwell.define.yaml_located import Located

__all__ = ["StandIns"]

# Class → field in its error message → name of the argument, if the two differ.
ARGUMENTS: Final[dict[type, dict[str, str]]] = {
    Operation: {"operation": "name"},
    Human: {"human": "id"},
    Wait: {"wait": "event"},
    Conditional: {"if": "test"},
    Map: {"map": "over", "do": "body"},
    Workflow: {"workflow": "name", "steps": "root"},
}
# Arguments that get a stand-in name if they were refused; below, the required arguments of each class.
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
    """Stand-in values for parts that could not be read, and the possible ids of these parts."""

    def __init__(self) -> None:
        self.count = 0
        # A reference to one of these names is not refused: it may be the id of a step that could not be read.
        self.names: set[str] = set()

    def name(self) -> str:
        self.count += 1
        self.names.add(f"unreadable-{self.count}")
        return f"unreadable-{self.count}"

    def step(self, located: Located | None = None) -> Operation:
        """A stand-in for a step that cannot be read."""
        if located is not None:
            self.names |= set(_texts(located))
        return Operation(self.name())

    def complete(self, made: type, fields: dict[str, Any]) -> dict[str, Any]:
        """The arguments, with stand-ins for required ones that are missing because they were refused."""
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
        """Change the arguments so that the template can be built without the refused field; else false."""
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
    """Every text in a value: one of them may be the id of the step."""
    match located.value:
        case str() as text:
            yield text
        case list() as items:
            for item in items:
                yield from _texts(item)
        case dict() as pairs:
            for _, item in pairs.values():
                yield from _texts(item)
