"""Publish workflows in a terminal: receives YAML files or an app, prints version numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.cli.connect import JsonOption, ask, print_json
from stepwell.cli.next_steps import describe
from stepwell.cli.problems import refuse
from stepwell.define import DefinitionError, Graph
from stepwell.define.problem import did_you_mean
from stepwell.errors import UsageError
from stepwell.reactive.caught_branches import caught_branches
from stepwell.store.calls.publish import Published, known_operations, register_operations

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.handlers import Handler

app = typer.Typer(add_completion=False)


@app.command()
def publish(
    context: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(help="YAML files, one workflow each.", metavar="FILE")
    ] = None,
    app_name: Annotated[
        str | None,
        typer.Option("--app", help="Publish the workflows of this app: module:app or file.py:app."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check; use no database.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish workflows; an unchanged workflow keeps its version, and active runs keep theirs."""
    from stepwell.loading import load_app, load_workflows

    if not files and app_name is None:
        raise UsageError("nothing to publish", hint="give YAML files, or an app with --app module:app")
    graphs: list[Graph] = []
    handlers: Mapping[str, Handler] = {}
    try:
        graphs += load_workflows(files or [])
        if app_name is not None:
            found = load_app(app_name)
            graphs += found.graphs.values()
            handlers = found.handlers
    except DefinitionError as error:
        refuse(error, "nothing was published")
    if check:
        if as_json:
            # The document is the last line, because an app may print while it is loaded.
            typer.echo(json.dumps([describe(graph, handlers) for graph in graphs]))
        else:
            for graph in graphs:
                typer.echo(f"{graph.name}: no problem found")
        return

    async def send(client: Client) -> tuple[list[Published], set[str]]:
        if handlers:
            declarations = [handler.declaration() for handler in handlers.values()]
            await client.perform(register_operations(client.tenant_id, declarations))
        known = await client.perform(known_operations(client.tenant_id))
        return [await client.publish(graph) for graph in graphs], known

    published, known = ask(context, send)
    missing = {graph.name: _missing(graph, known) for graph in graphs}
    if as_json:
        print_json(
            [
                {
                    "workflow": graph.name,
                    "version": made.version_no,
                    "is_new": made.is_new,
                    "unregistered": missing[graph.name],
                    "only_after_failure": [asdict(branch) for branch in caught_branches(graph)],
                }
                for graph, made in zip(graphs, published, strict=True)
            ]
        )
        return
    for graph, made in zip(graphs, published, strict=True):
        what = "published as" if made.is_new else "unchanged, still"
        typer.echo(f"{graph.name}: {what} version {made.version_no}")
        for warning in _warnings(graph, missing[graph.name], known):
            typer.echo(f"  warning: {warning}", err=True)
    if not graphs:
        typer.echo("the app declares no workflow")


def _warnings(graph: Graph, missing: list[str], known: set[str]) -> Iterator[str]:
    for name in missing:
        yield f"no app has registered the operation {name}{did_you_mean(name, known)}; its step waits"
    yield from map(str, caught_branches(graph))


def _missing(graph: Graph, known: set[str]) -> list[str]:
    """Operations that no app and no worker has registered; no worker can run a step that calls one."""
    return sorted(graph.operations() - known)
