"""Turn YAML text into values with line and column: scalars, lists and mappings.

It reads the event stream of the YAML parser and checks nesting, duplicate keys, tags and aliases while
reading. So a malicious file is refused before it uses much memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from stepwell.define.limits import MAX_YAML_BYTES, MAX_YAML_DEPTH
from stepwell.define.names import kind_of
from stepwell.define.problem import DefinitionError, Problem, quoted

__all__ = ["Located", "Mark", "Unreadable", "compose", "compose_all", "is_plain_text"]


class Unreadable:
    """Replaces a value that was refused while reading; its problem is already recorded."""


Scalar = str | int | float | bool | None | Unreadable

_INT = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_WORDS: Final[Mapping[str, Scalar]] = {
    word: value
    for value, words in ((None, ("", "~", "null", "Null", "NULL")), (True, ("true", "True", "TRUE")))
    for word in words
} | {"false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; both numbers count from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Located:
    """A YAML value with its place. A mapping is a dict of key → (place of the key, value)."""

    mark: Mark
    value: Scalar | list[Located] | dict[str, tuple[Mark, Located]]

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {key: item.plain() for key, (_, item) in self.value.items()}
        return self.value

    def kind(self) -> str:
        return "an alias" if isinstance(self.value, Unreadable) else kind_of(self.value)


def problem_at(mark: Mark, message: str, *, step_id: str | None = None, field: str | None = None) -> Problem:
    return Problem(message, step_id, field, mark.file, mark.line, mark.column)


def is_plain_text(value: str) -> bool:
    """True if an unquoted scalar is read as this text."""
    return isinstance(_resolve(value), str)


def compose(text: str | bytes, file: str) -> Located:
    """The document of a YAML text. Refuses several documents, anchors, aliases, tags and duplicate keys."""
    document, problems = compose_all(text, file)
    if problems or document is None:
        raise DefinitionError(problems)
    return document


def compose_all(text: str | bytes, file: str) -> tuple[Located | None, list[Problem]]:
    """The document as far as it can be read, and every problem found."""
    start = Mark(file, 1, 1)
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > MAX_YAML_BYTES:
        return None, [problem_at(start, f"the file has {size:,} bytes; the limit is {MAX_YAML_BYTES:,}")]
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"the file is not UTF-8: byte {error.start + 1} is not part of a character"
            return None, [problem_at(start, message)]
    composing = _Composing(file)
    document: Located | None = None
    try:
        document = composing.document(YAML(typ="safe", pure=True).parse(text.removeprefix("\ufeff")))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = start if mark is None else Mark(file, mark.line + 1, mark.column + 1)
        context = f" ({error.context})" if error.context else ""
        composing.refuse(place, f"not YAML: {error.problem or 'unreadable'}{context}")
    except YAMLError as error:
        position = getattr(error, "position", None)
        place = start if not isinstance(position, int) else _place_of(text, position, file)
        composing.refuse(place, f"not YAML: {getattr(error, 'reason', None) or error}")
    except _TooDeep as error:
        composing.refuse(error.mark, f"nested more than {MAX_YAML_DEPTH} levels deep")
    return document, composing.problems


def _place_of(text: str, position: int, file: str) -> Mark:
    before = text[:position]
    return Mark(file, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


class _TooDeep(Exception):
    """The nesting is too deep; reading stops here to limit memory."""

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark


class _Composing:
    """Reads the events of one text; a refused value is left out and reading continues."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def refuse(self, mark: Mark, message: str) -> None:
        self.problems.append(problem_at(mark, message))

    def mark(self, event: Any) -> Mark:
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def document(self, events: Iterator[Any]) -> Located | None:
        root: Located | None = None
        for event in events:
            match type(event).__name__:
                case "StreamStartEvent" | "DocumentEndEvent" | "StreamEndEvent":
                    continue
                case "DocumentStartEvent":
                    if root is not None:
                        message = "a second document begins here; accepted: one workflow in a file"
                        self.refuse(self.mark(event), message)
                        return root
                case _:
                    root = self.value(event, events, 1)
        if root is None:
            self.refuse(
                Mark(self.file, 1, 1),
                "the file is empty; accepted: a mapping that begins with workflow: <name>",
            )
        return root

    def value(self, event: Any, events: Iterator[Any], depth: int) -> Located:
        mark = self.mark(event)
        kind = type(event).__name__
        if depth > MAX_YAML_DEPTH:
            raise _TooDeep(mark)
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            self.refuse(mark, "anchors and aliases are not accepted; write the value in full")
            if kind == "AliasEvent":
                return Located(mark, Unreadable())
        if getattr(event, "tag", None) not in (None, "!"):
            self.refuse(mark, f"the tag {quoted(event.tag)} is not accepted; accepted: plain values")
        if kind == "ScalarEvent":
            return Located(mark, _resolve(event.value) if event.style is None else event.value)
        if kind == "SequenceStartEvent":
            items: list[Located] = []
            while type(inner := next(events)).__name__ != "SequenceEndEvent":
                items.append(self.value(inner, events, depth + 1))
            return Located(mark, items)
        return Located(mark, self.pairs(events, depth))

    def pairs(self, events: Iterator[Any], depth: int) -> dict[str, tuple[Mark, Located]]:
        found: dict[str, tuple[Mark, Located]] = {}
        while type(inner := next(events)).__name__ != "MappingEndEvent":
            key = self.value(inner, events, depth + 1)
            value = self.value(next(events), events, depth + 1)
            if not isinstance(key.value, str):
                self.refuse(key.mark, f"{key.kind()} is not accepted as a key; accepted: a text")
            elif key.value in found:
                first = found[key.value][0]
                self.refuse(key.mark, f"the key {quoted(key.value)} was already given in line {first.line}")
            else:
                found[key.value] = (key.mark, value)
        return found


def _resolve(text: str) -> Scalar:
    """The value of an unquoted scalar by the core schema of YAML 1.2: `yes`, `on` and `1:30` are texts."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
