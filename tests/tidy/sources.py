"""The project's own files, as the tidy tests see them: tracked or about to be, never ignored ones."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file of the project, relative to its root, in a stable order."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(sorted(Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()))


def files(*suffixes: str, under: str = ".") -> list[Path]:
    """Project files with one of the suffixes below a folder, relative to the root."""
    folder = Path(under)
    return [path for path in project_files() if path.suffix in suffixes and path.is_relative_to(folder)]


def read(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
