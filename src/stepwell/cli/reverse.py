"""Undo an effect in a terminal: receives a receipt, prints the job that undoes it and its state."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.cli.connect import JsonOption, ReasonOption, answer, ask
from stepwell.cli.ids import ReceiptArgument
from stepwell.cli.people_words import AsOption, person
from stepwell.client import Client
from stepwell.govern.calls import Govern
from stepwell.unit_numbers import short

app = typer.Typer(add_completion=False)


@app.command()
def reverse(
    context: typer.Context,
    receipt: ReceiptArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    wait_seconds: Annotated[float, typer.Option(help="Longest wait for the end of the job.", min=0)] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Undo an effect by its receipt: stepwell reverse 7.3 --reason 'wrong order'.

    A worker with the connector does it as a new action: policy judges it, and it has its own receipt.
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
    shown, job = f"receipt {short(receipt)}", f"job {short(job_id)}"
    words = {
        "completed": f"{shown} is reversed",
        "waiting": f"{shown}: {job} waits for an approval; see 'stepwell approvals list'",
        "ready": f"{shown}: {job} waits for a worker that has the connector",
        "cannot_complete": f"{shown} is not reversed; 'stepwell jobs show {short(job_id)}' gives the reason",
    }
    document = {"receipt_id": receipt, "job_id": job_id, "state": state}
    answer(as_json, document, words.get(state, f"{shown}: {job} is {state}"))
    if state in ("cannot_complete", "cancelled"):
        raise typer.Exit(1)
