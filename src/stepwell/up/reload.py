"""Watch the files of an app: receives its name, returns which files changed and what it declares.

A separate process loads the changed app, so that an error in the app never ends this process tree.
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

# Files of an app. Changes of other files are ignored.
SUFFIXES: Final = (".py", ".yaml", ".yml")
# Longest time to collect changes that belong together, such as a checkout of another branch.
COLLECT_MILLISECONDS: Final = 500
EXAMINE_LIMIT_SECONDS: Final = 60.0


def folder_of(app_name: str) -> Path:
    """The folder of an app: the folder of its file, or the current folder for a module."""
    place = app_name.rpartition(":")[0] or app_name
    return Path(place).resolve().parent if place.endswith(".py") else Path.cwd()


async def changes(folders: Sequence[Path]) -> AsyncIterator[list[Path]]:
    """Yield the files of an app that were added, changed or removed, after each change."""
    from watchfiles import DefaultFilter, awatch

    # It ignores the folders of tools, such as .venv, .git and __pycache__.
    is_kept = DefaultFilter()

    def is_of_app(change: Any, path: str) -> bool:
        return path.endswith(SUFFIXES) and bool(is_kept(change, path))

    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    async for found in awatch(*folders, watch_filter=is_of_app, debounce=COLLECT_MILLISECONDS):
        yield sorted({Path(path) for _, path in found})


@dataclass(frozen=True, slots=True)
class Examined:
    """The workflows that an app declares now, or why it cannot be loaded."""

    workflows: list[dict[str, Any]]
    problem: str | None = None


async def examine(app_name: str) -> Examined:
    """Load an app in another process and return what it declares. Uses no database."""
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
    # The app may print while it is loaded; the JSON document is the last line.
    return Examined(json.loads(told.splitlines()[-1]))
