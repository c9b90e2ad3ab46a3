"""Set and list tenants and caps in a terminal: receives limits, prints the current ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from stepwell.cli.connect import JsonOption, answer, ask, print_json
from stepwell.errors import UsageError
from stepwell.store.calls.tenants import Caps, Tenant, Workspace
from stepwell.store.calls.workflows import PublishedWorkflow
from stepwell.tenants import CapSettings, TenantSettings

if TYPE_CHECKING:
    from stepwell.client import Client

NONE = "none"
CAPS = ("max_concurrency", "max_runs_per_min", "max_writes_per_run")

app = typer.Typer(no_args_is_help=True, add_completion=False)

Concurrency = Annotated[
    str | None, typer.Option("--max-concurrency", help=f"Most jobs leased at the same time, or {NONE}.")
]
RunsPerMin = Annotated[
    str | None, typer.Option("--max-runs-per-min", help=f"Most runs started within a minute, or {NONE}.")
]
WritesPerRun = Annotated[
    str | None, typer.Option("--max-writes-per-run", help=f"Most effects of one run, or {NONE}.")
]


@app.command("set")
def set_tenant(
    context: typer.Context,
    tenant: Annotated[str, typer.Argument(help="Code of the tenant; it is created if it does not exist.")],
    weight: Annotated[
        int | None, typer.Option(help="Share of the workers, relative to other tenants, 1 to 1000.")
    ] = None,
    max_concurrency: Concurrency = None,
    max_runs_per_min: RunsPerMin = None,
    max_writes_per_run: WritesPerRun = None,
    as_json: JsonOption = False,
) -> None:
    """Create or change a tenant: `stepwell tenants set acme --weight 3 --max-concurrency 50`."""
    caps = _settings(max_concurrency, max_runs_per_min, max_writes_per_run)
    settings = cast(TenantSettings, {**caps})
    if weight is not None:
        settings["weight"] = weight
    found = ask(context, lambda client: client.tenant_set(tenant, **settings), as_owner=True)
    answer(as_json, found, _line(found))


@app.command()
def caps(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(help="Name of a published workflow.")],
    max_concurrency: Concurrency = None,
    max_runs_per_min: RunsPerMin = None,
    max_writes_per_run: WritesPerRun = None,
    as_json: JsonOption = False,
) -> None:
    """Set the caps of a workflow: `stepwell tenants caps order.process --max-runs-per-min 100`."""
    settings = _settings(max_concurrency, max_runs_per_min, max_writes_per_run)
    found = ask(context, lambda client: client.workflow_caps_set(workflow, **settings))
    caps = {name: getattr(found, name) for name in ("name", *CAPS)}
    answer(as_json, caps, _line(found) if found.has_caps else f"{workflow}: no caps")


@app.command()
def workspace(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the workspace; it is created if it does not exist.")],
    max_concurrency: Concurrency = None,
    max_runs_per_min: RunsPerMin = None,
    max_writes_per_run: WritesPerRun = None,
    as_json: JsonOption = False,
) -> None:
    """Create or change a workspace of the tenant: `stepwell tenants workspace retail --max-concurrency 5`."""
    settings = _settings(max_concurrency, max_runs_per_min, max_writes_per_run)
    found = ask(context, lambda client: client.workspace_set(name, **settings))
    answer(as_json, found, _line(found) if found.has_caps else f"{name}: no caps")


@app.command("list")
def list_tenants(context: typer.Context, as_json: JsonOption = False) -> None:
    """List tenants with their weights and caps, the workspaces of this tenant, and workflows with caps."""

    async def read(client: Client) -> tuple[list[Tenant], list[Workspace], list[PublishedWorkflow]]:
        capped = await client.workflows(has_caps=True, limit=500)
        return await client.tenants(), await client.workspaces(), capped

    tenants, workspaces, workflows = ask(context, read, as_owner=True)
    if as_json:
        print_json(
            {
                "tenants": [asdict(found) for found in tenants],
                "workspaces": [asdict(found) for found in workspaces],
                "workflows": [
                    {name: getattr(found, name) for name in ("name", *CAPS)} for found in workflows
                ],
            }
        )
        return
    for found in tenants:
        typer.echo(_line(found))
    for part in workspaces:
        typer.echo(f"  workspace {_line(part) if part.has_caps else part.name}")
    for own in workflows:
        typer.echo(f"  workflow {_line(own)}")


def _settings(*given: str | None) -> CapSettings:
    named = zip(CAPS, given, strict=True)
    return cast(CapSettings, {name: _number(name, text) for name, text in named if text is not None})


def _number(name: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal():
        option = "--" + name.replace("_", "-")
        raise UsageError(
            f"{option} {text!r} is not accepted", hint=f"give a whole number, or {NONE}", field=name
        )
    return int(text)


def _line(caps: Caps) -> str:
    parts = [f"weight {caps.weight}"] if isinstance(caps, Tenant) else []
    for name in CAPS:
        value = getattr(caps, name)
        if value is not None:
            parts.append(f"{name} {value}")
    return f"{caps.name}: {', '.join(parts)}"
