"""Start database, server, worker and keeper as one process tree in a terminal; Ctrl-C stops all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from stepwell import __version__, config, logs
from stepwell.cli.next_steps import commands, program
from stepwell.cli.serve import HostOption, PortOption
from stepwell.config import Settings
from stepwell.demo import begin as demo_app
from stepwell.demo.begin import FOLDER_SETTING
from stepwell.errors import DatabaseUnavailable, StepwellError, UsageError
from stepwell.store.calls.mode import Mode
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.health.readings import connected, read_mode
from stepwell.store.schema import migrate
from stepwell.up.address import Address, listen
from stepwell.up.children import ChildSpec
from stepwell.up.reload import Examined, changes, examine
from stepwell.up.sign_in_link import sign_in_link
from stepwell.up.signals import signals_interrupt
from stepwell.up.supervise import ChildFailed, Supervisor

app = typer.Typer(add_completion=False)

DATABASE_WATCH_SECONDS = 1.0
READY_LIMIT_SECONDS = 60.0
OPEN_WARNING = "Other machines can reach this address: protect it with a firewall or a proxy."
# Time for handlers to finish, and then for the worker to report or release its leases.
WORK_GRACE_SECONDS = 10.0
WORK_REPORT_SECONDS = 5.0
# Short, because a developer waits for the new worker; it starts again what the old one released.
RELOAD_GRACE_SECONDS = 2.0
NAMES_LIMIT = 3
# For so many workflows the next commands are shown.
NEXT_LIMIT = 2


AppOption = Annotated[
    str | None,
    typer.Option(
        "--app",
        envvar="STEPWELL_APP",
        show_envvar=False,
        help="The app to run: module:app or file.py:app; default: STEPWELL_APP.",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the embedded server; the same as --data-dir before the command."),
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start. A change in one of the `watched` folders restarts the worker."""

    app_name: str | None
    with_keeper: bool = True
    watched: tuple[Path, ...] = ()
    # The demo: its own app, and a child that plays it.
    is_demo: bool = False


@app.command()
def up(
    context: typer.Context,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    data_dir: DataDirOption = None,
    app_name: AppOption = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Start no worker and no keeper.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Run the demo: made-up people, runs and a history of six days.")
    ] = False,
) -> None:
    """Start database, server, worker, keeper and web interface; Ctrl-C stops them, the data stays."""
    if demo and (no_worker or _is_given(context, "app_name")):
        raise UsageError(
            "--demo has an app and a worker of its own", hint="leave out --app and --no-worker", field="demo"
        )
    chosen = demo_app.APP if demo else app_name
    plan = Plan(None if no_worker else chosen, with_keeper=not no_worker, is_demo=demo)
    run_tree(context.obj, host, port, data_dir, plan)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def run_tree(settings: Settings, host: str, port: int | None, data_dir: Path | None, plan: Plan) -> None:
    """Run everything in one process tree until a signal."""
    logs.configure(settings.log_level, settings.log_format, is_service=True)
    if data_dir is not None:
        settings = config.load(data_dir=data_dir)
    # Listen first: a wrong address must be refused before the database is started.
    address = listen(host, port)
    with address.listener, signals_interrupt(), _database(settings) as (conninfo, embedded):
        for found in migrate.migrate(conninfo).refused:
            typer.echo(str(found), err=True)
        begun = None
        if plan.is_demo:
            begun = demo_app.begin(conninfo, _desk_folder(settings), typer.echo)
            plan = plan if begun.is_played else replace(plan, app_name=None, is_demo=False)
        with connected(conninfo) as connection:
            mode = read_mode(connection)
        passwords = {} if begun is None else begun.passwords
        asyncio.run(_supervise(settings, address, plan, embedded, mode, conninfo, passwords))
    with suppress(OSError):
        typer.echo("Stopped.")


async def _supervise(
    settings: Settings,
    address: Address,
    plan: Plan,
    embedded: EmbeddedServer | None,
    mode: Mode,
    conninfo: str,
    passwords: Mapping[str, str],
) -> None:
    specs = _specs(settings, address, plan)
    # The worker loads the app as well; it is examined here to suggest the next commands.
    examining = asyncio.create_task(examine(plan.app_name)) if plan.app_name else None

    async def ready() -> None:
        await _answers(address)
        found = Examined([]) if examining is None else await examining
        link = await sign_in_link(conninfo, mode)
        _greet(settings, address, specs, plan, found, mode, link)
        if plan.is_demo:
            from stepwell.demo.next_steps import next_commands

            _greet_to_demo(settings, passwords, await next_commands(conninfo))
        typer.echo("\nCtrl-C stops everything.\n")

    async def watch_database() -> None:
        if embedded is not None:
            await _watch(embedded)

    async def follow_files() -> None:
        if plan.watched and plan.app_name is not None:
            await _follow(supervisor, plan.app_name, plan.watched)

    supervisor = Supervisor(specs, say=typer.echo, ready=ready, also=[watch_database, follow_files])
    try:
        await supervisor.run()
    except ChildFailed as error:
        raise StepwellError(str(error), hint="the reason is printed above") from error
    finally:
        if examining is not None:
            examining.cancel()


