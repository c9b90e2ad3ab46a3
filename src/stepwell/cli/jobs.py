"""Show, cancel and retry jobs in a terminal: receives job numbers, prints tables and changes."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from stepwell.cli.connect import (
    JsonOption,
    KeyOption,
    LanguageOption,
    LimitOption,
    ReasonOption,
    ask,
    each,
    print_json,
)
from stepwell.cli.ids import JobArgument, JobsArgument, RunOption
from stepwell.cli.render import (
    Look,
    console,
    error_line,
    job_table,
    moment,
    progress_line,
    span,
    table,
)
from stepwell.errors import NotFound
from stepwell.handles import JobHandle
from stepwell.store.calls import views
from stepwell.store.calls.jobs import retry_job
from stepwell.store.calls.views import Failure, Job, Why
from stepwell.unit_numbers import read_unit, short

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
def list_jobs(
    context: typer.Context,
    state: Annotated[
        str | None, typer.Option(help="Only jobs in this state, such as ready, in_progress or failed.")
    ] = None,
    operation: Annotated[str | None, typer.Option(help="Only jobs of this operation.")] = None,
    run: RunOption = None,
    steps: Annotated[bool, typer.Option("--steps", help="Operation steps of runs too.")] = False,
    limit: LimitOption = 20,
    after: Annotated[
        int | None,
        typer.Option(help="Only jobs older than this one; give the last job of a page.", parser=read_unit),
    ] = None,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """List free-standing jobs, the newest first."""

    async def read(client: Client) -> tuple[list[Job], Look | None]:
        run_id = None if run is None else await run.number(client)
        call = views.jobs(
            client.tenant_id, state=state, operation=operation, run_id=run_id, with_steps=steps, after=after,
            limit=limit,
        )  # fmt: skip
        found = await client.perform(call)
        return found, None if as_json else await Look.read(client, lang)

    found, look = ask(context, read)
    if look is None:
        print_json(found)
    elif not found:
        typer.echo("no jobs")
    else:
        console().print(job_table(look, found))
        if len(found) == limit:
            typer.echo(f"more with --after {short(found[-1].job_id)}")


@app.command()
def show(
    context: typer.Context, job: JobArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show a job: its state, why it is not running, and every failed attempt."""

    async def read(client: Client) -> tuple[Job, list[Failure], Why, Look | None]:
        found = await client.perform(views.job(client.tenant_id, job))
        if found is None:
            raise NotFound(f"job {short(job)} does not exist", hint="'stepwell jobs list' shows the jobs")
        failures = await client.perform(views.failures(client.tenant_id, job))
        why = await client.perform(views.why(client.tenant_id, job))
        return found, failures, why, None if as_json else await Look.read(client, lang)

    found, failures, why, look = ask(context, read)
    if look is None:
        print_json({"job": found, "failures": failures, "why": why})
        return
    screen = console()
    title = Text.assemble(
        (f"{look.word('job').capitalize()} {short(found.job_id)}", "bold"), f"  {found.operation}   "
    )
    screen.print(title.append_text(look.chip(found.scope, found.state_code)))
    screen.print(Text(why.sentence_vi if lang == "vi" else why.sentence_en))
    facts = [f"{look.word('attempts')} {found.attempt}/{found.max_attempts}", f"{found.executor}"]
    if found.run_id is not None:
        facts.append(f"{look.word('run')} {found.run_id}, {look.word('step')} {found.step_id}")
    if found.idempotency_key is not None and found.run_id is None:
        facts.append(f"{look.word('key')} {found.idempotency_key}")
    facts.append(span((found.completed_at or found.now_at) - found.created_at))
    screen.print(Text(" · ".join(facts), style="dim"))
    if found.progress is not None:
        screen.print(Text(f"{look.word('progress')} {progress_line(found.progress)}"))
    if failures:
        screen.print()
        screen.print(failure_table([asdict(failure) for failure in failures]))
        print_traceback(screen, failures[-1].error)


@app.command()
def cancel(
    context: typer.Context,
    jobs: JobsArgument,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel jobs; a running handler gets a request to stop."""
    each(
        context, "job", jobs, lambda client, job: JobHandle(client, job).cancel(reason, key=key), "cancelled",
        shown=short, as_json=as_json,
    )  # fmt: skip


@app.command()
def retry(
    context: typer.Context,
    jobs: JobsArgument,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Queue jobs again that could not be completed."""

    async def again(client: Client, job: int) -> Any:
        return await client.perform(retry_job(client.tenant_id, job, client.actor, reason, key))

    each(context, "job", jobs, again, "queued again", shown=short, as_json=as_json)


def failure_table(failures: list[dict[str, Any]]) -> Any:
    made = table("attempt", "failed at", "class", "error", right=("attempt",))
    for failure in failures:
        at = failure["failed_at"]
        made.add_row(
            str(failure.get("attempt")),
            moment(datetime.fromisoformat(at) if isinstance(at, str) else at),
            f"{failure['failure_class']} ({failure['classification']})",
            error_line(failure["error"]),
        )
    return made


def print_traceback(screen: Console, error: dict[str, Any]) -> None:
    if trace := error.get("traceback"):
        screen.print()
        screen.print(Text(str(trace).rstrip(), style="dim"))
