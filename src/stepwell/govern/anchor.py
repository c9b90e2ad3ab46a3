"""Write block headers to an anchor: receives its address and headers, returns the stored headers.

A person who controls the database can compute the whole chain again, but cannot change the anchor. Every
header is written at least once, in the order of the blocks; after a failure the next pass writes it again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from stepwell import logs, storage
from stepwell.errors import InvalidInput, StepwellError, StorageUnavailable
from stepwell.govern.signing import read_signer
from stepwell.govern.verify import read_anchor
from stepwell.store.calls import sealing
from stepwell.store.connection.call import Call

BATCH_BLOCKS = 20
REQUEST_LIMIT_SECONDS = 10.0
FILE_SUFFIXES = (".jsonl", ".ndjson", ".log")

T = TypeVar("T")
Header = dict[str, Any]


class Performs(Protocol):
    """A connection that performs calls, each in its own transaction."""

    def perform(self, call: Call[T]) -> T: ...


class Anchor(Protocol):
    def append(self, headers: Sequence[Header]) -> None: ...

    def read(self) -> list[Header]: ...


def open_anchor(address: str) -> Anchor:
    """A file that ends in .jsonl, a webhook, or a folder on a disk or in an object store."""
    if address.startswith(("http://", "https://")):
        return _Webhook(address)
    if "://" not in address and address.endswith(FILE_SUFFIXES):
        return _File(Path(address))
    if not address:
        raise InvalidInput(
            "anchor is empty", hint="write a path ending in .jsonl, https://…, or s3://bucket/folder"
        )
    return _Objects(address.rstrip("/"))


def tell(
    connection: Performs,
    address: str,
    key_file: str | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> int:
    """Write all missing headers of all tenants to an anchor, signed if there is a key; return how many."""
    anchor, name = open_anchor(address), storage.without_secrets(address)
    try:
        signer = None if key_file is None else read_signer(key_file)
    except StepwellError as error:
        for tenant_id in connection.perform(sealing.anchor_due(name, None)):
            connection.perform(sealing.anchor_written(tenant_id, name, None, None, error.message))
        raise
    key = None if signer is None else signer.public_key
    told = 0
    for tenant_id in connection.perform(sealing.anchor_due(name, key)):
        while not stopped():
            headers = connection.perform(sealing.anchor_headers(tenant_id, name, key, BATCH_BLOCKS))
            if not headers:
                break
            try:
                anchor.append(headers if signer is None else [signer.signed(header) for header in headers])
            except StepwellError as error:
                connection.perform(sealing.anchor_written(tenant_id, name, None, key, error.message))
                raise
            connection.perform(sealing.anchor_written(tenant_id, name, headers[-1]["block_no"], key, None))
            told += len(headers)
    return told


class _File:
    """One header in each line, appended and synced to the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, headers: Sequence[Header]) -> None:
        lines = b"".join(_bytes(header) for header in headers)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                # After a line that a crash cut off, begin a new line.
                if file.tell() > 0 and self._last_byte() != b"\n":
                    lines = b"\n" + lines
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise storage.unavailable(str(self._path), error) from error

    def _last_byte(self) -> bytes:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)

    def read(self) -> list[Header]:
        return read_anchor(storage.read(str(self._path)))


class _Objects:
    """One object for each block: object stores write whole objects, and can lock them against changes."""

    def __init__(self, url: str) -> None:
        self._url = url

    def append(self, headers: Sequence[Header]) -> None:
        for header in headers:
            # A new key signs the head again: another object, because the earlier one may be locked.
            mark = f".{header['public_key'][:16]}" if "public_key" in header else ""
            name = f"{header['block_no']:012}{mark}.json"
            storage.put(f"{self._url}/{header['chain_id']}/{name}", _bytes(header))

    def read(self) -> list[Header]:
        return [header for data in storage.read_all(self._url, ".json") for header in read_anchor(data)]


class _Webhook:
    """One request for each block; the receiver finds repeats by the Idempotency-Key."""

    def __init__(self, url: str) -> None:
        self._url = url

    def append(self, headers: Sequence[Header]) -> None:
        import httpx

        logs.quiet_http_clients()
        try:
            with httpx.Client(timeout=REQUEST_LIMIT_SECONDS) as client:
                for header in headers:
                    mark = f":{header['public_key'][:16]}" if "public_key" in header else ""
                    key = f"{header['chain_id']}:{header['block_no']}{mark}"
                    answer = client.post(
                        self._url,
                        content=_bytes(header),
                        headers={"content-type": "application/json", "idempotency-key": key},
                    )
                    answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            raise StorageUnavailable(
                f"{storage.without_secrets(self._url)} answered {error.response.status_code}"
            ) from error
        except httpx.HTTPError as error:
            raise storage.unavailable(self._url, error) from error

    def read(self) -> list[Header]:
        raise InvalidInput(
            "anchor: a webhook cannot be read",
            hint="give the file in which its receiver stores the headers",
        )


def _bytes(header: Header) -> bytes:
    return (json.dumps(header, sort_keys=True) + "\n").encode()
