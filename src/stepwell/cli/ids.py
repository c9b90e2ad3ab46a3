"""Runs and units as arguments and options of commands: receives texts, returns names and numbers.

`stepwell.unit_numbers` reads and shows the numbers of units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.unit_numbers import read_unit

if TYPE_CHECKING:
    from stepwell.client import Client


@dataclass(frozen=True, slots=True)
class RunName:
    """A run as a person names it: by its number, or by its workflow and the key of its start."""

    target: int | tuple[str, str]

    def __str__(self) -> str:
        return str(self.target) if isinstance(self.target, int) else "/".join(self.target)

    async def number(self, client: Client) -> int:
        return await client.run_id_of(self.target)


def read_run(text: str) -> RunName:
    """The run of `7` or `order.process/A-1`; the key may contain slashes."""
    if text.isascii() and text.isdigit() and len(text) <= 19 and int(text) > 0:
        return RunName(int(text))
    workflow, _, key = text.partition("/")
    if not workflow or not key:
        raise ValueError(
            f"{text!r} is not a run; accepted: its number, or its workflow and key such as order.process/A-1"
        )
    return RunName((workflow, key))


RunArgument = Annotated[
    RunName,
    typer.Argument(help="Number of the run, or its WORKFLOW/KEY.", metavar="RUN", parser=read_run),
]
RunsArgument = Annotated[
    list[RunName],
    typer.Argument(help="Numbers of runs, or their WORKFLOW/KEY.", metavar="RUN", parser=read_run),
]
RunOption = Annotated[
    RunName | None,
    typer.Option(help="Only of this run: its number, or its WORKFLOW/KEY.", metavar="RUN", parser=read_run),
]
JobArgument = Annotated[
    int, typer.Argument(help="Number of the job, such as 12 or 7.3.", metavar="JOB", parser=read_unit)
]
JobsArgument = Annotated[
    list[int], typer.Argument(help="Numbers of jobs, such as 12 or 7.3.", metavar="JOB", parser=read_unit)
]
ApprovalArgument = Annotated[
    int,
    typer.Argument(help="Number of the approval, such as 7.3.", metavar="APPROVAL", parser=read_unit),
]
ReceiptArgument = Annotated[
    int, typer.Argument(help="Number of the receipt, such as 7.3.", metavar="RECEIPT", parser=read_unit)
]
ApprovalOption = Annotated[
    int | None,
    typer.Option(help="The granted approval, such as 7.3, if one is required.", parser=read_unit),
]
