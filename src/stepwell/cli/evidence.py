"""Export and verify evidence in a terminal: receives a run or a file, returns a bundle or its problems."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from stepwell import storage
from stepwell.cli.connect import JsonOption, answer, ask, print_json
from stepwell.cli.ids import RunArgument, RunName
from stepwell.cli.render import console, moment
from stepwell.errors import InvalidInput, NotFound, UsageError
from stepwell.govern import verify
from stepwell.govern.anchor import open_anchor
from stepwell.govern.evidence import Exported
from stepwell.govern.evidence import export as export_run
from stepwell.govern.evidence import later as prove_later
from stepwell.govern.signing import keys_of
from stepwell.store.calls import evidence

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def export(
    context: typer.Context,
    run: RunArgument,
    to: Annotated[
        str | None,
        typer.Option(
            help="Folder, path ending in .zip, or object store (s3://bucket/folder); default: this folder."
        ),
    ] = None,
    payloads: Annotated[
        bool, typer.Option("--payloads", help="Include the values, not only their names, sizes and hashes.")
    ] = False,
    stored: Annotated[
        bool, typer.Option("--stored", help="Write the bundle that was made when the run ended.")
    ] = False,
    wait_seconds: Annotated[
        float, typer.Option(help="Longest wait for older transactions to end.", min=0, max=600)
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Export an ended run: seal its events, log the hashes of the contents, write one file.

    The same run gives the same bytes. Example: stepwell evidence export 12 --to evidence/
    """
    if stored:
        typer.echo(ask(context, lambda client: _write_stored(client, run, to)))
        return

    async def act(client: Client) -> Exported:
        run_id = await run.number(client)
        return await export_run(client, run_id, to, with_payloads=payloads, limit_seconds=wait_seconds)

    made = ask(context, act)
    if as_json:
        print_json(made)
        return
    typer.echo(f"{storage.without_secrets(made.url)}  {made.size_bytes:,} bytes")
    typer.echo(f"  sha256 {made.sha256}")
    typer.echo(f"  head   {made.head_hash} (block {made.head_block_no}, {made.event_count} events)")


async def _write_stored(client: Client, run: RunName, to: str | None) -> str:
    run_id = await run.number(client)
    data = await client.perform(evidence.stored(client.tenant_id, run_id))
    if data is None:
        raise NotFound(
            f"the database has no bundle of run {run_id}",
            hint="the keeper makes it after the end of a run that acted or was approved",
        )
    return storage.without_secrets(storage.save(to, f"evidence-run-{run_id}.zip", data))


@app.command("auto")
def auto(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(help="Name of the workflow.")],
    on: Annotated[bool, typer.Option("--on/--off", help="Whether its runs get a bundle when they end.")],
    as_json: JsonOption = False,
) -> None:
    """Switch the bundles that runs of a workflow get when they end; on by default.

    Only runs that acted or were approved get one. Example: stepwell evidence auto order.process --off
    """
    ask(context, lambda client: client.perform(evidence.switch(client.tenant_id, workflow, on)))
    answer(as_json, {"workflow": workflow, "evidence": on}, f"{workflow}: {'on' if on else 'off'}")


