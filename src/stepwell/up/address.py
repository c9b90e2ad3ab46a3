"""Find the address to serve at: receives host and port, returns a socket that already listens.

The parent process keeps the socket open. So a restarted server has the same address, and a request during the
restart waits instead of being refused.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stepwell.errors import UsageError

DEFAULT_PORT: Final = 8400
# How many ports are tried, from the default one on.
PORT_TRIES_LIMIT: Final = 100
BACKLOG: Final = 512


@dataclass(frozen=True, slots=True)
class Address:
    """Where we listen. `busy_port` is the default port if another program uses it."""

    listener: socket.socket
    host: str
    port: int
    busy_port: int | None = None

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.listener.getsockname()[0]).is_loopback

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def listen(host: str, port: int | None) -> Address:
    """Listen at the given port or raise an error; without a port, at the default or the next free one."""
    for candidate in _candidates(port):
        try:
            listener = _bind(host, candidate)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            raise _refusal(host, candidate, error) from error
        found = listener.getsockname()[1]
        is_elsewhere = port is None and found != DEFAULT_PORT
        return Address(listener, host, found, DEFAULT_PORT if is_elsewhere else None)
    last = DEFAULT_PORT + PORT_TRIES_LIMIT - 1
    raise UsageError(
        f"the ports {DEFAULT_PORT} to {last} are all in use",
        hint="choose a free one with --port",
        field="port",
    )


def _candidates(port: int | None) -> Iterator[int]:
    if port is not None:
        yield port
    else:
        yield from range(DEFAULT_PORT, DEFAULT_PORT + PORT_TRIES_LIMIT)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _refusal(host: str, port: int, error: OSError) -> UsageError:
    match error:
        case socket.gaierror():
            return UsageError(
                f"--host {host!r} is not an address of this machine",
                hint="accepted are 127.0.0.1, ::1, 0.0.0.0 or a name that resolves",
                field="host",
            )
        case OSError(errno=errno.EADDRINUSE):
            return UsageError(
                f"port {port} is in use",
                hint="choose another with --port, or leave it out to take the next free one",
                field="port",
            )
        case OSError(errno=errno.EACCES):
            return UsageError(
                f"port {port} needs more rights than you have", hint="choose one above 1023", field="port"
            )
        case OSError(errno=errno.EADDRNOTAVAIL):
            return UsageError(
                f"--host {host!r} is not an address of this machine",
                hint="accepted are 127.0.0.1, ::1, 0.0.0.0 or an address of a network card",
                field="host",
            )
        case _:
            return UsageError(f"cannot listen at {host} port {port}: {error.strerror}", field="host")
