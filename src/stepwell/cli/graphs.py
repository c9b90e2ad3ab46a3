"""Emit, show and retry job graphs, set event routes: receives files and names, prints tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.text import Text

from stepwell.cli.connect import (
    JsonOption,
    LanguageOption,
    LimitOption,
    ReasonOption,
    answer,
    ask,
    json_object,
    print_json,
)
from stepwell.cli.render import Look, console, moment, table
from stepwell.errors import InvalidInput
from stepwell.graphs import Graphs
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.store.calls.graphs import GraphJob, JobWorkflow

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, add_completion=False)

WorkflowArgument = Annotated[int, typer.Argument(help="Number of the job workflow.", min=1)]
STYLES = {
    "active": "green",
    "succeeded": "green",
    "failed": "bold red",
    "partially_failed": "bold red",
    "cancelled": "red",
}


def _act(context: typer.Context, what: Callable[[Graphs], Awaitable[T]]) -> T:
    async def perform(client: Client) -> T:
        return await what(Graphs(client))

    return ask(context, perform)


@app.command()
def register(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="YAML or JSON file with template_id, params and jobs.")],
    as_json: JsonOption = False,
) -> None:
    """Register a template of job graphs, or a new version of it."""
    given = _read(file)
    made = _act(context, lambda graphs: graphs.job_template_register(given))
    answer(
        as_json,
        made,
        f"template {made.template_id} is registered: version {made.version_no}, jobs: {made.job_count}",
    )


@app.command()
def templates(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the templates of job graphs."""
    found = _act(context, lambda graphs: graphs.job_templates())
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no templates; 'stepwell graphs register FILE' registers one")
        return
    made = table("template", "kind", "version", "jobs", "description", right=("version", "jobs"))
    for one in found:
        made.add_row(
            one.template_id, one.workflow_kind, str(one.version_no), str(one.job_count), one.description
        )
    console().print(made)


