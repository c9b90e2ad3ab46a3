"""Look at published workflows from a terminal: receives names, returns what is published, step by step."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepwell.cli.connect import JsonOption, LimitOption, ask, print_json
from stepwell.cli.render import console, moment, table
from stepwell.errors import NotFound
from stepwell.store.calls.workflows import WorkflowVersion

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

# What says most about a step, by its kind.
_SAYS = ("operation", "event", "workflow", "test", "over", "assignee", "role")

NameArgument = Annotated[str, typer.Argument(help="Name of the workflow.", metavar="WORKFLOW")]


@app.command("list")
def list_workflows(
    context: typer.Context,
    limit: LimitOption = 100,
    after: Annotated[
        str | None, typer.Option(help="Only names after this one: the last one of the page before.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List published workflows by name, with the newest version of each."""
    found = ask(context, lambda client: client.workflows(after=after, limit=limit))
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no workflows; publish one with 'stepwell publish FILE'")
        return
    made = table("workflow", "version", "steps", "published", "by", "title", right=("version", "steps"))
    for row in found:
        made.add_row(
            row.name, str(row.version_no), str(row.step_count), moment(row.published_at), row.published_by,
            row.title or "",
        )  # fmt: skip
    console().print(made)
    if len(found) == limit:
        typer.echo(f"more with --after {found[-1].name}")


@app.command()
def show(
    context: typer.Context,
    name: NameArgument,
    version: Annotated[
        int | None, typer.Option(help="Number of the version; default: the newest.", min=1)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a workflow: its steps in order, what each waits for, and what a run may be started with."""

    async def read(client: Client) -> WorkflowVersion:
        found = await client.workflow_versions(name, limit=500)
        for one in found:
            if version in (None, one.version_no):
                return one
        numbers = ", ".join(str(one.version_no) for one in reversed(found))
        raise NotFound(f"workflow {name} has no version {version}", hint=f"it has {numbers}", field="version")

    shown = ask(context, read)
    if as_json:
        print_json(_document(shown))
        return
    title = f"  {shown.title}" if shown.title else ""
    typer.echo(f"{shown.name} version {shown.version_no}{title}")
    typer.echo(
        f"published {moment(shown.published_at)} by {shown.published_by}; on failure: {shown.failure_policy}"
    )
    if shown.input_schema is not None:
        required = set(shown.input_schema.get("required", ()))
        names = [
            f"{field}{'' if field in required else ' (optional)'}"
            for field in shown.input_schema.get("properties", {})
        ]
        typer.echo(f"input: {', '.join(names) or 'anything'}")
    made = table("step", "kind", "what", "after")
    for step in _steps(shown):
        made.add_row(step["id"], step["kind"], step["what"], ", ".join(step["after"]))
    console().print(made)


@app.command()
def versions(
    context: typer.Context, name: NameArgument, limit: LimitOption = 20, as_json: JsonOption = False
) -> None:
    """List the versions of a workflow, the newest first; a version never changes."""
    found = ask(context, lambda client: client.workflow_versions(name, limit=limit))
    if as_json:
        print_json([_document(version) for version in found])
        return
    made = table("version", "steps", "published", "by", "hash", right=("version", "steps"))
    for version in found:
        made.add_row(
            str(version.version_no), str(version.step_count), moment(version.published_at),
            version.published_by, version.graph_hash[:12],
        )  # fmt: skip
    console().print(made)


def _document(version: WorkflowVersion) -> dict[str, Any]:
    return {key: value for key, value in asdict(version).items() if key != "document"} | {
        "graph": version.document
    }


def _steps(version: WorkflowVersion) -> list[dict[str, Any]]:
    graph = version.graph
    ids = {step.no: step.id for step in graph.steps}
    branches = {branch.no: branch.label for branch in graph.branches}
    found = []
    for step in graph.steps:
        after = [
            ids[edge.from_no] + (f" ({branches[edge.branch]})" if edge.branch is not None else "")
            for edge in graph.edges
            if edge.to_no == step.no
        ]
        document = step.to_json()
        what = next((str(document[key]) for key in _SAYS if document.get(key)), "")
        found.append({"id": step.id, "kind": step.kind, "what": what, "after": after})
    return found
