"""Show the state machines in a terminal: receives a scope, prints tables, diagrams or a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.render import console
from stepwell.config import Settings
from stepwell.define.problem import did_you_mean
from stepwell.errors import NotFound
from stepwell.machines.fold import fold
from stepwell.machines.mermaid import mermaid
from stepwell.machines.model import Machine, Registry, State
from stepwell.machines.reference import page
from stepwell.store.calls import registry as reading
from stepwell.store.connection.target import Process, database
from stepwell.store.schema import migrate, verify
from stepwell.translations import Lang

app = typer.Typer(no_args_is_help=True, add_completion=False)


ScopeArgument = Annotated[
    str, typer.Argument(help="step, task, workflow_run, job, approval or proposal.", metavar="SCOPE")
]
LanguageOption = Annotated[Lang, typer.Option("--lang", help="Language of the labels.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command("list")
def list_machines(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the machines, their versions and sizes."""
    registry = _read(context.obj)
    if as_json:
        typer.echo(json.dumps([_summary(machine) for machine in registry.machines]))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("machine", "version", "active", "states", "transitions", "what it describes"):
        table.add_column(name, justify="right" if name in ("states", "transitions") else "left")
    for machine in registry.machines:
        table.add_row(
            machine.state_machine_id,
            machine.version,
            "yes" if machine.active else "",
            str(len(machine.states)),
            str(len(machine.transitions)),
            machine.description,
        )
    console().print(table)


@app.command()
def show(
    context: typer.Context,
    scope: ScopeArgument,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Show the states and transitions of a machine."""
    registry = _read(context.obj)
    machine = _machine(registry, scope)
    if as_json:
        typer.echo(json.dumps(asdict(machine), ensure_ascii=False))
        return
    screen = console()
    screen.print(
        Text.assemble((machine.state_machine_id, "bold"), f" {machine.version}  {machine.description}\n")
    )
    screen.print(_state_table(registry, machine, lang))
    screen.print()
    screen.print(_transition_table(machine))


@app.command()
def draw(
    context: typer.Context,
    scope: ScopeArgument,
    lang: LanguageOption = "en",
) -> None:
    """Draw a machine as Mermaid text; redirect the output into a file."""
    registry = _read(context.obj)
    typer.echo(mermaid(registry, _machine(registry, scope), lang), nl=False)


@app.command()
def reference(
    context: typer.Context,
    fresh: Annotated[
        bool,
        typer.Option(help="Describe this release, from a scratch database, not the database given."),
    ] = False,
) -> None:
    """Print the reference of every machine, guard, event and dialect as one Markdown page."""
    # Only the owner of the embedded server may make the scratch database; without one a reader is enough.
    process = Process.OWNER if fresh else Process.READER
    with database(context.obj, process) as conninfo, _source(conninfo, fresh=fresh) as source:
        typer.echo(page(reading.read(source)), nl=False)


@contextmanager
def _source(conninfo: str, *, fresh: bool) -> Iterator[str]:
    if not fresh:
        yield conninfo
        return
    with verify.scratch_database(conninfo) as scratch:
        migrate.migrate(scratch)
        yield scratch


def _read(settings: Settings) -> Registry:
    with database(settings, Process.READER) as conninfo:
        return reading.read(conninfo)


def _machine(registry: Registry, scope: str) -> Machine:
    machine = registry.active(scope)
    if machine is None:
        known = [machine.scope for machine in registry.machines if machine.active]
        raise NotFound(
            f"no active machine has the scope {scope!r}{did_you_mean(scope, known)}",
            hint=f"accepted are {', '.join(known)}",
        )
    return machine


def _summary(machine: Machine) -> dict[str, object]:
    return {
        "state_machine_id": machine.state_machine_id,
        "scope": machine.scope,
        "version": machine.version,
        "active": machine.active,
        "state_count": len(machine.states),
        "transition_count": len(machine.transitions),
        "description": machine.description,
    }


def _state_table(registry: Registry, machine: Machine, lang: Lang) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("state", "label", "class", "", "meaning"):
        table.add_column(name)
    for state in machine.states:
        colour = registry.colours[state.ui_color_token]
        label = registry.text(state.ui_label_i18n_key, lang)
        table.add_row(
            state.state_code,
            Text(f" {state.ui_icon_glyph} {label} ", style=f"{colour.fg} on {colour.bg}"),
            state.semantic_class,
            _place(state),
            registry.text(state.ui_short_message_key, lang),
        )
    return table


def _place(state: State) -> str:
    words = [("first", state.is_initial), ("final", state.is_terminal), ("derived", state.is_derived)]
    return ", ".join(word for word, holds in words if holds)


def _transition_table(machine: Machine) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, row_styles=("", "dim"))
    for name in ("code", "from", "to", "by", "trigger", "guard", "event", "audit"):
        table.add_column(name)
    for rung in fold(machine):
        row = rung.transition
        table.add_row(
            row.transition_code,
            "\n".join(rung.from_states),
            row.to_state,
            "\n".join(rung.actor_classes),
            rung.trigger,
            row.guard_ref or "",
            row.emitted_event_type or "",
            "yes" if row.audit_required else "",
        )
    return table
