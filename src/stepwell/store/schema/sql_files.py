"""Read the SQL files of the schema: receives a folder, returns migrations and routines."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stepwell.errors import SchemaError
from stepwell.sql import SQL_DIR, support_text

_MIGRATION_NAME = re.compile(r"^(\d{4})_[a-z0-9_]+\.sql$")


@dataclass(frozen=True)
class SqlFile:
    """One file; `name` is its path in `folder`, which is `migrations` or `routines`."""

    folder: str
    name: str
    text: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def number(self) -> int:
        return int(self.name[:4])


@dataclass(frozen=True)
class SqlFiles:
    migrations: tuple[SqlFile, ...]
    routines: tuple[SqlFile, ...]

    @cached_property
    def routines_sha256(self) -> str:
        digest = hashlib.sha256()
        for file in self.routines:
            digest.update(f"{file.name}\0{file.sha256}\n".encode())
        return digest.hexdigest()

    @cached_property
    def sha256(self) -> str:
        """One hash of all files of the schema."""
        digest = hashlib.sha256(support_text("bookkeeping").encode())
        for file in (*self.migrations, *self.routines):
            digest.update(f"{file.name}\0{file.sha256}\n".encode())
        return digest.hexdigest()


def load(sql_dir: Path = SQL_DIR) -> SqlFiles:
    migrations = _read_all(sql_dir / "migrations")
    for expected, file in enumerate(migrations, start=1):
        if _MIGRATION_NAME.match(file.name) is None:
            raise SchemaError(
                f"migration {file.name} has no number", hint="name it NNNN_what.sql, in lower case"
            )
        if file.number != expected:
            raise SchemaError(
                f"migration {file.name} found where number {expected:04d} was expected",
                hint="migrations are numbered from 0001 without gaps or repetitions",
            )
    return SqlFiles(migrations, _read_all(sql_dir / "routines"))


def _read_all(folder: Path) -> tuple[SqlFile, ...]:
    found = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.sql"))
    return tuple(SqlFile(folder.name, name, path.read_text(encoding="utf-8")) for name, path in sorted(found))