async def _follow(supervisor: Supervisor, app_name: str, folders: Sequence[Path]) -> None:
    """Restart the worker when the app changes; if the new app cannot be loaded, keep the old worker."""
    async for changed in changes(folders):
        names = ", ".join(path.name for path in changed[:NAMES_LIMIT])
        more = f" and {len(changed) - NAMES_LIMIT} more" if len(changed) > NAMES_LIMIT else ""
        found = await examine(app_name)
        if found.problem is not None:
            stays = "the old worker keeps running" if supervisor.is_running("worker") else "no worker runs"
            typer.echo(f"{names}{more} changed, but the app cannot be loaded; {stays}:")
            typer.echo(f"  {found.problem}", err=True)
            continue
        typer.echo(f"{names}{more} changed; the worker restarts.")
        await supervisor.restart("worker")


def _specs(settings: Settings, address: Address, plan: Plan) -> list[ChildSpec]:
    """The children in the order of their start. Without an app there is no worker."""
    # The URL goes into the environment: it may contain a password, and other users can see arguments.
    target = ("--data-dir", str(settings.data_dir)) if settings.database_url is None else ()
    environment = {} if settings.database_url is None else {"STEPWELL_DATABASE_URL": settings.database_url}
    if plan.app_name == demo_app.APP:
        environment[FOLDER_SETTING] = str(_desk_folder(settings))
    handle = address.listener.fileno()
    serve = (*target, "serve", "--socket-handle", str(handle))
    specs = [ChildSpec("server", serve, environment, handles=(handle,))]
    if plan.app_name:
        is_reloaded = bool(plan.watched)
        work_seconds = RELOAD_GRACE_SECONDS if is_reloaded else WORK_GRACE_SECONDS
        options = ("--app", plan.app_name, "--supervised", "--grace-seconds", str(work_seconds))
        specs.append(
            ChildSpec(
                "worker",
                (*target, "worker", *options),
                environment,
                grace_seconds=work_seconds + WORK_REPORT_SECONDS,
                is_reloaded=is_reloaded,
            )
        )
    if plan.is_demo:
        specs.append(ChildSpec("demo", (*target, "demo", "play"), environment))
    if plan.with_keeper:
        specs.append(ChildSpec("keeper", (*target, "keeper"), environment))
    return specs


def _greet(
    settings: Settings,
    address: Address,
    specs: list[ChildSpec],
    plan: Plan,
    found: Examined,
    mode: Mode,
    link: str | None,
) -> None:
    if address.busy_port is not None:
        typer.echo(f"Port {address.busy_port} is in use; port {address.port} is used instead.")
    facts = {
        "Address": address.url,
        "Sign in": f"{address.url}{link} (works once)" if link else "",
        "Data folder" if settings.is_embedded else "Database": (
            str(settings.data_dir) if settings.is_embedded else "given by URL"
        ),
        "Mode": f"development, as {mode.person}" if mode.is_development else "",
        "Running": ", ".join(spec.name for spec in specs),
        "Workflows": ", ".join(workflow["workflow"] for workflow in found.workflows),
        "Watching": ", ".join(map(str, plan.watched)),
    }
    typer.echo(f"\nStepwell {__version__} is ready\n")
    for name, value in facts.items():
        if value:
            typer.echo(f"  {name:13}{value}")
    if not address.is_loopback:
        typer.echo(f"\n{OPEN_WARNING}")
    if not plan.is_demo and (lines := _next_lines(settings, specs, found)):
        typer.echo("\nNext, in another terminal:\n")
        for line in lines:
            typer.echo(f"  {line}")


def _greet_to_demo(
    settings: Settings, passwords: Mapping[str, str], following: Mapping[str, Sequence[str]]
) -> None:
    """What to do next; after the first start also the passwords, which are stored as hashes only."""
    if passwords:
        typer.echo("\nPasswords of people of the demo, shown once:\n")
        for name, password in passwords.items():
            typer.echo(f"  {name:13}{password}")
    typer.echo("\nThis is a demo: people and runs are made up. Next, in another terminal:")
    groups = {**following, "Turn the demo off: nothing new comes, what is there stays": ["demo off"]}
    for heading, lines in groups.items():
        if lines:
            typer.echo(f"\n  {heading}:")
        for line in lines:
            typer.echo(f"    {program(settings)} {line}")


def _desk_folder(settings: Settings) -> Path:
    return settings.data_dir / "demo-desk"


def _next_lines(settings: Settings, specs: list[ChildSpec], found: Examined) -> list[str]:
    if found.workflows:
        lines = [line for workflow in found.workflows[:NEXT_LIMIT] for line in commands(workflow, settings)]
        return list(dict.fromkeys(lines))
    if "keeper" in [spec.name for spec in specs] and "worker" not in [spec.name for spec in specs]:
        return [f"{program(settings)} worker --app module:app"]
    return []


async def _answers(address: Address) -> None:
    """Wait until the server answers one request. The kernel queues it until then, so nothing is polled."""
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
        raise StepwellError(
            "the server started but /healthz does not answer with status 200",
            detail=status.decode(errors="replace"),
        )


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


async def _watch(embedded: EmbeddedServer) -> None:
    """Start the embedded database again when it has ended."""
    while True:
        await asyncio.sleep(DATABASE_WATCH_SECONDS)
        if embedded.postmaster_pid is not None:
            continue
        typer.echo("The database ended and restarts.")
        try:
            await asyncio.to_thread(_start_again, embedded)
        except DatabaseUnavailable as error:
            typer.echo(error.sentence(), err=True)


def _start_again(embedded: EmbeddedServer) -> None:
    # `stop` ends no server while the children use it; `start` then starts the server that is missing.
    embedded.stop()
    embedded.start()


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, EmbeddedServer | None]]:
    if settings.database_url is not None:
        yield settings.database_url, None
        return
    with EmbeddedServer(settings.data_dir) as embedded:
        yield embedded.conninfo(), embedded
