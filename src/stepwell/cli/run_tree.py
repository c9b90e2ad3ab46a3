"""Draw one run as a tree: receives a run with its steps and sub-workflows, returns a table with guide lines.

The tree shows the steps of a branch under their conditional, items under their map, and the steps of a
sub-workflow under its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from stepwell.cli.render import Look, error_line, heading, progress_line, span, table, value_line
from stepwell.errors import NotFound
from stepwell.store.calls import run_list, views
from stepwell.store.calls.run_list import Run
from stepwell.store.calls.views import RunStep

if TYPE_CHECKING:
    from stepwell.client import Client

DEPTH_LIMIT = 8
ENDED = frozenset({"completed", "skipped", "cancelled", "cannot_complete"})
# In these states the last attempt is under way or has succeeded.
UNBROKEN = frozenset({"completed", "in_progress", "overdue", "waiting", "blocked"})


@dataclass(frozen=True, slots=True)
class Picture:
    """A run at one moment; `children` maps run numbers to the runs of its sub-workflow steps."""

    run: Run
    steps: list[RunStep]
    children: dict[int, Picture] = field(default_factory=dict)


async def picture(client: Client, run_id: int, *, with_reasons: bool = True, depth: int = 0) -> Picture:
    run = await client.perform(run_list.run(client.tenant_id, run_id))
    if run is None:
        raise NotFound(f"run {run_id} does not exist", hint="'stepwell runs list' shows the runs")
    steps = await client.perform(views.steps(client.tenant_id, run_id, with_reasons=with_reasons))
    children = {}
    if depth < DEPTH_LIMIT:
        for step in steps:
            if step.child_run_id is not None:
                child = await picture(client, step.child_run_id, with_reasons=with_reasons, depth=depth + 1)
                children[step.child_run_id] = child
    return Picture(run, steps, children)


def draw(look: Look, shown: Picture, *, row_limit: int | None = None) -> RenderableType:
    """Heading and tree. With a limit, active and failed steps are kept first."""
    made = table(*(look.word(name) for name in ("step", "state", "attempts", "time", "note")))
    rows = list(_rows(look, shown))
    left_out = 0
    if row_limit is not None and len(rows) > row_limit:
        moving = [row for row in rows if row.step.state_code not in ("not_started", "completed", "skipped")]
        kept = {id(row) for row in (moving + [row for row in rows if row not in moving])[:row_limit]}
        left_out = len(rows) - len(kept)
        rows = [row for row in rows if id(row) in kept]
    for row in rows:
        made.add_row(*row.cells)
    parts: list[RenderableType] = [heading(look, shown.run)]
    if shown.run.labels:
        named = ", ".join(f"{key}: {label}" for key, label in sorted(shown.run.labels.items()))
        parts.append(Text(f"{look.word('labels')}  {named}", style="dim"))
    parts.append(made)
    if left_out:
        parts.append(Text(f"… {left_out}", style="dim"))
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Row:
    step: RunStep
    cells: tuple[RenderableType, ...]


def _rows(look: Look, shown: Picture, guides: str = "") -> Iterator[_Row]:
    numbers = {(step.scope_no, step.step_no): step.step_run_id for step in shown.steps}
    units = {step.step_run_id for step in shown.steps}
    below: dict[int, list[RunStep]] = {}
    for step in shown.steps:
        home = 0
        if step.conditional_no is not None:
            home = numbers.get((step.scope_no, step.conditional_no), 0)
        elif step.parent_id in units:
            home = step.parent_id or 0
        below.setdefault(home, []).append(step)
    yield from _level(look, shown, below, below.get(0, []), guides)


def _level(
    look: Look, shown: Picture, below: dict[int, list[RunStep]], steps: list[RunStep], guides: str
) -> Iterator[_Row]:
    for index, step in enumerate(steps):
        is_last = index == len(steps) - 1
        yield _row(look, step, shown.run.now_at, guides + ("└─ " if is_last else "├─ "))
        deeper = guides + ("   " if is_last else "│  ")
        if step.step_run_id in below:
            yield from _level(look, shown, below, below[step.step_run_id], deeper)
        if step.child_run_id in shown.children:
            yield from _rows(look, shown.children[step.child_run_id], deeper)


def _row(look: Look, step: RunStep, now_at: datetime, guides: str) -> _Row:
    name = Text.assemble((guides, "dim"), (step.name, "" if step.mandatory else "italic"))
    if step.child_run_id is not None:
        name.append(f" → {look.word('run')} {step.child_run_id}", style="dim")
    # A first attempt that has not failed is shown without its number.
    is_first = step.attempt == 0 or (step.attempt == 1 and step.state_code in UNBROKEN)
    attempts = "" if is_first else f"{step.attempt}/{step.max_attempts}"
    return _Row(
        step,
        (
            name,
            _chip(look, step),
            attempts,
            _time(step, now_at),
            _note(look, step),
        ),
    )


def _chip(look: Look, step: RunStep) -> Text:
    if step.state_code == "failed" and step.next_eligible_at is not None:
        facts = {"attempt": step.attempt, "max_attempts": step.max_attempts}
        return look.chip("step", step.state_code, "retrying", **facts)
    return look.chip("step", step.state_code, step.waiting_facet)


def _time(step: RunStep, now_at: datetime) -> str:
    if step.started_at is None:
        return ""
    return span((step.completed_at or now_at) - step.started_at)


def _note(look: Look, step: RunStep) -> Text:
    parts: list[str] = []
    if step.last_error is not None and step.state_code != "completed":
        parts.append(error_line(step.last_error))
    if step.progress is not None:
        parts.append(progress_line(step.progress))
    reason = step.why_vi if look.lang == "vi" else step.why_en
    if reason:
        parts.append(reason)
    if parts:
        is_bad = step.state_code in ("failed", "cannot_complete")
        return Text("\n".join(parts), style="red" if is_bad and not reason else "")
    if step.state_code == "completed" and step.output is not None:
        return Text(value_line(step.output), style="dim")
    return Text("")
