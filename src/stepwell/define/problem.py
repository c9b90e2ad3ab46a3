"""Say what is wrong with a definition: which step, which field, what would be accepted, and where."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.define.limits import MAX_PROBLEMS
from stepwell.errors import InvalidInput

__all__ = ["DefinitionError", "Problem", "did_you_mean", "nearest", "quoted"]


@dataclass(frozen=True)
class Problem:
    """One mistake. `line` and `column` count from 1 and are set when the definition was read from YAML."""

    message: str
    step_id: str | None = None
    field: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    # The template object the problem was found in: a YAML reader knows the line of each object it built.
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
    """A workflow definition that cannot be used. `problems` holds every mistake found, in order."""

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


def quoted(text: object) -> str:
    """The value in double quotes, cut where it would flood a message."""
    shown = str(text)
    if len(shown) > 80:
        shown = f"{shown[:77]}…"
    return '"' + shown.replace("\n", "\\n") + '"'


def nearest(word: str, accepted: Iterable[str]) -> str | None:
    """The accepted word that a misspelt one is nearest to, if one is near."""
    near = difflib.get_close_matches(word, list(accepted), n=1, cutoff=0.6)
    return near[0] if near else None


def did_you_mean(word: str, accepted: Iterable[str]) -> str:
    """A trailing ` (did you mean "x"?)`, or nothing when no accepted word is near."""
    near = nearest(word, accepted)
    return f" (did you mean {quoted(near)}?)" if near else ""
