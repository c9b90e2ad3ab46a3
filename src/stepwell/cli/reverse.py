"""Undo an effect in a terminal: receives a receipt, prints the job that undoes it and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.cli.connect import JsonOption, ReasonOption, answer, ask
from stepwell.cli.ids import ReceiptArgument
from stepwell.cli.people_words import AsOption, person
from stepwell.govern.calls import Govern
from stepwell.store.calls import views
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(add_completion=False)

ENDS = ("completed", "cannot_complete", "cancelled", "waiting")
# After this time the command tells what the job waits for.
SILENT_SECONDS = 1.0


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

    A worker with the connector does it as a new action: policy judges it, and it has its own receipt. The job
    stays in the queue after this command ends.
    """
    name = person(context, who)

    async def perform(client: Client) -> tuple[int, str, str | None]:
        job = await Govern(client.acting_as(name)).reverse(receipt, reason=reason)
        at_once = min(wait_seconds, SILENT_SECONDS)
        state, why = await _outcome(client, job.id, at_once)
        if why is not None and wait_seconds > at_once:
            typer.echo(f"receipt {short(receipt)} is not reversed yet: {why} Ctrl-C stops waiting.", err=True)
            state, why = await _outcome(client, job.id, wait_seconds - at_once)
        return job.id, state, why

    job_id, state, why = ask(context, perform)
    shown, job = f"receipt {short(receipt)}", f"job {short(job_id)}"
    words = {
        "completed": f"{shown} is reversed",
        "waiting": f"{shown}: {job} waits for an approval; see 'stepwell approvals list'",
        "cannot_complete": f"{shown} is not reversed; 'stepwell jobs show {short(job_id)}' gives the reason",
        "cancelled": f"{shown} is not reversed: {job} was cancelled",
    }
    document = {"receipt_id": receipt, "job_id": job_id, "state": state, "why": why}
    answer(
        as_json, document, words.get(state, f"{shown} will be reversed by {job}, which has not ended: {why}")
    )
    if state in ("cannot_complete", "cancelled"):
        raise typer.Exit(1)


async def _outcome(client: Client, job_id: int, limit_seconds: float) -> tuple[str, str | None]:
    """The state of the job, and at the limit the reason why it has not ended."""
    try:
        return (await client.until(lambda: client.job_outcome(job_id), ENDS, limit_seconds))[0], None
    except TimeoutError:
        why = await client.perform(views.why(client.tenant_id, job_id))
        return (await client.job_outcome(job_id))[0], why.sentence_en
