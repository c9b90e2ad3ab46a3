"""Show the problems of a file: receives a DefinitionError, prints one line for each problem."""

from __future__ import annotations

from typing import NoReturn

import typer

from stepwell.define.limits import MAX_PROBLEMS
from stepwell.define.problem import DefinitionError
from stepwell.errors import UsageError


def refuse(error: DefinitionError, outcome: str = "") -> NoReturn:
    """Print every problem with file, line and column, which editors can open; then raise `outcome`."""
    for problem in error.problems:
        typer.echo(str(problem), err=True)
    count = len(error.problems)
    found = "1 problem found" if count == 1 else f"{count} problems found"
    more = ", and there may be more" if count >= MAX_PROBLEMS else ""
    raise UsageError(f"{outcome}: {found}{more}" if outcome else f"{found}{more}") from None
