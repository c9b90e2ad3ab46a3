"""Calls the functions for human steps by short names: receives a unit and a person, returns the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine


class People:
    """`people.claim(unit, "ada")` is `select fn_step_claim(1, unit, 'ada')`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def add(self, name: str, *roles: str) -> int:
        found: int = self.engine.one("select fn_person_set(1, %s, %s)", (name, list(roles)))
        return found

    def __getattr__(self, name: str) -> Any:
        def call(unit_id: int, *args: Any, **named: Any) -> Any:
            values = [Jsonb(value) if isinstance(value, dict) else value for value in args]
            words = {f"p_{key}": Jsonb(v) if isinstance(v, dict) else v for key, v in named.items()}
            places = ", ".join(["%s"] * len(values) + [f"{key} => %s" for key in words])
            return self.engine.one(
                f"select fn_step_{name}(1, %s{', ' if places else ''}{places})",
                (unit_id, *values, *words.values()),
            )

        return call


@contextmanager
def refused(sqlstate: str, *words: str) -> Iterator[None]:
    """The call in the block must be refused with this SQLSTATE and a message with these words."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    assert caught.value.sqlstate == sqlstate, caught.value
    assert [word for word in words if word not in str(caught.value)] == [], caught.value


def unreadable(engine: Engine, refusal: psycopg.Error | str) -> list[str]:
    """The parts of a message that a person cannot understand: unit numbers, names of codes and guards."""
    message = refusal if isinstance(refusal, str) else str(refusal.diag.message_primary)
    # A kind and the name of a call in brackets, such as `(rpc step_claim)`, is not the name of a guard.
    message = re.sub(r"\((?:rpc|timer|event|condition_resolved) \w+\)", "", message)
    rows = engine.db.execute("select predicate_name from guard_predicate").fetchall()
    guards = [name for (name,) in rows if re.search(rf"\b{name}\b", message)]
    numbers = re.findall(r"\b\d{7,}\b(?! bytes)", message)
    codes = re.findall(r"\b[a-z]+_[a-z_]+:\S|\{[a-z_]+\}|\bunit\b|—", message)
    return [f"{found} in: {message}" for found in (*guards, *numbers, *codes)]
