"""The numbers of units as arguments and options of commands; `stepwell.unit_numbers` reads and shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.unit_numbers import read_unit

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
