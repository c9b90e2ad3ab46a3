"""Write docs/conformance.md: each requirement, where the source documents ask for it, how it is met, by which
tests, and where it deviates. A test compares the committed page with what this would write.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.tidy.requirement_list import KNOWN, marked_ids, open_ids  # noqa: E402 - the path comes first

SOURCE = Path("docs/conformance.toml")
PAGE = Path("docs/conformance.md")
HEADER = """# What the source documents ask for

Written by `make docs` from `docs/conformance.toml`, the rows of `tests/requirements.toml` and the tests
that name them. The five source documents are numbered 000 (states, views, governance), 001 (job graph),
002 (reactive execution), 003 (runtime and governed actions) and 004 (linear workflow). A row is **met**
if tests on the real parts prove it, **deviation** if it is met in another way on purpose, **open** if
something is missing. [Sentences](sentences.md) has 000 §2–§5, 002, 003 and 004 sentence by sentence.
"""

NAMES = """## Names of the documents

Where a name of the documents is found here. Names that are listed without a remark are the same here.

| document | what | names |
|---|---|---|"""
KINDS = {
    "table": "tables and views", "column": "columns of `{}`", "key": "keys", "function": "functions",
    "code": "`{}`", "config": "beginnings of keys in `dot_config`", "class": "Python classes",
    "member": "members of `{}`", "word": "words", "argument": "arguments of `{}`",
}  # fmt: skip


def conformance_page() -> str:
    rows = tomllib.loads((ROOT / SOURCE).read_text(encoding="utf-8"))
    parts: dict[str, list[str]] = rows.pop("parts")
    names: list[dict[str, Any]] = rows.pop("names")
    texts: dict[str, str] = tomllib.loads((ROOT / KNOWN).read_text(encoding="utf-8"))
    ids = sorted(texts.keys() | rows.keys())
    tests, still_open = marked_ids(), set(open_ids())
    unknown = [id for id in ids if id not in texts and "text" not in rows[id]]
    assert not unknown, f"neither {KNOWN} nor {SOURCE} has the text of {unknown}"
    told = {id: _verdict(id, rows.get(id, {}), tests, still_open) for id in ids}
    counts = {word: sum(found == word for found in told.values()) for word in ("met", "deviation", "open")}
    lines = [
        HEADER,
        f"{len(ids)} rows: " + ", ".join(f"{count} {word}" for word, count in counts.items()) + ".\n",
    ]
    for part, (title, where) in parts.items():
        lines += [f"## {part}: {title} ({where})\n"]
        for id in (id for id in ids if id.startswith(part)):
            text = texts.get(id) or rows[id]["text"]
            lines += _row(id, text, told[id], rows.get(id, {}), tests.get(id, []))
    return "\n".join([*lines, NAMES, *_names(names)]).rstrip() + "\n"


def _verdict(id: str, row: dict[str, Any], tests: dict[str, list[str]], still_open: set[str]) -> str:
    if "open" in row or id in still_open or id not in tests:
        return "open"
    return "deviation" if "deviation" in row else "met"


def _row(id: str, text: str, verdict: str, row: dict[str, Any], places: list[str]) -> Iterator[str]:
    where = f" ({row['where']})" if "where" in row else ""
    yield f"**{id}** {verdict}: {text}{where}\n"
    for word in ("how", "deviation", "open"):
        if word in row:
            yield f"- {word}: {row[word]}"
    names = sorted({place.rpartition(":")[0] for place in places})
    yield "- tests: " + (", ".join(f"`{name}`" for name in names) or "none") + "\n"


def _names(lists: list[dict[str, Any]]) -> Iterator[str]:
    for names in lists:
        if same := ", ".join(f"`{name}`" for name in names["same"].split()):
            yield f"| {names['where']} | {KINDS[names['kind']].format(names.get('of', ''))} | {same} |"
        for name, here in names.get("here", {}).items():
            yield f"| {names['where']} | `{name}` | {here} |"


def main() -> int:
    (ROOT / PAGE).write_text(conformance_page(), encoding="utf-8")
    print(f"Written: {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
