"""Start everything from a terminal: database, server, worker, keeper as one tree; Ctrl-C ends all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from stepwell import __version__, config
from stepwell.cli.serve import HostOption, PortOption
from stepwell.config import Settings
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate
from stepwell.up.address import Address, listen
from stepwell.up.children import ChildSpec
from stepwell.up.signals import signals_interrupt
from stepwell.up.supervise import ChildFailed, Supervisor

app = typer.Typer(add_completion=False)

DATABASE_WATCH_SECONDS = 1.0
READY_LIMIT_SECONDS = 60.0
OPEN_WARNING = "Not only this machine can reach this address: keep it behind a firewall or a proxy.\n"
# Time for handlers to finish, and then for the worker to report or give back what it holds.
WORK_GRACE_SECONDS = 10.0
WORK_REPORT_SECONDS = 5.0


@app.command()
def up(
    context: typer.Context,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the embedded database, as before the command.")
    ] = None,
    app_name: Annotated[
        str | None,
        typer.Option(
            "--app",
            envvar="STEPWELL_APP",
            show_envvar=False,
            help="The app to run operations of: module:app or file.py:app; default: STEPWELL_APP.",
        ),
    ] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Start no worker and no keeper.")] = False,
) -> None:
    """Start database, server, worker, keeper and web interface; Ctrl-C stops everything, data stays."""
    settings: Settings = context.obj
    if data_dir is not None:
        settings = config.load(data_dir=data_dir)
    # The address first: what is refused is refused before a database was started.
    address = listen(host, port)
    with address.listener, signals_interrupt(), _database(settings) as (conninfo, embedded):
        migrate.migrate(conninfo)
        specs = _specs(settings, address, None if no_worker else app_name, with_keeper=not no_worker)
        asyncio.run(_supervise(settings, address, specs, embedded))
    with suppress(OSError):
        typer.echo("Stopped.")


async def _supervise(
    settings: Settings, address: Address, specs: list[ChildSpec], embedded: EmbeddedServer | None
) -> None:
    async def ready() -> None:
        await _answers(address)
        _greet(settings, address, specs)

    async def watch_database() -> None:
        if embedded is not None:
            await _watch(embedded)

    supervisor = Supervisor(specs, say=typer.echo, ready=ready, also=[watch_database])
    try:
        await supervisor.run()
    except ChildFailed as error:
        raise StepwellError(str(error), hint="its reason is above") from error


def _specs(
    settings: Settings, address: Address, app_name: str | None, *, with_keeper: bool
) -> list[ChildSpec]:
    """Which children, in the order they are started. A worker without an app would have nothing to run."""
    # An address by environment, not by argument: it may hold a password, and arguments are public.
    target = ("--data-dir", str(settings.data_dir)) if settings.database_url is None else ()
    environment = {} if settings.database_url is None else {"STEPWELL_DATABASE_URL": settings.database_url}
    handle = address.listener.fileno()
    serve = (*target, "serve", "--socket-handle", str(handle))
    specs = [ChildSpec("server", serve, environment, handles=(handle,))]
    if app_name:
        work = (*target, "worker", "--app", app_name, "--grace-seconds", str(WORK_GRACE_SECONDS))
        grace_seconds = WORK_GRACE_SECONDS + WORK_REPORT_SECONDS
        specs.append(ChildSpec("worker", work, environment, grace_seconds=grace_seconds))
    if with_keeper:
        specs.append(ChildSpec("keeper", (*target, "keeper"), environment))
    return specs


def _greet(settings: Settings, address: Address, specs: list[ChildSpec]) -> None:
    if address.busy_port is not None:
        typer.echo(f"Port {address.busy_port} is in use; taking {address.port}.")
    data = f"Data folder  {settings.data_dir}" if settings.is_embedded else "Database     given by URL"
    names = [spec.name for spec in specs]
    hint = "" if "worker" in names or "keeper" not in names else " (a worker with --app module:app)"
    typer.echo(
        f"Stepwell {__version__}\n"
        f"  Address      {address.url}\n"
        f"  {data}\n"
        f"  Running      {', '.join(names)}{hint}\n"
        f"{'' if address.is_loopback else OPEN_WARNING}"
        "Ctrl-C stops everything."
    )


async def _answers(address: Address) -> None:
    """One request: the kernel keeps it waiting until the server takes it, so there is nothing to poll."""
    async with asyncio.timeout(READY_LIMIT_SECONDS):
        host = address.listener.getsockname()[0]
        reader, writer = await asyncio.open_connection(_reachable(host), address.port)
        try:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            await writer.drain()
            status = await reader.readline()
        finally:
            writer.close()
    if b" 200 " not in status:
        raise StepwellError("the server does not answer as it should", detail=status.decode(errors="replace"))


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


async def _watch(embedded: EmbeddedServer) -> None:
    """A database of ours that dies is ours to start again."""
    while True:
        await asyncio.sleep(DATABASE_WATCH_SECONDS)
        if embedded.postmaster_pid is not None:
            continue
        typer.echo("The database ended and is started again.")
        try:
            await asyncio.to_thread(_start_again, embedded)
        except DatabaseUnavailable as error:
            typer.echo(error.sentence(), err=True)


def _start_again(embedded: EmbeddedServer) -> None:
    # Giving up our use while the children keep theirs ends nothing; taking it again starts what is missing.
    embedded.stop()
    embedded.start()


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, EmbeddedServer | None]]:
    if settings.database_url is not None:
        yield settings.database_url, None
        return
    with EmbeddedServer(settings.data_dir) as embedded:
        yield embedded.conninfo(), embedded
