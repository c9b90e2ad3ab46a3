"""Begin the demo, or go on with it: receives a database, returns whether it is played, and passwords."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from stepwell.client import Client
from stepwell.errors import UsageError
from stepwell.store.calls import mode, rehearsal

APP: Final = "stepwell.demo.app:app"
# Where the desk, the other system of the demo, keeps its files.
FOLDER_SETTING: Final = "STEPWELL_DEMO_FOLDER"
DAYS_SETTING: Final = "STEPWELL_DEMO_DAYS"
DAYS_DEFAULT: Final = 6
DAYS_LIMIT: Final = 30
MAKING = "Making the demo: the engine works through {days} days. Once, and it takes about {seconds} seconds."
NOT_EMPTY = (
    "This database has runs of its own, so no demo is added to it. For a demo give an empty folder: "
    "stepwell up --demo --data-dir FOLDER"
)


@dataclass(frozen=True, slots=True)
class Begun:
    """`passwords` are those of new people, name → password: they are shown once."""

    is_played: bool
    passwords: Mapping[str, str] = field(default_factory=dict)


def begin(conninfo: str, folder: Path, say: Callable[[str], None]) -> Begun:
    """Make the demo in an empty database. In one that has runs it goes on, or stays away."""
    return asyncio.run(_begin(conninfo, folder, say))


async def _begin(conninfo: str, folder: Path, say: Callable[[str], None]) -> Begun:
    client = await Client.connect(conninfo, is_command=True)
    try:
        is_demo = await client.perform(mode.is_demo())
        run_count = await client.perform(rehearsal.run_count())
        if is_demo:
            # Also if the history was interrupted, its clock ends here.
            await client.perform(rehearsal.real_clock())
            return Begun(is_played=True)
    finally:
        await client.close()
    if run_count:
        say(NOT_EMPTY)
        return Begun(is_played=False)
    days = _days(os.environ.get(DAYS_SETTING))
    say(MAKING.format(days=days, seconds=3 * days))
    from stepwell.demo.make import make

    # Failures belong to the demo: nobody has to read them here.
    logger = logging.getLogger("stepwell")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        return Begun(True, await make(conninfo, folder, datetime.now(UTC), days))
    finally:
        logger.setLevel(before)


def _days(text: str | None) -> int:
    """How many past days the demo has."""
    if text is None:
        return DAYS_DEFAULT
    if not text.isdecimal() or not 1 <= int(text) <= DAYS_LIMIT:
        raise UsageError(
            f"{DAYS_SETTING} is {text!r}", hint=f"write a number from 1 to {DAYS_LIMIT}", field=DAYS_SETTING
        )
    return int(text)
