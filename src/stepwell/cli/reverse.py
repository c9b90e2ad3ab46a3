"""Undo an effect from a terminal: receives a receipt, returns the job that undoes it, or its result."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.cli.connect import ReasonOption, ask
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.receipts import ReceiptArgument
from stepwell.client import Client
from stepwell.govern.calls import Govern

app = typer.Typer(add_completion=False)


@app.command()
def reverse(
    context: typer.Context,
    receipt: ReceiptArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    wait_seconds: Annotated[float, typer.Option(help="So long the end is waited for.", min=0)] = 30.0,
) -> None:
    """Undo an effect by its receipt: stepwell reverse 7340032 --reason 'wrong order'.

    A worker that has the connector carries it out, as an action of its own: judged by policy, with a receipt.
    """
    name = person(who)

    async def perform(client: Client) -> tuple[int, str]:
        job = await Govern(client.acting_as(name)).reverse(receipt, reason=reason)
        ends = ("completed", "cannot_complete", "cancelled", "waiting")
        try:
            state, _ = await client.until(lambda: client.job_outcome(job.id), ends, wait_seconds)
        except TimeoutError:
            state = await job.state()
        return job.id, state

    job_id, state = ask(context, perform)
    words = {
        "completed": f"receipt {receipt} is reversed",
        "waiting": f"receipt {receipt}: job {job_id} waits for a decision; see 'stepwell approvals list'",
        "ready": f"receipt {receipt}: job {job_id} waits for a worker that has the connector",
        "cannot_complete": f"receipt {receipt} is not reversed; 'stepwell jobs show {job_id}' says why",
    }
    typer.echo(words.get(state, f"receipt {receipt}: job {job_id} is {state}"))
    if state in ("cannot_complete", "cancelled"):
        raise typer.Exit(1)
