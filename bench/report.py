"""Report: receives the records of all cells, returns medians, ratios and a Markdown table."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from bench.workloads import WORKLOADS, Metric, Workload

STEPWELL = "stepwell"
RESULTS_BEGIN = "<!-- results -->"
RESULTS_END = "<!-- end of results -->"
COST_COLUMNS = (
    ("postgres_cpu_us", "server CPU µs"),
    ("python_cpu_us", "worker CPU µs"),
    ("wal_bytes", "WAL bytes"),
    ("commits", "commits"),
)


@dataclass(frozen=True)
class Figure:
    """The median of one number over the rounds, with the lowest and the highest of them."""

    median: float
    low: float
    high: float
    count: int

    @property
    def spread(self) -> float:
        """Half the distance between lowest and highest, as a part of the median: 0.1 is shown as ± 10 %."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


Table = dict[str, dict[str, dict[str, Figure]]]


def figures(records: list[dict[str, Any]]) -> Table:
    """workload → contestant → metric → figure."""
    table: Table = {}
    for workload, contestant in _cells(records):
        cell = _numbers_of(records, workload, contestant)
        named: dict[str, Figure] = {}
        for metric in WORKLOADS[workload].metrics:
            figure = _figure([numbers.get(metric.key) for numbers in cell])
            if figure is not None:
                named[metric.key] = figure
        for key, _ in COST_COLUMNS:
            figure = _figure([(numbers.get("per_unit") or {}).get(key) for numbers in cell])
            if figure is not None:
                named[key] = figure
        table.setdefault(workload, {})[contestant] = named
    return table


def ratio(table: Table, workload: str, metric: Metric, peer: str) -> float | None:
    """How many times better Stepwell is, for a metric of either direction; below 1 it is worse."""
    ours = table.get(workload, {}).get(STEPWELL, {}).get(metric.key)
    theirs = table.get(workload, {}).get(peer, {}).get(metric.key)
    if ours is None or theirs is None or not ours.median or not theirs.median:
        return None
    return ours.median / theirs.median if metric.more_is_better else theirs.median / ours.median


def markdown(result: dict[str, Any]) -> str:
    records: list[dict[str, Any]] = result["records"]
    table = figures(records)
    parts = [_heading(result)]
    if records:
        parts += [_main_table(records, table), _cost_table(records, table), _remarks(records)]
    return "\n\n".join(part for part in parts if part) + "\n"


def published(page: str, text: str) -> str:
    """The page with its results replaced by `text`."""
    before, found_begin, rest = page.partition(RESULTS_BEGIN)
    _, found_end, after = rest.partition(RESULTS_END)
    if not (found_begin and found_end):
        raise SystemExit(f"bench: the page has no {RESULTS_BEGIN} … {RESULTS_END}")
    return f"{before}{RESULTS_BEGIN}\n{text.strip()}\n{RESULTS_END}{after}"


def _heading(result: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} = {value}" for name, value in sorted(result["settings"].items()))
    lines = [
        f"PostgreSQL {result['server_version']} on {result['cpu_count']} CPUs, {result['rounds']} rounds, "
        f"{result['at']}, load average {result['load_average']:.1f} before; {settings}."
    ]
    if result["floor"]:
        floor = ", ".join(
            f"{_number(rate, '/s')}/s with {clients} client{'s' if clients != '1' else ''}"
            for clients, rate in result["floor"].items()
        )
        lines.append(f"Floor: pgbench makes single-row insert commits at {floor}.")
    if result["quick"]:
        lines.append("**Quick run: the sizes are tiny, the numbers prove only that everything works.**")
    return "\n".join(lines)


def _main_table(records: list[dict[str, Any]], table: Table) -> str:
    names = _contestants(records)
    lines = [
        "| workload | number | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for workload in WORKLOADS.values():
        if workload.name not in table:
            continue
        for metric in workload.metrics:
            cells = [_cell(table, workload, metric, name) for name in names]
            if any(cells):
                lines.append(f"| {workload.name} | {metric.label} | " + " | ".join(cells) + " |")
    lines.append("")
    lines.append(
        "A cell is the median of the rounds ± half their range; the factor in brackets says how many times "
        "better Stepwell is."
    )
    return "\n".join(lines)


def _cell(table: Table, workload: Workload, metric: Metric, name: str) -> str:
    figure = table[workload.name].get(name, {}).get(metric.key)
    if figure is None:
        return ""
    text = _number(figure.median, metric.unit)
    if metric.unit == "ms":
        text += " ms"
    if figure.count > 1:
        text += f" ± {figure.spread:.0%}"
    better = ratio(table, workload.name, metric, name) if name != STEPWELL else None
    return text if better is None else f"{text} ({better:.1f}×)"


def _cost_table(records: list[dict[str, Any]], table: Table) -> str:
    rows = []
    for workload, contestants in table.items():
        for name in _contestants(records):
            cell = contestants.get(name, {})
            if any(key in cell for key, _ in COST_COLUMNS):
                values = [_number(cell[key].median, "cost") if key in cell else "" for key, _ in COST_COLUMNS]
                rows.append(f"| {workload} | {name} | " + " | ".join(values) + " |")
    if not rows:
        return ""
    titles = " | ".join(title for _, title in COST_COLUMNS)
    head = [
        "Cost of one step or job:",
        "",
        f"| workload | contestant | {titles} |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def _remarks(records: list[dict[str, Any]]) -> str:
    lines: dict[str, None] = {}
    for record in records:
        cell = f"{record['workload']} {record['contestant']} {record['version']}".strip()
        sizes = ", ".join(f"{key} {value}" for key, value in record["sizes"].items())
        if record["empty_because"]:
            lines[f"- {cell}: empty, {record['empty_because']}"] = None
            continue
        partial = "; stopped by the time limit" if record["numbers"].get("partial") else ""
        extra = record["numbers"].get("handler_calls", 0) - record["numbers"].get("units", 0)
        repeated = f"; {extra} handlers ran twice" if extra > 0 else ""
        note = f"; {record['note']}" if record["note"] else ""
        lines[f"- {cell}: {sizes}{note}{partial}{repeated}"] = None
    return "\n".join(["How each cell was measured:", "", *lines])


def _cells(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((record["workload"], record["contestant"]) for record in records))


def _contestants(records: list[dict[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(record["contestant"] for record in records))
    return sorted(names, key=lambda name: name != STEPWELL)


def _numbers_of(records: list[dict[str, Any]], workload: str, contestant: str) -> list[dict[str, Any]]:
    return [
        record["numbers"]
        for record in records
        if record["workload"] == workload and record["contestant"] == contestant
    ]


def _figure(values: list[Any]) -> Figure | None:
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    return Figure(statistics.median(known), min(known), max(known), len(known))


def _number(value: float, unit: str) -> str:
    if unit == "ms" or value < 10:
        return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"
    return f"{value:,.0f}"
