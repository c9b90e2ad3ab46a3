"""The problems of a definition: step, field, what is accepted, and the place in the file."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.define.limits import MAX_PROBLEMS
from stepwell.errors import InvalidInput

__all__ = ["DefinitionError", "Problem", "code_place", "did_you_mean", "nearest", "quoted"]


@dataclass(frozen=True)
class Problem:
    """One problem. `line` and `column` count from 1; they are set if the definition was read from YAML."""

    message: str
    step_id: str | None = None
    field: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    # The template object with the problem; the YAML reader knows the line of each object.
    source: object = dataclasses.field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        where = ""
        if self.line is not None:
            where = f"{self.file or '<yaml>'}:{self.line}:{self.column}: "
        if self.step_id is not None:
            where += f"step {quoted(self.step_id)}: "
        if self.field is not None:
            where += f"{self.field}: "
        return where + self.message

    def to_json(self) -> dict[str, Any]:
        named = {
            "message": self.message,
            "step": self.step_id,
            "field": self.field,
            "file": self.file,
            "line": self.line,
            "column": self.column,
        }
        return {key: value for key, value in named.items() if value is not None}


class DefinitionError(InvalidInput):
    """A workflow definition that cannot be used. `problems` has every problem found, in order."""

    code = "invalid_definition"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        left_off = len(self.problems) - len(lines)
        if left_off > 0:
            lines.append(f"… and {left_off} more")
        super().__init__("\n".join(lines), field=self.problems[0].field if self.problems else None)

    @classmethod
    def one(
        cls, message: str, *, step_id: str | None = None, field: str | None = None, source: object = None
    ) -> DefinitionError:
        return cls([Problem(message, step_id=step_id, field=field, source=source)])


def code_place(filename: str | None, line: int | None) -> str:
    """A line of Python code as `file.py:12`; the file relative to the current folder if it is in it."""
    path = Path(filename or "<unknown>")
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}:{line}"


def quoted(text: object) -> str:
    """The value in double quotes, cut after 77 characters."""
    shown = str(text)
    if len(shown) > 80:
        shown = f"{shown[:77]}…"
    return '"' + shown.replace("\n", "\\n") + '"'


def nearest(word: str, accepted: Iterable[str]) -> str | None:
    """The accepted word that is most similar to the given word, if one is similar enough."""
    near = difflib.get_close_matches(word, list(accepted), n=1, cutoff=0.6)
    return near[0] if near else None


def did_you_mean(word: str, accepted: Iterable[str]) -> str:
    """The text ` (did you mean "x"?)`, or an empty text if no accepted word is similar."""
    near = nearest(word, accepted)
    return f" (did you mean {quoted(near)}?)" if near else ""
