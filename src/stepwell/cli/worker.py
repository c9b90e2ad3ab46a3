"""Run workers in a terminal: receives the name of an app, runs until a signal, then releases its leases."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from stepwell import logs
from stepwell.config import Settings
from stepwell.errors import StepwellError, UsageError
from stepwell.up.children import ChildSpec
from stepwell.up.supervise import ChildFailed, Supervisor

if TYPE_CHECKING:
    from stepwell.app import App
    from stepwell.worker import Worker

app = typer.Typer(add_completion=False)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROCESS_LIMIT = 256
# Added to the grace time of the worker itself, so that a worker that stops in time is never killed.
CHILD_GRACE_SECONDS = 10.0


@app.command()
def worker(
    context: typer.Context,
    app_name: Annotated[
        str | None,
        typer.Option("--app", help="The app: module:app or file.py:app; default: STEPWELL_APP."),
    ] = None,
    slots: Annotated[
        int, typer.Option(help="Handlers at the same time in each process.", min=1, max=10000)
    ] = 100,
    processes: Annotated[
        int,
        typer.Option(help="Worker processes; a process that crashes restarts.", min=1, max=PROCESS_LIMIT),
    ] = 1,
    executors: Annotated[
        str | None,
        typer.Option(
            "--executor", help="Executors to serve, such as default,process; default: those of the app."
        ),
    ] = None,
    lease_seconds: Annotated[
        int, typer.Option(help="A worker that is silent for so long loses its leases.", min=1, max=86400)
    ] = 30,
    grace_seconds: Annotated[
        float, typer.Option(help="Time for running handlers to finish after a signal.", min=0, max=86400)
    ] = 20.0,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Run operations until Ctrl-C. The first signal lets handlers finish, the second releases their jobs."""
    from stepwell.worker import Worker

    settings: Settings = context.obj
    logs.configure(settings.log_level, settings.log_format, is_service=True)
    found = _app_of(context, app_name)
    served = tuple(part.strip() for part in executors.split(",") if part.strip()) if executors else None
    if processes > 1:
        arguments = _arguments(context, app_name, slots, executors, lease_seconds, grace_seconds)
        asyncio.run(_supervise(found, arguments, processes, grace_seconds))
        return
    made = Worker(
        found, slots=slots, executors=served, lease_seconds=lease_seconds, grace_seconds=grace_seconds
    )
    # A supervisor prints what a signal does; its children do not.
    say = _silence if supervised else typer.echo
    asyncio.run(_work(found, made, say))
    if made.abandoned_count:
        # The interpreter would wait at exit for threads that cannot be stopped.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _silence(sentence: str) -> None:
    pass


async def _work(found: App, made: Worker, say: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    signal_count = 0

    def stop() -> None:
        nonlocal signal_count
        signal_count += 1
        if signal_count == 1:
            say("Waiting for running handlers. Ctrl-C again releases their jobs.")
        elif signal_count == 2:
            say("Releasing all jobs.")
        made.ask_stop()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    async with found:
        started = asyncio.Event()
        working = asyncio.create_task(made.run(started))
        telling = asyncio.create_task(_tell(found, made, started, is_supervised=say is _silence))
        try:
            await working
        finally:
            telling.cancel()
            working.cancel()
    say("Stopped.")


async def _tell(found: App, made: Worker, started: asyncio.Event, *, is_supervised: bool) -> None:
    await started.wait()
    names = ", ".join(sorted(found.handlers)) or "none"
    ending = "" if is_supervised else " Ctrl-C stops."
    typer.echo(f"Worker {made.name} is ready; operations: {names}.{ending}")


async def _supervise(found: App, arguments: list[str], count: int, grace_seconds: float) -> None:
    specs = [
        ChildSpec(f"worker {number}", tuple(arguments), grace_seconds=grace_seconds + CHILD_GRACE_SECONDS)
        for number in range(1, count + 1)
    ]

    async def ready() -> None:
        typer.echo(f"{count} worker processes. Ctrl-C stops them.")

    # Connect here first: a wrong address or an old schema is then reported once, not by every child.
    async with found:
        await found.prepare()
        try:
            await Supervisor(specs, say=typer.echo, ready=ready, stops_together=True).run()
        except ChildFailed as error:
            raise StepwellError(str(error), hint="the reason is printed above") from error
    typer.echo("Stopped.")


def _arguments(
    context: typer.Context,
    app_name: str | None,
    slots: int,
    executors: str | None,
    lease_seconds: int,
    grace_seconds: float,
) -> list[str]:
    """The arguments of each child: those of this command, with one process."""
    root = context.find_root().params
    options = {
        "--database-url": root.get("database_url"),
        "--data-dir": root.get("data_dir"),
    }
    own = {
        "--app": app_name,
        "--slots": slots,
        "--executor": executors,
        "--lease-seconds": lease_seconds,
        "--grace-seconds": grace_seconds,
    }
    return [*_options(options), "worker", *_options(own), "--supervised"]


def _options(given: Mapping[str, object]) -> list[str]:
    return [part for name, value in given.items() if value is not None for part in (name, str(value))]


def _app_of(context: typer.Context, app_name: str | None) -> App:
    from stepwell.loading import load_app

    target = app_name or os.environ.get("STEPWELL_APP")
    if not target:
        raise UsageError("--app is missing", hint="give --app module:app, or set STEPWELL_APP", field="app")
    found = load_app(target)
    if not found.handlers:
        raise UsageError(f"--app {target}: it has no operations", hint="declare one with @app.operation")
    root = context.find_root().params
    # An option of the command line overrides the settings in the code; an environment variable does not.
    if root.get("database_url") or root.get("data_dir"):
        found.use_settings(context.obj)
    return found
