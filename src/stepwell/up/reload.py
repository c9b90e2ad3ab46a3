"""Follow the files of an app: receives its name, returns which files changed and what it declares.

Only names of files are watched here. Whether the changed app can be loaded is asked in a process of its own,
so that a mistake in the app never ends the process tree around it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# What an app is made of. Everything else in the folder may change as it likes.
SUFFIXES: Final = (".py", ".yaml", ".yml")
# Longest time to collect changes that come together, such as a checkout of another branch.
COLLECT_MILLISECONDS: Final = 500
EXAMINE_LIMIT_SECONDS: Final = 60.0


def folder_of(app_name: str) -> Path:
    """The folder an app lives in: that of its file, or the current one for a module."""
    place = app_name.rpartition(":")[0] or app_name
    return Path(place).resolve().parent if place.endswith(".py") else Path.cwd()


async def changes(folders: Sequence[Path]) -> AsyncIterator[list[Path]]:
    """The files of an app that were added, changed or removed, each time some were."""
    from watchfiles import DefaultFilter, awatch

    # Leaves out what tools write, such as .venv, .git and __pycache__.
    is_kept = DefaultFilter()

    def is_of_app(change: Any, path: str) -> bool:
        return path.endswith(SUFFIXES) and bool(is_kept(change, path))

    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    async for found in awatch(*folders, watch_filter=is_of_app, debounce=COLLECT_MILLISECONDS):
        yield sorted({Path(path) for _, path in found})


@dataclass(frozen=True, slots=True)
class Examined:
    """An app as its files are now: its workflows, or why it cannot be loaded."""

    workflows: list[dict[str, Any]]
    problem: str | None = None


async def examine(app_name: str) -> Examined:
    """Load an app elsewhere and say what it declares. Touches no database."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "stepwell", "publish", "--check", "--json", "--app", app_name),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(EXAMINE_LIMIT_SECONDS):
            told, said = await process.communicate()
    except TimeoutError:
        return Examined([], f"loading {app_name} takes longer than {EXAMINE_LIMIT_SECONDS:g} s")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        text = said.decode(errors="replace").strip()
        return Examined([], text.removeprefix("stepwell: ").removeprefix(f"--app {app_name}: "))
    # Whatever the app itself prints while it is loaded comes before the document, which is the last line.
    return Examined(json.loads(told.splitlines()[-1]))
