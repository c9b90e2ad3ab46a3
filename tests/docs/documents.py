"""The documents and the parts of them that can be checked: links, code blocks, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.tidy.sources import files, read

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}[^\n]*)?\n)*^ {4}[^\n]+\n", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    path: Path
    line: int
    language: str
    code: str
    is_run: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def documents() -> list[Path]:
    return [path for path in files(".md") if "node_modules" not in path.parts]


def blocks(path: Path) -> Iterator[Block]:
    """Fenced blocks. The word `run` after the language marks one that the tests execute."""
    text = read(path)
    for match in _FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        yield Block(path, line, language, match["code"], "run" in words)


def links(path: Path) -> set[str]:
    return {match["target"] for match in _LINK.finditer(_FENCE.sub("", read(path)))}


def commands(path: Path) -> Iterator[str]:
    """Everything that a reader could type: shell blocks, indented blocks, and code within the text."""
    text = read(path)
    for match in _FENCE.finditer(text):
        if match["info"].split()[:1] in (["sh"], ["bash"], ["console"]):
            yield from _lines(match["code"])
    prose = _FENCE.sub("", text)
    for match in _INDENTED.finditer(prose):
        yield from _lines(match.group())
    yield from re.findall(r"`([^`\n]+)`", prose)


def _lines(code: str) -> Iterator[str]:
    for line in code.splitlines():
        typed = line.strip().removeprefix("$ ").split(" #")[0].strip()
        if typed and not typed.startswith("#"):
            yield typed


def anchors(path: Path) -> set[str]:
    """The anchors of a Markdown page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", read(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
