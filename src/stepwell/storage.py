"""Store files: receives a folder or the address of an object store, returns the address of the file."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from stepwell.errors import StorageUnavailable


def save(to: str | None, name: str, data: bytes) -> str:
    """`to` is a folder or a path that ends in .zip, on this machine or in a store that fsspec supports."""
    where = to or "."
    if not where.endswith(".zip"):
        where = f"{where.rstrip('/')}/{name}"
    put(where, data)
    return where


def put(where: str, data: bytes) -> None:
    """Write one file completely or not at all; create missing folders."""
    if "://" not in where:
        _put_here(Path(where), data)
        return
    try:
        fs, path = _open(where)
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        fs.pipe_file(path, data)
    except Exception as error:
        raise unavailable(where, error) from error


def read(where: str, *, limit_bytes: int | None = None) -> bytes:
    """The whole file, or its first bytes."""
    try:
        if "://" not in where:
            with Path(where).open("rb") as file:
                return file.read(-1 if limit_bytes is None else limit_bytes)
        fs, path = _open(where)
        found: bytes = fs.cat_file(path, end=limit_bytes)
        return found
    except Exception as error:
        raise unavailable(where, error) from error


def read_all(where: str, suffix: str) -> list[bytes]:
    """Every file in a folder and its subfolders with this suffix, in the order of the names."""
    try:
        fs, path = _open(where)
        found = fs.cat([name for name in sorted(fs.find(path)) if name.endswith(suffix)])
        return [data for _, data in sorted(found.items())] if isinstance(found, dict) else [found]
    except Exception as error:
        raise unavailable(where, error) from error


def without_secrets(url: str) -> str:
    """The address without user, password and query, because it is stored in the database."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _open(where: str) -> tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(where)  # type: ignore[no-any-return]


def _put_here(path: Path, data: bytes) -> None:
    """Write a temporary file, then rename it: a reader never finds half a file."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise unavailable(str(path), error) from error


def unavailable(where: str, error: Exception) -> StorageUnavailable:
    what = (
        error.strerror
        if isinstance(error, OSError) and error.strerror
        else str(error) or type(error).__name__
    )
    return StorageUnavailable(
        f"{without_secrets(where)} cannot be used: {' '.join(what.split())}",
        hint="check that it exists and that you have access; an object store needs its fsspec package",
    )
