"""Store large values outside of the database: receives a value, returns a reference for inputs and results.

The name of a file is the hash of its content: a repeated handler stores the same file again, and a reader can
check that it reads what was stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from stepwell import config, json_text, storage
from stepwell.errors import InvalidInput, UsageError

JSON_TYPE: Final = "application/json"
TEXT_TYPE: Final = "text/plain; charset=utf-8"
BYTES_TYPE: Final = "application/octet-stream"
URL_LIMIT: Final = 2_000
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")
FILE_SCHEME: Final = "file://"


@dataclass(frozen=True, slots=True)
class Ref:
    """A value that is stored elsewhere. A parameter `data: sw.Ref` receives one; a result may have several.

    `STEPWELL_REF_STORE` is the store: a folder that all workers share, or an address that fsspec supports.
    Only references of this store can be read, unless another `store` is given.
    """

    url: str
    size: int
    sha256: str
    media_type: str = BYTES_TYPE

    def __post_init__(self) -> None:
        if not 0 < len(self.url) <= URL_LIMIT:
            raise ValueError(f"url has a wrong length; accepted: 1 to {URL_LIMIT} characters")
        if self.size < 0:
            raise ValueError("size is negative; accepted: a number of bytes from 0")
        if not _SHA256.match(self.sha256):
            raise ValueError("sha256 is not a hash; accepted: 64 lowercase hex digits")

    @classmethod
    async def put(cls, value: Any, *, media_type: str | None = None, store: str | None = None) -> Self:
        """Store bytes, a text, or any value that can be JSON."""
        return await asyncio.to_thread(cls.put_sync, value, media_type=media_type, store=store)

    async def get(self, *, store: str | None = None) -> Any:
        """The stored value: JSON and texts are decoded, other values are bytes. Checked like `read`."""
        return await asyncio.to_thread(self.get_sync, store=store)

    async def read(self, *, store: str | None = None) -> bytes:
        """The bytes, checked against size and hash."""
        return await asyncio.to_thread(self.read_sync, store=store)

    @classmethod
    def put_sync(cls, value: Any, *, media_type: str | None = None, store: str | None = None) -> Self:
        """The same for a handler that runs in a thread or a process."""
        data, own_type = _encoded(value)
        home = _home(store)
        sha256 = hashlib.sha256(data).hexdigest()
        name = f"{sha256[:2]}/{sha256}"
        storage.put(_opened(f"{home}/{name}"), data)
        return cls(f"{storage.without_secrets(home)}/{name}", len(data), sha256, media_type or own_type)

    def get_sync(self, *, store: str | None = None) -> Any:
        """The same for a handler that runs in a thread or a process."""
        data = self.read_sync(store=store)
        kind = self.media_type.partition(";")[0].strip()
        if kind == JSON_TYPE:
            return json.loads(data)
        return data.decode() if kind.startswith("text/") else data

    def read_sync(self, *, store: str | None = None) -> bytes:
        """The same for a handler that runs in a thread or a process."""
        home = _home(store)
        shown = f"{storage.without_secrets(home)}/"
        if not self.url.startswith(shown) or ".." in self.url.split("/"):
            # A reference may come from the input of a run: it must not read other files.
            raise InvalidInput(
                f"ref: {self.url} is not in {shown}",
                hint="set STEPWELL_REF_STORE, or give the store of the reference: ref.get(store=…)",
                field="url",
            )
        data = storage.read(_opened(f"{home}/{self.url[len(shown) :]}"), limit_bytes=self.size + 1)
        if len(data) != self.size or hashlib.sha256(data).hexdigest() != self.sha256:
            raise InvalidInput(
                f"ref: the content of {self.url} was changed: its size or its sha256 differs",
                field="sha256",
            )
        return data


def _encoded(value: Any) -> tuple[bytes, str]:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value), BYTES_TYPE
    if isinstance(value, str):
        return value.encode(), TEXT_TYPE
    return json_text.encode(value, "value").encode(), JSON_TYPE


def _home(store: str | None) -> str:
    """The address of the store, without a slash at its end; a folder as file://…"""
    found = store or config.load().ref_store
    if found is None:
        raise UsageError(
            "STEPWELL_REF_STORE is not set",
            hint="give a folder that all workers share, or a store such as s3://bucket/refs",
            field="STEPWELL_REF_STORE",
        )
    if "://" not in found:
        found = f"{FILE_SCHEME}{Path(found).expanduser().absolute()}"
    return found.rstrip("/")


def _opened(url: str) -> str:
    """The path of a file on this machine, which is written completely or not at all; else the address."""
    return url.removeprefix(FILE_SCHEME)
