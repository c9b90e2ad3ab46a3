"""Show how far consumers are behind their producers: receives a window, prints quantiles and a trend."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, LanguageOption, LimitOption, print_json
from stepwell.cli.receipts import govern
from stepwell.cli.render import console, moment, span, table
from stepwell.define.duration import parse_duration
from stepwell.errors import NotFound, UsageError
from stepwell.govern.calls import Lag, LagPoint
from stepwell.translations import Lang
from stepwell.translations.terminal import TERMINAL

app = typer.Typer(add_completion=False)

BAR_CELLS = 40
# The icon beside the colour, so that nobody needs to see the colour.
LIGHTS = {"green": "●", "yellow": "▲", "red": "■"}


@app.command()
def lag(
    context: typer.Context,
    pair: Annotated[
        list[str] | None,
        typer.Argument(help="Producer and consumer, to show their trend: log reader:mail.", metavar="PAIR"),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="How far back, 5m to 7d; default: 1h, of a trend 1d."),
    ] = None,
    limit: LimitOption = 50,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Show how long events take to each consumer, or the trend of one: stepwell lag log reader:mail."""
    if pair and len(pair) != 2:
        raise UsageError(
            f"{' '.join(pair)} is no pair",
            hint="name a producer and a consumer, as in: stepwell lag log reader:mail",
        )
    back = timedelta(seconds=parse_duration(window or ("1d" if pair else "1h"), "--window"))
    if pair:
        _show_trend(context, pair[0], pair[1], back, limit, lang, as_json)
        return
    found = govern(context, lambda calls: calls.lags(back))[:limit]
    if as_json:
        print_json(found)
    elif not found:
        typer.echo(_word("no lag", lang))
    else:
        console().print(_pairs(found, lang))


def _show_trend(
    context: typer.Context,
    producer: str,
    consumer: str,
    back: timedelta,
    limit: int,
    lang: Lang,
    as_json: bool,
) -> None:
    points = govern(context, lambda calls: calls.lag_trend(producer, consumer, back))[-limit:]
    if as_json:
        print_json(points)
        return
    now = govern(context, lambda calls: calls.lags(back))
    of = next((row for row in now if (row.producer, row.consumer) == (producer, consumer)), None)
    if of is None or not points:
        raise NotFound(
            f"no event reached {consumer} from {producer} in this time",
            hint="'stepwell lag' lists the pairs; a longer time: --window 7d",
        )
    console().print(_trend(points, of, lang))


def _word(key: str, lang: Lang) -> str:
    return TERMINAL[key].in_language(lang)


def _short(milliseconds: Decimal | int | None) -> str:
    return "" if milliseconds is None else span(timedelta(milliseconds=float(milliseconds)))


def _value(value: Decimal | int | None, threshold_ms: int) -> Text:
    """A value beside its threshold; bold when it is over it."""
    if value is None:
        return Text("")
    return Text.assemble(
        (_short(value), "bold" if value > threshold_ms else ""), (f" / {_short(threshold_ms)}", "dim")
    )


def _pairs(rows: list[Lag], lang: Lang) -> Table:
    keys = ("light", "producer", "consumer", "arrived", "p50", "p95", "p99", "waits now")
    made = table(*(_word(key, lang) for key in keys))
    for row in rows:
        made.add_row(
            Text(f"{LIGHTS[row.light]} {_word(f'light {row.light}', lang)}", style=row.light),
            row.producer,
            Text(row.consumer),
            str(row.event_count),
            _value(row.p50_ms, row.threshold_p50_ms),
            _value(row.p95_ms, row.threshold_p95_ms),
            _value(row.p99_ms, row.threshold_p99_ms),
            _value(row.waits_ms, row.threshold_p99_ms),
        )
    return made


def _trend(points: list[LagPoint], of: Lag, lang: Lang) -> Table:
    made = table(*(_word(key, lang) for key in ("time", "arrived", "p50", "p95", "p99")), "")
    most = max(*(point.p99_ms for point in points), Decimal(of.threshold_p99_ms))
    mark = min(round(BAR_CELLS * of.threshold_p99_ms / float(most)), BAR_CELLS - 1)
    for point in points:
        filled = max(round(BAR_CELLS * float(point.p99_ms) / float(most)), 1)
        bar = "".join("│" if cell == mark else "█" if cell < filled else " " for cell in range(BAR_CELLS))
        made.add_row(
            moment(point.at),
            str(point.event_count),
            _value(point.p50_ms, of.threshold_p50_ms),
            _value(point.p95_ms, of.threshold_p95_ms),
            _value(point.p99_ms, of.threshold_p99_ms),
            Text(bar.rstrip() or " ", style="red" if point.p99_ms > of.threshold_p99_ms else "dim"),
        )
    return made
