"""Draw a chain of causes in a terminal: receives causes and a language, returns a Rich renderable."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stepwell.cli.render import Look, moment
from stepwell.store.calls.unblock import Cause


def draw_way(look: Look, causes: Sequence[Cause]) -> RenderableType:
    """One line for each cause, each below the one it causes; then who can act at the root, and how."""
    lines = []
    for depth, cause in enumerate(causes):
        branch = "" if depth == 0 else "   " * (depth - 1) + "└─ "
        sentence = cause.sentence_vi if look.lang == "vi" else cause.sentence_en
        lines.append(Text.assemble((branch, "dim"), (sentence, "bold" if depth == len(causes) - 1 else "")))
    root = causes[-1]
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for word, value in (
        ("who can act", _who(look, root.who)),
        ("what helps", root.command or ""),
        ("expected", _expected(look, root)),
    ):
        if value:
            facts.add_row(Text(look.word(word), style="dim"), Text(value, overflow="fold"))
    return Group(*lines, Padding(facts, (1, 0, 0, 0)))


def _who(look: Look, who: str | None) -> str:
    kind, _, name = (who or "").partition(":")
    if name:
        return name if kind == "person" else f"{look.word(kind)} {name}"
    return look.word(f"who {kind}") if kind in _KINDS else kind


_KINDS = ("reviewer", "operator", "engine", "clock", "nobody", "anyone", "worker")


def _expected(look: Look, cause: Cause) -> str:
    if cause.expected_at is None:
        return ""
    if cause.past_runs is None:
        return moment(cause.expected_at)
    return f"{moment(cause.expected_at)} ({look.word('from past runs').format(count=cause.past_runs)})"
