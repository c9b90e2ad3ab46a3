"""Stands for a PostgreSQL that is too old: it sends its version and answers nothing else."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def old_server(version: str) -> Iterator[str]:
    """Conninfo of a server that reports `version`; it knows only the start of the wire protocol."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, version), daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        yield f"host=127.0.0.1 port={port} user=x dbname=x sslmode=disable gssencmode=disable"
        # A blocked accept ends only when the socket is shut down.
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _serve(listening: socket.socket, version: str) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client:
            (length,) = struct.unpack("!i", client.recv(4, socket.MSG_WAITALL))
            client.recv(length - 4, socket.MSG_WAITALL)
            client.sendall(
                _message(b"R", struct.pack("!i", 0))
                + _message(b"S", b"server_version\0" + version.encode() + b"\0")
                + _message(b"S", b"client_encoding\0UTF8\0")
                + _message(b"K", struct.pack("!ii", 1, 1))
                + _message(b"Z", b"I")
            )
            # Until the client closes the connection.
            while client.recv(1024):
                pass


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body
