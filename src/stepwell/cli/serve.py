"""Serve the API and the web interface in a terminal: receives an address, runs until a signal."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from stepwell import logs
from stepwell.config import Settings
from stepwell.errors import UsageError
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


ProcessesOption = Annotated[
    int, typer.Option(help="Number of server processes behind the address.", min=1, max=64)
]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--certificate", help="File of the certificate and its chain, for https.", exists=True),
]
KeyOption = Annotated[
    Path | None, typer.Option("--certificate-key", help="File of the key of the certificate.", exists=True)
]


@app.command()
def serve(
    context: typer.Context,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    processes: ProcessesOption = 1,
    chain: CertificateOption = None,
    key: KeyOption = None,
    socket_handle: Annotated[int | None, typer.Option(hidden=True)] = None,
    ready_handle: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve the API and the web interface until Ctrl-C. With several processes, SIGHUP replaces them."""
    from stepwell.api import server
    from stepwell.store.connection.target import Process, databases
    from stepwell.up.servers import keep_serving

    if (chain is None) != (key is None):
        raise UsageError(
            "--certificate and --certificate-key belong together",
            hint="give both for https, or none behind a proxy",
        )
    settings: Settings = context.obj
    logs.configure(settings.log_level, settings.log_format, is_service=True)
    if socket_handle is not None:
        # The supervisor opened the socket and has printed the address.
        listener = socket.socket(fileno=socket_handle)
    else:
        address = listen(host, port)
        listener = address.listener
        typer.echo(_welcome(address, is_secure=chain is not None))
    certificate = None if chain is None or key is None else server.Certificate(chain, key)
    # After its shutdown the server raises again the signal that it received.
    with suppress(KeyboardInterrupt), signals_interrupt(), databases(settings) as place:
        if processes > 1:
            more = () if certificate is None else ("--certificate", str(chain), "--certificate-key", str(key))
            asyncio.run(keep_serving(settings, listener, processes, more))
        else:
            addresses = place.address(Process.API), place.address(Process.SLACK)
            server.serve(listener, settings, *addresses, certificate, ready_handle)


def _welcome(address: Address, *, is_secure: bool) -> str:
    busy = f"Port {address.busy_port} is in use. " if address.busy_port else ""
    return f"{busy}Serving at {address.url.replace('http:', 'https:') if is_secure else address.url}"
