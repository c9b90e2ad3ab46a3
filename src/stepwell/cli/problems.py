"""Show what is wrong with a file: receives a DefinitionError, prints a line for each problem."""

from __future__ import annotations

from typing import NoReturn

import typer

from stepwell.define.limits import MAX_PROBLEMS
from stepwell.define.problem import DefinitionError
from stepwell.errors import UsageError


def refuse(error: DefinitionError, outcome: str = "") -> NoReturn:
    """Every problem with file, line and column, so that editors jump to it; then what did not happen."""
    for problem in error.problems:
        typer.echo(str(problem), err=True)
    count = len(error.problems)
    found = "1 problem found" if count == 1 else f"{count} problems found"
    more = ", and there may be more" if count >= MAX_PROBLEMS else ""
    raise UsageError(f"{outcome}: {found}{more}" if outcome else f"{found}{more}") from None
