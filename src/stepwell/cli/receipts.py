"""Show receipts and settle unconfirmed ones in a terminal: receives numbers, prints receipts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic_core import to_json
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, LimitOption, answer, ask, json_value, print_json
from stepwell.cli.ids import ReceiptArgument, RunOption
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.render import console
from stepwell.govern.calls import NO_RESULT, Govern, Receipt
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, add_completion=False)


def govern(context: typer.Context, what: Callable[[Govern], Awaitable[T]], *, actor: str | None = None) -> T:
    """Perform one call about policies or receipts; as `actor` if one is given."""

    async def perform(client: Client) -> T:
        return await what(Govern(client if actor is None else client.acting_as(actor)))

    return ask(context, perform)


@app.command("list")
def list_receipts(
    context: typer.Context,
    run: RunOption = None,
    state: Annotated[
        str | None, typer.Option(help="intended, confirmed, unconfirmed, void or reversed; default: all.")
    ] = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List receipts, the newest first: stepwell receipts list --run 7."""

    async def read(client: Client) -> list[Receipt]:
        run_id = None if run is None else await run.number(client)
        return await Govern(client).receipts(run_id=run_id, state=state, limit=limit)

    found = ask(context, read)
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no receipts")
    else:
        console().print(_table(found))


@app.command()
def show(context: typer.Context, receipt: ReceiptArgument, as_json: JsonOption = False) -> None:
    """Show the action of a receipt, its result and how to undo it: stepwell receipts show 7.3."""
    found = govern(context, lambda calls: calls.receipt(receipt))
    if as_json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _lines(found):
        if value not in (None, "", {}):
            # Text, because Rich would read brackets in a plain string as markup.
            table.add_row(name, Text(value if isinstance(value, str) else to_json(value).decode()))
    console().print(table)


@app.command()
def settle(
    context: typer.Context,
    receipt: ReceiptArgument,
    outcome: Annotated[str, typer.Argument(help="confirmed: it happened; void: it did not.")],
    reason: Annotated[str, typer.Option(help="How you know; it is stored in the log.")],
    external_id: Annotated[str | None, typer.Option(help="Id of the effect in the other system.")] = None,
    result: Annotated[
        str | None,
        typer.Option(help="The result for the handler, as JSON; null if the handler does not use it."),
    ] = None,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle a receipt whose effect is uncertain: stepwell receipts settle 7.3 void --reason 'not there'."""
    value = NO_RESULT if result is None else json_value(result, "--result")
    state = govern(
        context,
        lambda calls: calls.receipt_settle(receipt, outcome, reason, external_id=external_id, result=value),
        actor=person(context, who),
    )
    answer(as_json, {"receipt_id": receipt, "state": state}, f"receipt {short(receipt)}: {state}")


def _table(rows: list[Receipt]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in (
        "RECEIPT",
        "STATE",
        "RUN",
        "STEP",
        "ACTION",
        "TARGET",
        "EXTERNAL ID",
        "REVERSIBLE",
        "WAITS FOR",
        "AT",
    ):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(
            short(row.receipt_id),
            row.state_code,
            "" if row.run_id is None else str(row.run_id),
            row.step_id or "",
            f"{row.connector}.{row.operation}",
            Text(row.target),
            Text(row.external_id or ""),
            "yes" if row.reversible and row.state_code == "confirmed" else "no",
            row.waits_for or "",
            row.intended_at.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        )
    return table


def _lines(row: Receipt) -> list[tuple[str, Any]]:
    response = row.response_metadata or {}
    cost = None
    if row.cost_micros is not None:
        cost = f"{row.cost_micros / 1_000_000:.6f} {row.currency or ''}".rstrip()
    way_back = None
    if row.reversal is not None:
        way_back = f"{row.connector}.{row.reversal.get('operation')} on {row.reversal.get('target')}"
    return [
        ("receipt", short(row.receipt_id)),
        ("state", row.state_code),
        ("action", f"{row.connector}.{row.operation} on {row.target}"),
        ("fields", row.request_metadata.get("fields")),
        ("key", row.idempotency_key),
        (
            "run, step",
            None if row.run_id is None else f"{row.run_id}, {row.step_id or short(row.step_run_id)}",
        ),
        ("job", short(row.step_run_id) if row.run_id is None else None),
        ("tries", row.try_count),
        ("result", response.get("result")),
        ("note", response.get("note")),
        ("external id", row.external_id),
        ("prior values", row.prior),
        ("undone by", way_back or "cannot be reversed"),
        ("reverses", row.reverses_receipt_id and short(row.reverses_receipt_id)),
        ("reversed by", row.reversed_by_receipt_id and short(row.reversed_by_receipt_id)),
        ("model", f"{row.provider} {row.model}" if row.model else None),
        ("tokens", f"{row.input_tokens} in, {row.output_tokens} out" if row.model else None),
        ("cost", cost),
        ("allowed by", f"rule {row.rule_name} of policy version {row.policy_version}: {row.policy_reason}"),
        ("approval", row.approval_id and short(row.approval_id)),
        ("asked for by", row.requested_by),
        ("done by", row.acting),
        ("intended at", row.intended_at.astimezone().isoformat(sep=" ", timespec="seconds")),
        ("waits for a", row.waits_for),
        ("settled at", row.settled_at and row.settled_at.astimezone().isoformat(sep=" ", timespec="seconds")),
    ]
