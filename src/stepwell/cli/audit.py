"""Read, seal and verify the log in a terminal: receives filters, prints events, blocks, the wrong record."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from stepwell.cli.connect import JsonOption, LimitOption, ask, print_json
from stepwell.cli.people_words import moment as time_of
from stepwell.cli.render import console, moment, table
from stepwell.config import Settings
from stepwell.errors import UsageError
from stepwell.govern.anchor import open_anchor, tell
from stepwell.govern.audit import Anchored, verify_tenants
from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.seal import seal_now
from stepwell.govern.signing import keys_of, make_key
from stepwell.store.calls import audit, events
from stepwell.store.calls.audit_times import read_moment
from stepwell.store.calls.keep import keeper_connection
from stepwell.store.connection.target import Process, database
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

AnchorOption = Annotated[
    str | None,
    typer.Option(
        help="A .jsonl file, https://…, or a folder of a disk or an object store (s3://bucket/folder); "
        "default: STEPWELL_AUDIT_ANCHOR."
    ),
]


# First part of an event type → the name of such a unit.
KINDS = {
    "workflow": "run", "step": "step", "task": "task", "job": "job", "approval": "approval",
    "proposal": "proposal", "receipt": "receipt",
}  # fmt: skip
EFFECTS = {"allow": "allowed", "deny": "denied", "needs_approval": "asked for approval"}


def _position(text: str) -> tuple[int, int]:
    tx, _, event = text.partition("/")
    if not (tx.isascii() and tx.isdigit() and event.isascii() and event.isdigit()):
        raise UsageError(f"--before {text!r} is not a position", hint="write 1036/28", field="before")
    return int(tx), int(event)


@app.command("events")
def list_events(
    context: typer.Context,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this event type; may be given several times.")
    ] = None,
    actor: Annotated[str | None, typer.Option("--by", help="Only what this actor did.")] = None,
    from_text: Annotated[
        str | None, typer.Option("--from", help="Only since this time, such as 2026-03-01T14:00+01:00.")
    ] = None,
    until_text: Annotated[str | None, typer.Option("--until", help="Only before this time.")] = None,
    before: Annotated[
        str | None, typer.Option(help="Only older events than this position; a page shows that of the next.")
    ] = None,
    limit: LimitOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List the events of all runs, the newest first: by type, actor and time.

    Example: stepwell audit events --type approval.requested --by ada
    """
    call = partial(
        events.recent_events,
        types=types or None,
        actor=actor,
        from_at=None if from_text is None else time_of(from_text, "--from"),
        until_at=None if until_text is None else time_of(until_text, "--until"),
        before=None if before is None else _position(before),
        limit=limit,
    )
    page = ask(context, lambda client: client.perform(call(client.tenant_id)))
    if as_json:
        print_json({"events": page.events, "before": page.before})
        return
    made = table("position", "at", "run", "what", "change", "by")
    for event in page.events:
        change = f"{event.from_state or ''} → {event.to_state}" if event.to_state else ""
        made.add_row(
            f"{event.tx}/{event.event_id}", moment(event.at), short(event.unit_id), event.event_type,
            change.strip(), event.actor or "",
        )  # fmt: skip
    if page.events:
        console().print(made)
    elif page.before is None:
        typer.echo("no events")
    if page.before is not None:
        typer.echo(f"more with --before {page.before[0]}/{page.before[1]}")


