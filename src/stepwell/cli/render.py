"""Draw runs and jobs in a terminal: receives frozen values and looks, returns Rich renderables.

A state is always shown with colour, icon and text; all three come from the registry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stepwell.store.calls import words
from stepwell.translations import Lang
from stepwell.translations.terminal import TERMINAL
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.store.calls.run_list import Run
    from stepwell.store.calls.views import Job

PLAIN_WIDTH = 140
BAR_CELLS = 30
NOTE_CHARACTERS = 160


def console() -> Console:
    """A console; 140 characters wide if the output is a pipe or a file. It shows a text as it was given."""
    made = Console(highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PLAIN_WIDTH
    return made


class Look:
    """How states are shown in one language, as the registry declares it."""

    def __init__(self, looks: dict[str, Any], lang: Lang = "en") -> None:
        self.lang = lang
        self._states = looks["states"]
        self._facets = looks["facets"]
        self._colours = looks["colours"]

    @classmethod
    async def read(cls, client: Client, lang: Lang) -> Self:
        return cls(await client.perform(words.looks(lang)), lang)

    def word(self, key: str) -> str:
        return TERMINAL[key].in_language(self.lang)

    def label(self, scope: str, state_code: str) -> str:
        """Icon and text, without colour."""
        state = self._states.get(scope, {}).get(state_code)
        return state_code if state is None else f"{state['icon']} {state['label']}"

    def chip(self, scope: str, state_code: str, facet_code: str | None = None, **facts: object) -> Text:
        """Icon, text and colour of a state, then its facet; `facts` replace the names in braces."""
        state = self._states.get(scope, {}).get(state_code)
        text = f" {self.label(scope, state_code)} "
        if state is None:
            return Text(text)
        made = Text(text, style=f"{state['fg']} on {state['bg']}")
        facet = None if facet_code is None else self.facet(scope, facet_code, **facts)
        return made.append(f" {facet}", style="default on default") if facet else made

    def facet(self, scope: str, facet_code: str, **facts: object) -> str | None:
        """Icon and text of a facet."""
        label: str | None = self._facets.get(scope, {}).get(facet_code)
        for name, value in facts.items():
            label = label and label.replace(f"{{{name}}}", str(value))
        return label

    def rollup(self, colour_code: str) -> Text:
        """The traffic light of a run: a coloured dot and the name of the colour."""
        colour = self._colours.get(colour_code)
        style = "" if colour is None else colour["fg" if colour_code in ("gray", "yellow") else "bg"]
        return Text.assemble(("● ", style), (colour_code, style))

    def progress(self, run: Run) -> Text:
        """A bar: which part of the mandatory steps is completed. Skipped steps do not count."""
        total = max(run.mandatory_count - run.skipped_count, 1)
        done = min(run.completed_count, total)
        filled = round(BAR_CELLS * done / total)
        lamp = self._colours.get("green_deep")
        return Text.assemble(
            ("━" * filled, "green" if lamp is None else lamp["bg"]),
            ("─" * (BAR_CELLS - filled), "dim"),
            f" {100 * done // total:>3} %",
        )


def table(*headings: str, right: Iterable[str] = ()) -> Table:
    made = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        made.add_column(heading, justify="right" if heading in set(right) else "left", overflow="fold")
    return made


def starter(run: Run) -> str:
    """Who started a run: a name, or the number of the step whose sub-workflow it is."""
    kind, _, unit = run.started_by.partition(":")
    return short(int(unit)) if kind == "unit" and unit.isdigit() else run.started_by


def called(look: Look, run: Run) -> str:
    """The key of the start. That of a sub-workflow is a number of the engine: its run is named instead."""
    if run.parent_run_id is not None:
        return f"{look.word('part of run')} {run.parent_run_id}"
    return run.trigger_ref or ""


def heading(look: Look, run: Run) -> RenderableType:
    """The first lines of a run: name, state, times and progress."""
    title = Text.assemble(
        (f"{look.word('run').capitalize()} {run.run_id}", "bold"),
        f"  {run.workflow} ",
        (f"v{run.version_no}", "dim"),
        "   ",
    )
    title.append_text(look.chip("workflow_run", run.state_code)).append("  ")
    title.append_text(look.rollup(run.rollup_state_code))
    facts = [f"{look.word('started')} {moment(run.created_at)} {look.word('by')} {starter(run)}"]
    if run.trigger_ref is not None and run.parent_run_id is None:
        facts.append(f"{look.word('key')} {run.trigger_ref}")
    if run.parent_run_id is not None:
        facts.append(f"{look.word('part of run')} {run.parent_run_id}")
    facts.append(span((run.finished_at or run.now_at) - run.created_at))
    wanted = max(run.mandatory_count - run.skipped_count, run.completed_count)
    counts = [f"{run.completed_count} {look.word('of')} {wanted} {look.word('steps')}"]
    if run.skipped_count:
        counts.append(f"{run.skipped_count} {look.word('skipped')}")
    if run.failed_count:
        counts.append(f"{run.failed_count} {look.word('cannot be completed')}")
    bar = look.progress(run).append("   " + " · ".join(counts), style="default")
    return Group(title, Text(" · ".join(facts), style="dim"), Padding(bar, (0, 0, 1, 0)))


def run_table(look: Look, runs: list[Run]) -> Table:
    names = [look.word(name) for name in ("run", "workflow", "state")]
    made = table(*names, "", look.word("progress"), look.word("started"), look.word("time"), look.word("key"))
    for run in runs:
        made.add_row(
            str(run.run_id),
            Text.assemble(run.workflow, (f" v{run.version_no}", "dim")),
            look.chip("workflow_run", run.state_code),
            look.rollup(run.rollup_state_code),
            f"{run.completed_count}/{max(run.mandatory_count - run.skipped_count, run.completed_count)}",
            moment(run.created_at),
            span((run.finished_at or run.now_at) - run.created_at),
            called(look, run),
        )
    return made


def job_table(look: Look, jobs: list[Job]) -> Table:
    names = [look.word(name) for name in ("job", "operation", "state", "attempts", "age", "note")]
    made = table(*names)
    for job in jobs:
        made.add_row(
            short(job.job_id),
            job.operation if job.run_id is None else f"{job.operation} ({job.run_id}/{job.step_id})",
            look.chip(job.scope, job.state_code),
            f"{job.attempt}/{job.max_attempts}",
            span(job.now_at - job.created_at),
            Text(job_note(job), style="dim"),
        )
    return made


def job_note(job: Job) -> str:
    if job.lease_owner is not None:
        return f"{progress_line(job.progress)}; {job.lease_owner}" if job.progress else job.lease_owner
    if job.next_eligible_at is not None and job.next_eligible_at > job.now_at:
        later = f"in {span(job.next_eligible_at - job.now_at)}"
        return f"{error_line(job.last_error)}; {later}" if job.last_error else later
    return "" if job.last_error is None or job.state_code == "completed" else error_line(job.last_error)


def progress_line(progress: dict[str, Any]) -> str:
    """The progress that the handler reported: `60 / 100 (60 %), reading`."""
    done, total = progress["done"], progress.get("total")
    text = f"{done:,.10g}"
    if total is not None:
        text = f"{done:,.10g} / {total:,.10g}" + (f" ({min(done / total, 1):.0%})" if total else "")
    return shortened(f"{text}, {progress['note']}" if progress.get("note") else text)


def error_line(error: dict[str, Any]) -> str:
    """An error as one short line; only `show` prints the traceback."""
    kind, message = str(error.get("type", "error")), str(error.get("message", ""))
    return shortened(f"{kind}: {message}" if message else kind)


def value_line(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NOTE_CHARACTERS else f"{line[: NOTE_CHARACTERS - 1]}…"


def moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def span(length: timedelta) -> str:
    """A duration in at most two units: 850 ms, 12 s, 3 m 05 s, 2 h 10 m, 3 d 4 h."""
    seconds = max(length.total_seconds(), 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} m"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
