"""Serve the API and the web interface in a terminal: receives an address, runs until a signal."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Annotated

import typer

from stepwell import logs
from stepwell.config import Settings
from stepwell.up.address import Address, listen
from stepwell.up.signals import signals_interrupt

app = typer.Typer(add_completion=False)

HostOption = Annotated[
    str, typer.Option(help="Address to listen at; 0.0.0.0 accepts connections from the network.")
]
PortOption = Annotated[
    int | None,
    typer.Option(
        help="Port to listen at; an error if it is in use; default: 8400 or the next free one.",
        min=0,
        max=65535,
    ),
]


@app.command()
def serve(
    context: typer.Context,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    socket_handle: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve the API and the web interface until Ctrl-C."""
    from stepwell.api import server
    from stepwell.store.connection.target import Process, databases

    settings: Settings = context.obj
    logs.configure(settings.log_level, settings.log_format, is_service=True)
    if socket_handle is not None:
        # The supervisor opened the socket and has printed the address.
        listener = socket.socket(fileno=socket_handle)
    else:
        address = listen(host, port)
        listener = address.listener
        typer.echo(_welcome(address))
    # After its shutdown the server raises again the signal that it received.
    with suppress(KeyboardInterrupt), signals_interrupt(), databases(settings) as place:
        server.serve(listener, settings, place.address(Process.API), place.address(Process.SLACK))


def _welcome(address: Address) -> str:
    busy = f"Port {address.busy_port} is in use. " if address.busy_port else ""
    return f"{busy}Serving at {address.url}"