@app.command("list")
def list_bundles(
    context: typer.Context,
    run: RunArgument,
    as_json: JsonOption = False,
) -> None:
    """List the bundles of a run: when and by whom each was exported, its sha256, where it was stored last.

    Example: stepwell evidence list 12
    """

    async def read(client: Client) -> list[evidence.Recorded]:
        return await client.perform(evidence.recorded_bundles(client.tenant_id, await run.number(client)))

    found = ask(context, read)
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
        str | None, typer.Option(help="Hash of a trusted block: the head of the bundle, or a later block.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(help="Anchored block headers to compare with: a .jsonl file or a folder.")
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="A file with the public keys that must have signed the anchor, oldest first."),
    ] = None,
    later: Annotated[
        str | None,
        typer.Option(help="A proof of 'evidence later' that the trusted block comes after the head."),
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Compare with the sha256 and the block in the database too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Verify a bundle offline, as the verify.py inside it does; exit code 1 if it has a problem.

    Example: stepwell evidence verify evidence-run-12.zip --anchor seals.jsonl
    """
    data = storage.read(file)
    anchored = None if anchor is None else open_anchor(anchor).read()
    if keys is not None and anchored is None:
        raise UsageError("--keys goes with --anchor", hint="the keys have signed the anchor", field="--keys")
    known_keys = None if keys is None else keys_of(keys)
    findings = verify.verify(data, head, anchored, None if later is None else _proof(later), known_keys)
    sha256 = hashlib.sha256(data).hexdigest()
    known = True
    if recorded and not findings:
        known = ask(context, lambda client: _is_recorded(client, data, sha256))
    if as_json:
        told = [
            {"code": one.code, "kind": one.kind, "place": one.place, "detail": one.detail} for one in findings
        ]
        print_json({"sha256": sha256, "is_recorded": known if recorded else None, "findings": told})
    else:
        nothing = (
            "the sha256 and the head were compared with the database"
            if recorded
            else ("the head was compared with nothing: give --head, --anchor or --recorded")
        )
        compared = verify.compared(head, anchored, known_keys) if (head or anchor) is not None else nothing
        _show(data, sha256, findings, known, compared)
    if findings or not known:
        raise typer.Exit(1)


@app.command("later")
def later_proof(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="The bundle: a path or an address.", metavar="FILE")],
) -> None:
    """Print the proof that the newest block comes after the head of a bundle, as one line of JSON.

    Example: stepwell evidence later evidence-run-12.zip > later.json
    """
    head = _manifest(storage.read(file))["head"]
    typer.echo(
        json.dumps(ask(context, lambda client: prove_later(client, head["block_no"], head["block_hash"])))
    )


def _proof(path: str) -> Any:
    try:
        return verify.parse(storage.read(path).decode())
    except ValueError as error:
        raise InvalidInput(
            f"later: {path} is no JSON", hint="write it with 'stepwell evidence later'"
        ) from error


def _manifest(data: bytes) -> dict[str, Any]:
    entries = verify.unpack(data)
    findings = verify.list_findings(entries) if entries else verify.verify(data)
    if findings or not entries:
        raise InvalidInput(f"file: {findings[0]}")
    found: dict[str, Any] = json.loads(entries["manifest.json"])
    return found


async def _is_recorded(client: Client, data: bytes, sha256: str) -> bool:
    """The table of bundles is not sealed, so the head must be a block of the chain too."""
    said = _manifest(data)
    found = await client.perform(evidence.recorded_bundles(client.tenant_id, said["run_id"]))
    head = evidence.is_head(client.tenant_id, said["head"]["block_no"], said["head"]["block_hash"])
    return sha256 in {bundle.bundle_sha256 for bundle in found} and await client.perform(head)


def _show(data: bytes, sha256: str, findings: list[verify.Finding], known: bool, compared: str) -> None:
    screen = console()
    for one in findings[: verify.PROBLEM_LIMIT]:
        screen.print(
            Text.assemble((f"✗ {one.kind} ", "bold red"), one.place, (f": {one.detail} [{one.code}]", "dim"))
        )
    if not known:
        unknown = f"the database has no bundle of run {_manifest(data)['run_id']} with this sha256 and head"
        screen.print(Text.assemble(("✗ unproven ", "bold red"), unknown))
    if findings or not known:
        count = len(findings) + (not known)
        screen.print(Text.assemble(("NOT verified", "bold red"), f"  {count} findings  sha256 {sha256}"))
        return
    said = _manifest(data)
    event_count = len(verify.read_lines((verify.unpack(data) or {})["events.jsonl"]))
    what = f"run {said['run_id']} ({said['workflow']}, {said['state']}), {event_count} events"
    screen.print(
        Text.assemble(("✓ verified", "bold green"), f"  {what}, sealed in block {said['head']['block_no']}")
    )
    screen.print(f"  head   {said['head']['block_hash']}")
    screen.print(f"  sha256 {sha256}")
    screen.print(f"  {compared}")
