"""The project's own files for the tidy tests: tracked or new files, without ignored ones."""

from __future__ import annotations

import ast
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


@cache
def read(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a Python file; all rules share it, so do not change it."""
    return ast.parse(read(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a Python file."""
    return tuple(ast.walk(syntax(path)))
