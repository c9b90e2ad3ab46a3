"""Keep several server processes behind one socket: receives their number, runs until a signal.

SIGHUP replaces them one after the other: the others answer meanwhile, so that no request is refused. Each
process tells by a byte in a pipe that it answers; only then the next one is replaced.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Sequence

import typer

from stepwell.config import Settings
from stepwell.errors import StepwellError
from stepwell.up.children import ChildSpec
from stepwell.up.supervise import ChildFailed, Supervisor


async def keep_serving(
    settings: Settings, listener: socket.socket, count: int, more: Sequence[str] = ()
) -> None:
    # The URL goes into the environment: it may contain a password, and other users can see arguments.
    target = ("--data-dir", str(settings.data_dir)) if settings.database_url is None else ()
    environment = {} if settings.database_url is None else {"STEPWELL_DATABASE_URL": settings.database_url}
    handle = listener.fileno()
    readable, writable = os.pipe()
    answering = asyncio.Semaphore(0)

    def heard() -> None:
        for _ in os.read(readable, 64):
            answering.release()

    asyncio.get_running_loop().add_reader(readable, heard)
    command = (*target, "serve", "--socket-handle", str(handle), "--ready-handle", str(writable), *more)
    names = [f"server {number}" for number in range(1, count + 1)]
    specs = [ChildSpec(name, command, environment, handles=(handle, writable)) for name in names]
    asked = asyncio.Event()

    async def ready() -> None:
        for _ in names:
            await answering.acquire()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
        typer.echo(f"{count} server processes. Ctrl-C stops them, SIGHUP replaces them.")

    async def replace() -> None:
        while True:
            await asked.wait()
            asked.clear()
            for name in names:
                # Bytes of processes that crashed and came back meanwhile.
                while not answering.locked():
                    await answering.acquire()
                await supervisor.restart(name)
                await answering.acquire()
            typer.echo("All server processes are new.")

    supervisor = Supervisor(specs, say=typer.echo, ready=ready, also=[replace], stops_together=True)
    try:
        await supervisor.run()
    except ChildFailed as error:
        raise StepwellError(str(error), hint="the reason is printed above") from error
    finally:
        asyncio.get_running_loop().remove_reader(readable)
        os.close(readable)
        os.close(writable)
    typer.echo("Stopped.")
