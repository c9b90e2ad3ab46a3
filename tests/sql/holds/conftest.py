"""Fixtures of the tests of incident holds: `people`, and `holding`, which opens and releases holds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.drive import Engine
from tests.sql.people.asking import People


class Holding:
    """`holding.open("operation", "post")` returns the number of the hold."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def open(self, kind: str, value: str, reason: str = "period closed", actor: str = "cli:ops") -> int:
        made = self.engine.one("select fn_hold_open(1, %s, %s, %s, %s)", (kind, value, reason, actor))
        return int(made["hold_id"])

    def release(
        self, hold_id: int, share: int = 100, reason: str = "open again", actor: str = "cli:ops"
    ) -> Any:
        return self.engine.one("select fn_hold_release(1, %s, %s, %s, %s)", (hold_id, share, reason, actor))

    def carry(self) -> int:
        """One pass of the keeper."""
        found: int = self.engine.one("select fn_holds_carry()")
        return found

    def end(self) -> None:
        """Passes of the keeper until nothing is left to carry on."""
        for _ in range(10):
            if self.carry() == 0 and not self.engine.one("select bool_or(has_hold) from tenant"):
                return
        raise AssertionError("the holds do not end")


@pytest.fixture
def holding(engine: Engine) -> Holding:
    return Holding(engine)


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office")
    made.add("ben", "office", "lead", "reviewer")
    return made
