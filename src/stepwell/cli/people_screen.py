"""Draw human steps in a terminal: receives steps, tasks and a language, returns Rich renderables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stepwell.cli.render import Look, moment, progress_line, shortened, span, table, value_line
from stepwell.people import Dependent, HumanStep


def step_table(look: Look, rows: Sequence[HumanStep]) -> Table:
    names = ("step", "workflow", "state", "person", "for", "deadline", "note")
    made = table(*(look.word(name) for name in names))
    for row in rows:
        made.add_row(
            Text.assemble(row.name, (f"  {row.title}" if row.title else "", "dim")),
            row.workflow,
            look.chip(row.scope, row.state_code, row.waiting_facet),
            Text(row.pic or look.word("nobody"), style="" if row.pic else "dim"),
            _asked_of(look, row),
            _deadline(look, row),
            _note(look, row),
        )
    return made


def inbox_page(look: Look, rows: Sequence[HumanStep]) -> RenderableType:
    """The table of open steps, and below it the inputs of each step on one line."""
    about = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        if row.inputs:
            values = " · ".join(_inputs(row.inputs).plain.splitlines())
            about.add_row(Text(row.name, no_wrap=True), Text(values, style="dim"))
    return Group(step_table(look, rows), *([Padding(about, (1, 0, 0, 0))] if about.row_count else []))


def step_card(look: Look, row: HumanStep, tasks: Sequence[HumanStep], sentence: str) -> RenderableType:
    """One step in full: state, reason, person in charge, deadline, note, inputs, form and tasks."""
    title = Text.assemble((row.name, "bold"), f"  {row.workflow}   ")
    title.append_text(look.chip(row.scope, row.state_code, row.waiting_facet))
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    people = (("person", Text(row.pic or look.word("nobody"))), ("for", _asked_of(look, row)))
    for key, value in (
        *(people if row.is_for_people else ()),
        ("progress", Text(progress_line(row.progress) if row.progress else "")),
        ("deadline", _deadline(look, row)),
        ("note", _note(look, row)),
        ("inputs", _inputs(row.inputs)),
        ("form", _form(look, row.form)),
    ):
        if value.plain:
            facts.add_row(Text(look.word(key), style="dim"), value)
    parts: list[RenderableType] = [title]
    if row.title:
        parts.append(Text(row.title))
    parts += [Text(sentence, style="dim"), Padding(facts, (1, 0, 0, 0))]
    if tasks:
        parts += [Text(f"\n{look.word('tasks')}", style="bold"), step_table(look, tasks)]
    return Group(*parts)


def correction_table(look: Look, rows: Sequence[Dependent]) -> RenderableType:
    """The steps that a correction would affect."""
    if not rows:
        return Text(look.word("nothing depends"))
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        after = "" if row.relation == "around" else look.word("could reopen" if row.can_reopen else "left")
        made.add_row(
            f"{row.run_id}/{row.step_id}",
            look.chip("step", row.state_code),
            look.word(row.relation),
            Text(after, style="dim"),
        )
    return made


def _inputs(inputs: Mapping[str, Any] | None) -> Text:
    """One line for each input; texts without quotes, other values as JSON."""
    lines = [
        f"{name}: {shortened(value) if isinstance(value, str) else value_line(value)}"
        for name, value in (inputs or {}).items()
    ]
    return Text("\n".join(lines))


def _asked_of(look: Look, row: HumanStep) -> Text:
    if row.assignee:
        return Text(row.assignee)
    return Text(f"{look.word('role')} {row.role}" if row.role else look.word("anyone"))


def _deadline(look: Look, row: HumanStep) -> Text:
    if row.deadline_at is None:
        return Text("")
    at = moment(row.deadline_at)[:-3]
    if row.completed_at is not None and row.state_code == "completed":
        return Text(f"{at} ({look.word('was late')})" if row.completed_after_deadline else at)
    if row.is_late:
        return Text(f"{at} ({span(row.now_at - row.deadline_at)} {look.word('late')})", style="red")
    return Text(f"{at} ({look.word('in')} {span(row.deadline_at - row.now_at)})")


def _note(look: Look, row: HumanStep) -> Text:
    """Further waits, what blocks the step, to whom it was escalated."""
    words = [look.facet(row.scope, facet) or facet for facet in row.secondary_facets or ()]
    if row.block_reason:
        label = (row.block_label or {}).get(look.lang, row.block_reason)
        detail = f": {row.block_detail}" if row.block_detail else ""
        words.append(
            f"{label}{detail}" + (f" ({look.word('urgent')})" if row.blocked_severity == "red" else "")
        )
    if row.escalated_to:
        words.append(look.facet(row.scope, "escalated", tell=row.escalated_to) or row.escalated_to)
    return Text(", ".join(words))


def _form(look: Look, form: Mapping[str, Any] | None) -> Text:
    """The fields of a form, one line each; for a form without fields, its type."""
    if form is None:
        return Text("")
    required = set(form.get("required", ()))
    fields: dict[str, Any] = {name: {} for name in sorted(required)} | form.get("properties", {})
    lines = []
    for name, field in fields.items():
        kind = field.get("type", "")
        choice = ", ".join(str(one) for one in field["enum"]) if "enum" in field else kind
        bounds = [
            f"{sign} {field[key]}"
            for key, sign in (("minimum", "≥"), ("maximum", "≤"), ("minLength", "≥"), ("maxLength", "≤"))
            if key in field
        ]
        marks = [
            mark for mark in (choice, *bounds, look.word("required") if name in required else "") if mark
        ]
        title = field.get("title") or field.get("description") or ""
        lines.append(
            f"{name}" + (f" ({', '.join(marks)})" if marks else "") + (f"  {title}" if title else "")
        )
    return Text("\n".join(lines) or str(form.get("type", "")))
