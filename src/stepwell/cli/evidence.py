"""Export and verify evidence in a terminal: receives a run or a file, returns a bundle or its problems."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

import typer
from rich.text import Text

from stepwell import storage
from stepwell.cli.connect import JsonOption, ask, print_json
from stepwell.cli.render import console, moment
from stepwell.client import Client
from stepwell.govern import verify
from stepwell.govern.anchor import open_anchor
from stepwell.govern.evidence import Exported
from stepwell.govern.evidence import export as export_run
from stepwell.govern.verify import Problem
from stepwell.store.calls import evidence

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def export(
    context: typer.Context,
    run: Annotated[int, typer.Argument(help="Number of the run.", metavar="RUN", min=1)],
    to: Annotated[
        str | None,
        typer.Option(
            help="Folder, path ending in .zip, or object store (s3://bucket/folder); default: this folder."
        ),
    ] = None,
    payloads: Annotated[
        bool, typer.Option("--payloads", help="Include the values, not only their names, sizes and hashes.")
    ] = False,
    wait_seconds: Annotated[
        float, typer.Option(help="Longest wait for older transactions to end.", min=0, max=600)
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Export an ended run: seal its events, log the hashes of the contents, write one file.

    The same run gives the same bytes. Example: stepwell evidence export 12 --to evidence/
    """

    async def act(client: Client) -> Exported:
        return await export_run(client, run, to, with_payloads=payloads, limit_seconds=wait_seconds)

    made = ask(context, act)
    if as_json:
        print_json(made)
        return
    typer.echo(f"{storage.without_secrets(made.url)}  {made.size_bytes:,} bytes")
    typer.echo(f"  sha256 {made.sha256}")
    typer.echo(f"  head   {made.head_hash} (block {made.head_block_no}, {made.event_count} events)")


@app.command("list")
def list_bundles(
    context: typer.Context,
    run: Annotated[int, typer.Argument(help="Number of the run.", metavar="RUN", min=1)],
    as_json: JsonOption = False,
) -> None:
    """List the bundles of a run: when and by whom each was exported, its sha256, where it was stored last.

    Example: stepwell evidence list 12
    """
    found = ask(context, lambda client: client.perform(evidence.recorded_bundles(client.tenant_id, run)))
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo(f"run {run} was not exported yet")
        return
    for bundle in found:
        values = "with values" if bundle.with_payloads else "metadata only"
        size = "not stored" if bundle.size_bytes is None else f"{bundle.size_bytes:,} bytes"
        typer.echo(f"{moment(bundle.requested_at)}  {bundle.requested_by}  {values}  {size}")
        if bundle.bundle_sha256 is not None:
            typer.echo(f"  sha256 {bundle.bundle_sha256}")
            typer.echo(f"  stored {bundle.stored_url}")


@app.command("verify")
def verify_file(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="The bundle: a path or an address.", metavar="FILE")],
    head: Annotated[
        str | None, typer.Option(help="Hash of a trusted block that the bundle must contain.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(help="Anchored block headers to compare with: a .jsonl file or a folder.")
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Compare with the sha256 in the database too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Verify a bundle offline, as the verify.py inside it does; exit code 1 if it has a problem.

    Example: stepwell evidence verify evidence-run-12.zip --anchor seals.jsonl
    """
    data = storage.read(file)
    anchored = open_anchor(anchor).read() if anchor is not None else []
    problems = verify.verify(data, head, anchored)
    if recorded and not problems:
        problems = ask(context, lambda client: _compare(client, data))
    sha256 = hashlib.sha256(data).hexdigest()
    if as_json:
        print_json({"sha256": sha256, "problems": [problem._asdict() for problem in problems]})
    else:
        _show(data, sha256, problems)
    if problems:
        raise typer.Exit(1)


async def _compare(client: Client, data: bytes) -> list[Problem]:
    entries, _ = verify.read_entries(data)
    run_id = json.loads(entries["manifest.json"])["run_id"]
    found = await client.perform(evidence.recorded_bundles(client.tenant_id, run_id))
    if hashlib.sha256(data).hexdigest() in {bundle.bundle_sha256 for bundle in found}:
        return []
    return [Problem("altered", "the bundle", f"the database has no bundle of run {run_id} with this sha256")]


def _show(data: bytes, sha256: str, problems: list[Problem]) -> None:
    screen = console()
    for problem in problems[: verify.PROBLEM_LIMIT]:
        screen.print(
            Text.assemble((f"✗ {problem.kind} ", "bold red"), problem.place, (f": {problem.detail}", "dim"))
        )
    if problems:
        screen.print(
            Text.assemble(("NOT verified", "bold red"), f"  {len(problems)} problems  sha256 {sha256}")
        )
        return
    entries, _ = verify.read_entries(data)
    said = json.loads(entries["manifest.json"])
    event_count = len(verify.read_lines(entries["events.jsonl"]))
    what = f"run {said['run_id']} ({said['workflow']}, {said['state']}), {event_count} events"
    screen.print(
        Text.assemble(("✓ verified", "bold green"), f"  {what}, sealed in block {said['head']['block_no']}")
    )
    screen.print(f"  head   {said['head']['block_hash']}")
    screen.print(f"  sha256 {sha256}")
