"""Workers in a terminal: receives numbers and names, prints workers and sentences, stops and frees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, LanguageOption, LimitOption, answer, ask, print_json
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.render import console, moment, table
from stepwell.client import Client
from stepwell.errors import UsageError
from stepwell.govern.workers import ExecutorRow, Summary, WorkerGovernCalls, WorkerRow
from stepwell.translations import Lang
from stepwell.translations.terminal import TERMINAL

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, add_completion=False)

WorkerArgument = Annotated[int, typer.Argument(help="Number of the worker.", metavar="WORKER", min=1)]
WorkerOrNone = Annotated[
    int | None, typer.Argument(help="Number of the worker; or give --executor.", metavar="[WORKER]", min=1)
]
ExecutorOption = Annotated[str | None, typer.Option(help="An executor, such as default.")]
WhyOption = Annotated[str, typer.Option("--reason", help="Why; it is stored in the log.")]


class _Calls(WorkerGovernCalls):
    def __init__(self, client: Client) -> None:
        self._client = client

    async def _connected(self) -> Client:
        return self._client


def _perform(
    context: typer.Context, what: Callable[[_Calls], Awaitable[T]], *, actor: str | None = None
) -> T:
    async def performed(client: Client) -> T:
        return await what(_Calls(client if actor is None else client.acting_as(actor)))

    return ask(context, performed)


@app.command("list")
def list_workers(
    context: typer.Context,
    executor: ExecutorOption = None,
    all_workers: Annotated[bool, typer.Option("--all", help="Also those that have stopped.")] = False,
    limit: LimitOption = 50,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """List workers, the newest first, each with one sentence: stepwell workers list."""
    found = _perform(
        context, lambda calls: calls.workers(executor=executor, with_closed=all_workers, limit=limit)
    )
    if as_json:
        print_json(found)
    elif not found:
        typer.echo(_word("no workers", lang))
    else:
        made = table(*(_word(key, lang) for key in ("worker", "name", "executors", "slots", "tick", "says")))
        for row in found:
            made.add_row(
                str(row.session_id), Text(row.worker_name), ", ".join(row.executors),
                f"{row.slots_in_use}/{row.slot_count}", moment(row.last_ok_at) if row.last_ok_at else "–",
                _said(row, lang),
            )  # fmt: skip
        console().print(made)


@app.command()
def show(
    context: typer.Context, worker: WorkerArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show a worker: heartbeat, operations, stops, and each sentence with its evidence."""

    async def read(calls: _Calls) -> tuple[WorkerRow, list[Summary]]:
        return await calls.worker(worker), await calls.summaries(kind="worker", subject=str(worker))

    row, summaries = _perform(context, read)
    if as_json:
        print_json({"worker": row, "summaries": summaries})
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for key, value in _lines(row, lang):
        if value:
            shown.add_row(_word(key, lang), Text(value))
    screen = console()
    screen.print(shown)
    for one in summaries:
        screen.print()
        screen.print(Text(one.sentence_vi if lang == "vi" else one.sentence_en, style="bold"))
        screen.print(Text(_evidence(one, lang), style="dim"))


@app.command()
def executors(context: typer.Context, lang: LanguageOption = "en", as_json: JsonOption = False) -> None:
    """List executors: how many workers serve each, and whether it is frozen."""
    found = _perform(context, lambda calls: calls.executor_list())
    if as_json:
        print_json(found)
        return
    made = table(*(_word(key, lang) for key in ("executor", "alive", "silent", "slots", "says", "stopped")))
    for row in found:
        made.add_row(
            row.executor, str(row.alive_count), str(row.silent_count), f"{row.slots_in_use}/{row.slot_count}",
            _said(row, lang),
            _stop(_word("frozen", lang), row.frozen_by, row.frozen_reason) if row.frozen_at else "",
        )  # fmt: skip
    console().print(made)