@app.command()
def seal(
    context: typer.Context,
    anchor: AnchorOption = None,
    key: Annotated[
        str | None, typer.Option(help="The file of the private key; default: STEPWELL_AUDIT_KEY.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Seal the events that are not sealed yet, as the keeper does, and write the blocks to the anchor.

    Example: stepwell audit seal --anchor seals.jsonl
    """
    settings: Settings = context.obj
    address = anchor or settings.audit_anchor

    made = ask(context, seal_now)
    told_count = None
    if address is not None:
        with (
            database(settings, Process.KEEPER) as conninfo,
            keeper_connection(conninfo) as connection,
        ):
            told_count = tell(connection, address, key or settings.audit_key)
    if as_json:
        print_json({"sealed": made, "anchored_count": told_count})
        return
    for block in made:
        typer.echo(f"block {block.block_no}  {block.event_count:>6} events  {block.block_hash}")
    if not made:
        typer.echo("nothing new to seal")
    if told_count is not None:
        typer.echo(f"{_many(told_count, 'block')} anchored")


@app.command()
def verify(
    context: typer.Context,
    anchor: AnchorOption = None,
    keys: Annotated[
        str | None,
        typer.Option(help="A file with the public keys that must have signed the anchor, oldest first."),
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="Hash of an earlier block that the chain must still contain.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="The tenant whose log is read; default: default.")
    ] = None,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Read the logs of all tenants, one after the other.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check every event of one tenant, or of all, against its seal; exit code 1 and the first wrong record.

    Example: stepwell audit verify --all-tenants --anchor seals.jsonl
    """
    if all_tenants and (tenant is not None or head is not None):
        raise UsageError(
            "--all-tenants goes with neither --tenant nor --head",
            hint="a head belongs to one chain: give --tenant too", field="--all-tenants",
        )  # fmt: skip

    if keys is not None and anchor is None:
        raise UsageError("--keys goes with --anchor", hint="the keys have signed the anchor", field="--keys")

    async def check(client: Client) -> tuple[dict[str, Verdict], list[str]]:
        anchored = None
        if anchor is not None:
            anchored = Anchored(open_anchor(anchor).read(), None if keys is None else keys_of(keys))
        chosen = None if all_tenants else tenant or client.tenant_id
        return verify_tenants(client.conninfo, chosen, head, anchored, client.token)

    # Only the owner reads the tables themselves, and all tenants; whoever has a token is bound to its tenant.
    settings: Settings = context.obj
    as_owner = settings.token is None or all_tenants or tenant is not None
    verdicts, not_read = ask(context, check, as_owner=as_owner)
    if as_json:
        found = [
            {"tenant": name, **asdict(one), "problems": [p._asdict() for p in one.problems]}
            for name, one in verdicts.items()
        ]
        print_json({"tenants": found} if all_tenants else {**found[0], "tenants_not_read": not_read})
    else:
        for name, one in verdicts.items():
            _show(name, one)
        _say_what_was_read(verdicts, not_read, anchor, keys, head)
    if not all(one.is_intact for one in verdicts.values()):
        raise typer.Exit(1)


@app.command("key")
def new_key(
    file: Annotated[
        str, typer.Argument(help="Where the private key is written; it must not exist.", metavar="FILE")
    ],
    keys: Annotated[
        str, typer.Option(help="The list of public keys for verifiers; the new one is appended.")
    ] = "seals.keys",
    as_json: JsonOption = False,
) -> None:
    """Make a key that signs the anchor, and append its public key to the list that verifiers get.

    To replace a key, make a new one and give it to the keepers: they sign the head of every chain again.
    Example: stepwell audit key /etc/stepwell/seal.key --keys seals.keys
    """
    made = make_key(file, keys)
    if as_json:
        print_json({"file": file, "keys": keys, "public_key": made.public_key})
        return
    typer.echo(f"{file}: the private key; set STEPWELL_AUDIT_KEY={file} for every keeper and worker")
    typer.echo(f"{keys}: public key {made.public_key}, now the newest; give this list to verifiers")


@app.command("blocks")
def list_blocks(
    context: typer.Context,
    limit: Annotated[int, typer.Option(help="Most blocks to show.", min=1, max=500)] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the newest blocks of the chain. Store the last hash elsewhere: 'verify --head' checks it."""

    async def read(client: Client) -> list[dict[str, Any]]:
        with audit.reading(client.conninfo, client.tenant_id, client.token) as reader:
            chain = reader.chain()
            newest = 0 if chain is None else chain.block_count
            return list(reader.blocks(list(range(max(newest - limit, 0) + 1, newest + 1))))

    found = ask(context, read)
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("nothing is sealed yet")
        return
    made = table("block", "events", "sealed", "hash", right=("block", "events"))
    for block in reversed(found):
        sealed_at = moment(read_moment(block["sealed_at"]))
        made.add_row(str(block["block_no"]), f"{block['event_count']:,}", sealed_at, block["block_hash"])
    console().print(made)


def _say_what_was_read(
    verdicts: dict[str, Verdict], not_read: list[str], anchor: str | None, keys: str | None, head: str | None
) -> None:
    """The sentences that say exactly what was read and compared, and what was not."""
    found = list(verdicts.values())
    events = sum(one.event_count for one in found)
    names = ", ".join(list(verdicts)[:5]) + (", …" if len(verdicts) > 5 else "")
    said = f"read: {_many(events, 'sealed event')} of {_many(len(verdicts), 'tenant')} ({names})"
    if not_read:
        said += f"; not read: {_many(len(not_read), 'other tenant')}, --all-tenants reads them"
    typer.echo(said)
    records = [
        _many(sum(getattr(one, f"{what}_count") for one in found), what)
        for what in ("value", "approval", "vote", "verdict", "receipt", "unit", "definition")
    ]
    said = f"compared with these events: {', '.join(records)}"
    earlier = sum(one.earlier_count for one in found)
    removed = sum(one.removed_count for one in found)
    if earlier:
        said += f"; not compared: {_many(earlier, 'record')} of an earlier release"
    if removed:
        days = min((one.kept_days for one in found if one.kept_days is not None), default=None)
        kept = "" if days is None else f", kept for {_many(days, 'day')} or longer after the end"
        said += f"; removed by retention: {_many(removed, 'run, job, approval or receipt')}{kept}"
    untold = sum(one.untold_count for one in found)
    if untold:
        said += f"; {untold} of them before an upgrade, without an event that names them"
    typer.echo(said)
    views = sorted({view for one in found for view in one.views})
    if views:
        typer.echo(f"read through views of the database: {', '.join(views)}; only the owner reads the tables")
    elif not all(one.is_owner for one in found):
        typer.echo("read as a role that owns no table: the database decides which rows it sees")
    for change in dict.fromkeys(change for one in found for change in one.setting_changes):
        typer.echo(f"changed setting: {change}")
    _say_what_vouches(found, anchor, keys, head)


def _say_what_vouches(found: list[Verdict], anchor: str | None, keys: str | None, head: str | None) -> None:
    """The sentences about what is kept in another place: a known block, an anchor."""
    if head is not None:
        number = found[0].head_no
        what = "no block has it" if number is None else f"it is block {number} of {found[0].block_count}"
        typer.echo(f"compared with --head: {what}")
    if anchor is None:
        since = "the chain" if head is None else "what comes after that block"
        typer.echo(
            f"compared with no anchor: somebody who can change everything here could have made {since} again"
        )
        return
    checked = (
        "signatures were not checked, --keys checks them" if keys is None else f"all signed by keys of {keys}"
    )
    counted = _many(sum(one.anchored_count for one in found), "block")
    newer = sum(max(one.block_count - one.anchored_until, 0) for one in found)
    typer.echo(
        f"compared with the anchor: {counted}, {checked}"
        + (f"; not anchored yet: the newest {_many(newer, 'block')}" if newer else "")
    )


def _show(tenant: str, verdict: Verdict) -> None:
    screen = console()
    for problem in verdict.problems:
        screen.print(
            Text.assemble((f"✗ {problem.kind} ", "bold red"), problem.place, (f": {problem.detail}", "dim"))
        )
    if verdict.chain_id is None and not verdict.problems:
        screen.print(f"tenant {tenant}: nothing is sealed yet", highlight=False)
        return
    counts = [
        f"tenant {tenant}",
        _many(verdict.block_count, "block"),
        f"{_many(verdict.event_count, 'event')} checked",
    ]
    if verdict.archived_event_count:
        counts.append(f"{_many(verdict.archived_event_count, 'event')} archived")
    if verdict.anchored_count:
        counts.append(f"{_many(verdict.anchored_count, 'block')} compared with the anchor")
    if verdict.unsealed_count:
        counts.append(f"{_many(verdict.unsealed_count, 'event')} not sealed yet")
    word = ("✓ intact", "bold green") if verdict.is_intact else ("NOT intact", "bold red")
    screen.print(Text.assemble(word, "  ", " · ".join(counts)))
    if verdict.archived_blocks:
        screen.print(
            f"  archived: {_ranges(verdict.archived_blocks)}; the chain was checked by their headers"
        )
    for line in _completeness(verdict):
        screen.print(f"  {line}", highlight=False)
    if verdict.head_hash is not None:
        screen.print(f"  head {verdict.head_hash}")


def _completeness(verdict: Verdict) -> list[str]:
    """How much began, how much of it ended, and what is open."""
    said = []
    for kind, name in KINDS.items():
        life = verdict.lives.get(kind)
        if life is not None:
            still = f", {life.open_count:,} open" if life.open_count else ""
            said.append(f"{_many(life.began_count, name)} began, {life.ended_count:,} ended{still}")
    lines = [f"complete: {'; '.join(said)}"] if said else []
    if verdict.verdict_effects:
        parts = [
            f"{count:,} {EFFECTS.get(effect, effect)}" for effect, count in verdict.verdict_effects.items()
        ]
        total = sum(verdict.verdict_effects.values())
        lines.append(f"verdicts: {total:,} with their outcome ({', '.join(parts)})")
    if verdict.open_units:
        more = sum(life.open_count for life in verdict.lives.values()) - len(verdict.open_units)
        lines.append(f"open: {', '.join(verdict.open_units)}" + (f" and {more:,} more" if more > 0 else ""))
    return lines


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _ranges(numbers: list[int]) -> str:
    """1, 2, 3, 7 → `blocks 1–3, 7`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][-1:] = [number] if len(parts[-1]) > 1 else [parts[-1][-1], number]
        else:
            parts.append([number])
    return "blocks " + ", ".join("–".join(map(str, part)) for part in parts)