@app.command()
def emit(
    context: typer.Context,
    template: Annotated[str, typer.Argument(help="Id of the template.")],
    params: Annotated[str, typer.Option(help="Params of the template, a JSON object of signals.")] = "{}",
    key: Annotated[str | None, typer.Option(help="The same key again returns the same graph.")] = None,
    correlation_id: Annotated[
        str | None, typer.Option(help="Text that connects it with other systems.")
    ] = None,
    priority: Annotated[int, typer.Option(help="Higher first.", min=-1000, max=1000)] = 0,
    workspace: Annotated[
        str | None, typer.Option(help="Part of the tenant to which its jobs belong.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Emit a graph of jobs from a template; requires the role MOT_template_generator."""
    given = json_object(params, "--params")
    made = _act(
        context,
        lambda graphs: graphs.graph_emit(
            template, given, key=key, correlation_id=correlation_id, priority=priority, workspace=workspace
        ),
    )
    what = f"{made.count} job{'' if made.count == 1 else 's'}"
    text = (
        f"job workflow {made.workflow_id} is emitted: {what}"
        if made.is_new
        else (f"job workflow {made.workflow_id} was emitted with this key before: {what}")
    )
    answer(as_json, made, text)


@app.command("list")
def list_graphs(
    context: typer.Context,
    template: Annotated[str | None, typer.Option(help="Only graphs of this template.")] = None,
    status: Annotated[
        str | None,
        typer.Option(help="Only active, succeeded, failed, partially_failed or cancelled ones."),
    ] = None,
    limit: LimitOption = 20,
    after: Annotated[
        int | None, typer.Option(help="Only graphs older than this one; give the last of a page.", min=1)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List job workflows, the newest first."""
    if status is not None and status not in STYLES:
        raise InvalidInput(f"status is {status}; accepted: {', '.join(STYLES)}", field="status")
    found = _act(
        context,
        lambda graphs: graphs.job_workflows(template=template, status=status, before=after, limit=limit),
    )
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no job workflows")
        return
    made = table(
        "graph",
        "template",
        "status",
        "done",
        "waiting",
        "queued",
        "running",
        "dead",
        "emitted",
        right=("graph", "done", "waiting", "queued", "running", "dead"),
    )
    for one in found:
        made.add_row(
            str(one.workflow_id),
            one.template_id,
            Text(one.status, STYLES[one.status]),
            f"{one.succeeded_steps}/{one.job_count}",
            _number(one.waiting_steps),
            _number(one.queued_steps),
            _number(one.in_progress_steps),
            _number(one.dead_letter_steps),
            moment(one.enqueued_at),
        )
    console().print(made)
    if len(found) == limit:
        typer.echo(f"more with --after {found[-1].workflow_id}")


@app.command()
def show(
    context: typer.Context,
    workflow: WorkflowArgument,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Show a job workflow and its jobs with their parents."""

    async def read(client: Client) -> tuple[JobWorkflow, list[GraphJob], Look | None]:
        graphs = Graphs(client)
        found = await graphs.job_workflow(workflow)
        return found, await graphs.graph_jobs(workflow), None if as_json else await Look.read(client, lang)

    found, jobs, look = ask(context, read)
    if look is None:
        print_json({"workflow": found, "jobs": jobs})
        return
    screen = console()
    title = Text.assemble((f"Job workflow {found.workflow_id}", "bold"), f"  {found.generator}   ")
    screen.print(title.append(found.status, STYLES[found.status]))
    facts = [
        f"version {found.template_version}",
        f"{found.succeeded_steps} of {found.job_count} jobs done",
        f"emitted {_where(found)} at {moment(found.enqueued_at)}",
    ]
    if found.correlation_id is not None:
        facts.append(f"correlation {found.correlation_id}")
    screen.print(Text(" · ".join(facts), style="dim"))
    screen.print()
    names = {one.job_id: one.local_id for one in jobs}
    made = table("job", "number", "state", "kind", "parents", "attempt", right=("attempt",))
    for one in jobs:
        parents = ", ".join(names.get(parent, str(parent)) for parent in one.parents)
        kind = one.job_kind or f"graph {one.nested_workflow_id or 'not emitted yet'}"
        made.add_row(
            one.local_id,
            short(one.job_id),
            look.chip("step", one.state_code),
            kind,
            f"any of {parents}" if one.join == "any" else parents,
            f"{one.attempt}/{one.max_attempts}",
        )
    screen.print(made)
    if found.job_count > len(jobs):
        screen.print(
            Text(f"and {found.job_count - len(jobs)} more jobs; `runs show` has the whole run", style="dim")
        )
    if found.dead_letter_steps:
        typer.echo(f"retry dead jobs with: stepwell graphs retry {workflow}")


@app.command()
def retry(
    context: typer.Context,
    workflow: WorkflowArgument,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Queue the dead jobs of a job workflow again, after an approval where one is required."""
    found = _act(context, lambda graphs: graphs.graph_retry(workflow, reason))
    count = len(found["unit_ids"])
    what = f"{count} dead job{'' if count == 1 else 's'} of job workflow {workflow}"
    done = (
        f"{what} queued again"
        if found["state"] == "replayed"
        else (f"{what}: approval {short(found['approval_id'])} is requested")
    )
    answer(as_json, found, done)


@app.command()
def refresh(context: typer.Context, workflow: WorkflowArgument, as_json: JsonOption = False) -> None:
    """Count the jobs of a job workflow again and store its status."""
    found = _act(context, lambda graphs: graphs.graph_refresh(workflow))
    answer(as_json, found, f"job workflow {workflow} is {found['status']}")


@app.command()
def routes(context: typer.Context, as_json: JsonOption = False) -> None:
    """List event routes: which event enqueues which job."""
    found = _act(context, lambda graphs: graphs.event_routes())
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no event routes")
        return
    made = table("route", "event", "operation", "fields")
    for one in found:
        made.add_row(one.name, one.event_type, one.operation, ", ".join(one.fields))
    console().print(made)


@app.command()
def route(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the route.")],
    event_type: Annotated[str, typer.Argument(help="Type of the event.")],
    operation: Annotated[str, typer.Argument(help="Operation of the job.")],
    field: Annotated[
        list[str] | None, typer.Option(help="Field of the event that the job gets; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Enqueue a job for each event of a type, from now on."""
    made = _act(
        context, lambda graphs: graphs.event_route_set(name, event_type, operation, fields=field or ())
    )
    answer(as_json, made, f"route {name} is set: each {event_type} enqueues {operation}")


@app.command()
def unroute(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the route.")],
    as_json: JsonOption = False,
) -> None:
    """Delete an event route; the jobs that it enqueued stay."""
    _act(context, lambda graphs: graphs.event_route_delete(name))
    answer(as_json, {"route": name, "is_deleted": True}, f"route {name} is deleted")


def _where(found: JobWorkflow) -> str:
    inside = found.parent_workflow_id
    return f"by {found.emitted_by}" if inside is None else f"inside job workflow {inside}"


def _number(count: int) -> str:
    return str(count) if count else ""


def _read(file: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", field="file") from error
    except YAMLError as error:
        raise InvalidInput(f"{file} is neither YAML nor JSON: {error}", field="file") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{file}: an object with template_id and jobs is required", field="file")
    return found