@app.command()
def freeze(
    context: typer.Context,
    reason: WhyOption,
    worker: WorkerOrNone = None,
    executor: ExecutorOption = None,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Freeze a worker or an executor: it claims nothing: stepwell workers freeze 7 --reason 'bad disk'."""
    _one_of(worker, executor)

    async def stop(calls: _Calls) -> None:
        if worker is not None:
            await calls.worker_freeze(worker, reason)
        elif executor is not None:
            await calls.executor_freeze(executor, reason)

    _perform(context, stop, actor=person(context, who))
    _answer(as_json, worker, executor, "frozen")


@app.command()
def unfreeze(
    context: typer.Context,
    reason: WhyOption,
    worker: WorkerOrNone = None,
    executor: ExecutorOption = None,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a frozen worker or executor claim again."""
    _one_of(worker, executor)

    async def free(calls: _Calls) -> None:
        if worker is not None:
            await calls.worker_unfreeze(worker, reason)
        elif executor is not None:
            await calls.executor_unfreeze(executor, reason)

    _perform(context, free, actor=person(context, who))
    _answer(as_json, worker, executor, "not frozen")


@app.command()
def drain(
    context: typer.Context,
    worker: WorkerArgument,
    reason: WhyOption,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a worker finish what it has, and claim no more: stepwell workers drain 7 --reason 'update'."""
    _perform(context, lambda calls: calls.worker_drain(worker, reason), actor=person(context, who))
    _answer(as_json, worker, None, "drains")


@app.command()
def undrain(
    context: typer.Context,
    worker: WorkerArgument,
    reason: WhyOption,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a worker that drains claim again."""
    _perform(context, lambda calls: calls.worker_drain_end(worker, reason), actor=person(context, who))
    _answer(as_json, worker, None, "claims again")


def _one_of(worker: int | None, executor: str | None) -> None:
    if (worker is None) == (executor is None):
        raise UsageError(
            "give either the number of a worker or --executor",
            hint="'stepwell workers list' and 'stepwell workers executors' show them",
            field="worker",
        )


def _answer(as_json: bool, worker: int | None, executor: str | None, state: str) -> None:
    if worker is not None:
        answer(as_json, {"session_id": worker, "state": state}, f"worker {worker}: {state}")
    else:
        answer(as_json, {"executor": executor, "state": state}, f"executor {executor}: {state}")


def _word(key: str, lang: Lang) -> str:
    return TERMINAL[key].in_language(lang)


def _said(row: WorkerRow | ExecutorRow, lang: Lang) -> Text:
    said = row.sentence_vi if lang == "vi" else row.sentence_en
    return Text(said or "–", style=row.colour or "dim")


def _stop(word: str, by: str | None, reason: str | None) -> str:
    """Only the first tenant is told by whom and why."""
    return word if by is None else f"{word}, {by}: {reason}"


def _lines(row: WorkerRow, lang: Lang) -> list[tuple[str, str | None]]:
    served = _word("everything", lang) if row.operations is None else ", ".join(row.operations)
    return [
        ("worker", str(row.session_id)),
        ("name", row.worker_name),
        ("status", row.status),
        ("executors", ", ".join(row.executors)),
        ("frozen executors", ", ".join(row.frozen_executors)),
        ("operations", served),
        ("version", row.version),
        ("host", " ".join(part for part in (row.host, row.pid and f"pid {row.pid}") if part)),
        ("slots", f"{row.slots_in_use}/{row.slot_count}"),
        ("tick", moment(row.last_ok_at) if row.last_ok_at else "–"),
        ("silent after", f"{row.silent_after_seconds} s"),
        ("since", moment(row.started_at)),
        ("closed", moment(row.closed_at) if row.closed_at else None),
        ("frozen", _stop(moment(row.frozen_at), row.frozen_by, row.frozen_reason) if row.frozen_at else None),
        ("draining", _stop(moment(row.drain_at), row.drain_by, row.drain_reason) if row.drain_at else None),
    ]


def _evidence(one: Summary, lang: Lang) -> str:
    sure = "" if one.confidence is None else f"; {_word('confidence', lang)} {one.confidence:.2f}"
    flag = f" ({_word('low confidence', lang)}, < {one.min_confidence:.2f})" if one.is_low_confidence else ""
    refs = f"{len(one.source_event_refs)} {_word('refs', lang)}"
    return (
        f"{one.source_event_count} {_word('events', lang)} ({refs}),"
        f" {moment(one.window_start_at)} – {moment(one.window_end_at)};"
        f" {one.summarizer_kind} {one.summarizer_ref} {one.summarizer_version}{sure}{flag}"
    )
