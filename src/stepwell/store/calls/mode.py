"""Calls for the mode of a database, development or strict: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from stepwell.store.connection.call import Call, value


@dataclass(frozen=True, slots=True)
class Mode:
    """`person` acts in development mode where nobody is bound. `since`: the mode was entered or left then."""

    mode: Literal["development", "strict"]
    person: str | None
    since: datetime | None

    @property
    def is_development(self) -> bool:
        return self.mode == "development"


def read() -> Call[Mode]:
    return Call(
        "select m.mode, m.person, m.since from stepwell.fn_mode_read() as m", (), lambda rows: Mode(*rows[0])
    )


def leave_development(actor: str) -> Call[bool]:
    """False if the database was not in development mode."""
    return Call("select stepwell.fn_development_leave(%s)", (actor,), value)


def is_demo() -> Call[bool]:
    """True while the database is a demo that is played."""
    return Call("select d.since from stepwell.fn_demo_read() as d", (), bool)


def begin_demo(tenant: int) -> Call[bool]:
    """Say that this empty database is a demo. False if it is one already, or was one."""
    return Call("select stepwell.fn_demo_begin(%s)", (tenant,), value)


def leave_demo(actor: str) -> Call[bool]:
    """False if the database is no demo."""
    return Call("select stepwell.fn_demo_leave(%s)", (actor,), value)
