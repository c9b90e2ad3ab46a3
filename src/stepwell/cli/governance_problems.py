"""Show problems in a terminal and close them: receives numbers, returns tables and changes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, LanguageOption, LimitOption, answer, print_json
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.receipts import govern
from stepwell.cli.render import console, moment, table
from stepwell.govern.calls import Problem
from stepwell.translations import Lang
from stepwell.translations.terminal import TERMINAL
from stepwell.unit_numbers import short

app = typer.Typer(no_args_is_help=True, add_completion=False)

ProblemArgument = Annotated[int, typer.Argument(help="Number of the problem.", metavar="PROBLEM", min=1)]


@app.command("list")
def list_problems(
    context: typer.Context,
    category: Annotated[str | None, typer.Option(help="Only of this kind, such as set_aside.")] = None,
    all_problems: Annotated[bool, typer.Option("--all", help="Closed problems too.")] = False,
    limit: LimitOption = 20,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """List open problems, the newest first: stepwell problems list."""
    found = govern(
        context, lambda calls: calls.problems(category=category, with_closed=all_problems, limit=limit)
    )
    if as_json:
        print_json(found)
    elif not found:
        typer.echo(_word("no problems", lang))
    else:
        console().print(_table(found, lang))


@app.command()
def show(
    context: typer.Context, problem: ProblemArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show a problem: its reason, its times, its events and what helps."""
    found = govern(context, lambda calls: calls.problem(problem))
    if as_json:
        print_json(found)
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for key, value in _lines(found, lang):
        if value:
            # As it is: what stands in brackets is no markup.
            shown.add_row(_word(key, lang), Text(value))
    console().print(shown)


@app.command()
def close(
    context: typer.Context,
    problem: ProblemArgument,
    reason: Annotated[str, typer.Option(help="What settled it; it is stored in the log.")],
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a problem that is settled: stepwell problems close 3 --reason 'mended'."""
    govern(context, lambda calls: calls.problem_close(problem, reason), actor=person(context, who))
    answer(as_json, {"problem_id": problem, "state": "closed"}, f"problem {problem}: closed")


def _word(key: str, lang: Lang) -> str:
    return TERMINAL[key].in_language(lang)


def _label(row: Problem, lang: Lang) -> str:
    return row.label_vi if lang == "vi" else row.label_en


def _subject(row: Problem) -> str:
    """What it is about: with the number of its unit, which other commands accept."""
    if row.unit_id is None:
        return row.subject
    number = short(row.unit_id)
    return number if row.subject in (number, str(row.unit_id)) else f"{row.subject} {number}"


def _table(rows: list[Problem], lang: Lang) -> Table:
    keys = ("problem", "kind", "duty", "subject", "since", "seen", "next try", "reason")
    made = table(*(_word(key, lang) for key in keys))
    for row in rows:
        made.add_row(
            str(row.problem_id),
            Text(_label(row, lang), style=row.severity if row.closed_at is None else "dim"),
            _word(f"duty {row.duty}", lang) if f"duty {row.duty}" in TERMINAL else row.duty,
            Text(_subject(row)),
            moment(row.since_at),
            f"{row.seen_count}×",
            moment(row.retry_at) if row.retry_at is not None else "",
            Text(row.reason),
        )
    return made


def _lines(row: Problem, lang: Lang) -> list[tuple[str, str | None]]:
    duty = f"duty {row.duty}"
    return [
        ("problem", str(row.problem_id)),
        ("kind", _label(row, lang)),
        ("duty", _word(duty, lang) if duty in TERMINAL else row.duty),
        ("subject", _subject(row)),
        ("run", None if row.run_id is None else str(row.run_id)),
        ("reason", row.reason),
        ("error code", row.error_code),
        ("since", moment(row.since_at)),
        ("last seen", f"{moment(row.last_seen_at)} ({row.seen_count}×)"),
        ("next try", None if row.retry_at is None else moment(row.retry_at)),
        ("closed", None if row.closed_at is None else f"{moment(row.closed_at)}, {row.closed_by}"),
        ("events", ", ".join(str(no) for no in (row.opened_event_id, row.closed_event_id) if no is not None)),
        (
            "what helps",
            None if row.closed_at is not None else row.remedy_vi if lang == "vi" else row.remedy_en,
        ),
    ]
