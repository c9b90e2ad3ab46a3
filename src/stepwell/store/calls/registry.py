"""Read the declared state machines: receives a conninfo, returns the registry as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from stepwell.errors import UNDEFINED_SQLSTATES, NotFound, SchemaError, from_database
from stepwell.machines.model import Registry
from stepwell.store.connection.call import Call, Rows, value
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10


def read(conninfo: str) -> Registry:
    """The whole registry in one call; raises SchemaError if the database was never migrated."""
    try:
        with psycopg.connect(
            named(conninfo, "stepwell registry"), autocommit=True, connect_timeout=CONNECT_LIMIT_SECONDS
        ) as connection:
            row = connection.execute("select stepwell.fn_registry_read()").fetchone()
    except psycopg.Error as error:
        if error.sqlstate in UNDEFINED_SQLSTATES:
            raise SchemaError("the database has no registry", hint="run 'stepwell db migrate'") from error
        raise from_database(error) from error
    if row is None or row[0] is None:
        raise NotFound("the registry is empty", hint="run 'stepwell doctor'")
    return Registry.from_document(row[0])


def check() -> Call[list[tuple[str, bool, str | None]]]:
    """The checks of the registry on its own rows: the name of each rule, whether it holds, and a detail."""
    return Call(
        "select c.* from stepwell.fn_registry_check() as c",
        (),
        lambda rows: [(row[0], row[1], row[2]) for row in rows],
    )


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a vocabulary, in two languages."""

    code: str
    label_en: str | None
    label_vi: str | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    name: str
    words: list[Word]


def whole() -> Call[dict[str, Any]]:
    """The registry as one document."""
    return Call("select stepwell.fn_registry_read()", (), value)


def vocabularies() -> Call[list[Vocabulary]]:
    """The vocabularies, by name, each with its words."""

    def decode(rows: Rows) -> list[Vocabulary]:
        found: dict[str, list[Word]] = {}
        for name, code, label_en, label_vi in rows:
            found.setdefault(name, []).append(Word(code, label_en, label_vi))
        return [Vocabulary(name, words) for name, words in found.items()]

    return Call(
        "select v.vocabulary, v.code, v.label_en, v.label_vi from stepwell.v_vocabulary as v"
        " order by v.vocabulary, v.code",
        (),
        decode,
    )
