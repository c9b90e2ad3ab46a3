"""Put the steps of one scope into columns: receives steps and edges, returns points in columns and links.

A point is a step, a joint or a bend. The column of a step is the length of the longest chain before it. A
joint stands for many lines: if several steps have the same successors, each sends one line to the joint, and
each successor gets one. An edge over several columns has a bend in each column between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

# Above this many bends the longest edges get none: their lines go straight from column to column.
BENDS_MAX: Final = 20_000


# The number of a step, or of a joint the numbers of the steps after it.
Name = int | tuple[int, ...]


@dataclass(slots=True)
class Point:
    """Something that has a place in a column. Only steps have a `no`."""

    column: int
    lane: int
    no: int | None = None
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Columns:
    """Points by index; each column lists its points in drawing order. `routes` follow one edge each."""

    points: list[Point]
    columns: list[list[int]]
    # From point, to point, branch, and the bends between them.
    routes: list[tuple[int, int, int | None, list[int]]]


def in_columns(
    numbers: Sequence[int], edges: Sequence[tuple[int, int, int | None]], lanes: Mapping[int, int]
) -> Columns:
    """`numbers` are in topological order; `lanes` maps the number of a step to its lane."""
    pairs = _with_joints(numbers, edges)
    column = _longest_chains(numbers, pairs)
    points: list[Point] = []
    place: dict[Name, int] = {}
    for name, number in column.items():
        place[name] = len(points)
        if isinstance(name, int):
            points.append(Point(number, lanes[name], name))
        else:
            # A joint is drawn in the lane of the first step after it.
            points.append(Point(number, lanes[name[0]]))
    routes = _bend(points, [(place[start], place[end], branch) for start, end, branch in pairs])
    columns: list[list[int]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for index, point in enumerate(points):
        columns[point.column].append(index)
    return Columns(points, columns, routes)


def _with_joints(
    numbers: Sequence[int], edges: Sequence[tuple[int, int, int | None]]
) -> list[tuple[Name, Name, int | None]]:
    """The edges, where many-to-many edges go through a joint. A joint is named by its successors."""
    after: dict[int, list[int]] = {no: [] for no in numbers}
    branched: set[int] = set()
    for start, end, branch in edges:
        after[start].append(end)
        if branch is not None:
            branched.add(start)
    alike: dict[tuple[int, ...], list[int]] = {}
    for no, ends in after.items():
        if len(ends) > 1 and no not in branched:
            alike.setdefault(tuple(ends), []).append(no)
    joined = {no: ends for ends, starts in alike.items() if len(starts) > 1 for no in starts}
    found: list[tuple[Name, Name, int | None]] = [e for e in edges if e[0] not in joined]
    found += [(no, ends, None) for no, ends in joined.items()]
    found += [(ends, end, None) for ends, starts in alike.items() if len(starts) > 1 for end in ends]
    return found


def _longest_chains(
    numbers: Sequence[int], pairs: Sequence[tuple[Name, Name, int | None]]
) -> dict[Name, int]:
    """Name → column. A joint has the column behind the last of the steps before it; it may be alone there."""
    before: dict[Name, list[Name]] = {}
    for start, end, _ in pairs:
        before.setdefault(end, []).append(start)
    column: dict[Name, int] = {}
    for no in numbers:
        for start in before.get(no, ()):
            if start not in column:
                # Every step before a joint has a lower number than the steps after it.
                column[start] = max(column[step] for step in before[start]) + 1
        column[no] = max((column[start] + 1 for start in before.get(no, ())), default=0)
    return column


def _bend(
    points: list[Point], links: Sequence[tuple[int, int, int | None]]
) -> list[tuple[int, int, int | None, list[int]]]:
    """Adds the bends; edges that leave the same point share them, so that lines part as late as possible."""
    shared: dict[tuple[int, int], int] = {}
    routes: list[tuple[int, int, int | None, list[int]]] = []
    joined: set[tuple[int, int]] = set()
    for start, end, branch in sorted(links, key=lambda link: points[link[1]].column - points[link[0]].column):
        bends: list[int] = []
        last = start
        for column in range(points[start].column + 1, points[end].column):
            bend = shared.get((start, column))
            if bend is None:
                if len(shared) >= BENDS_MAX:
                    break
                bend = shared[(start, column)] = len(points)
                points.append(Point(column, points[end].lane))
            _link(points, joined, last, bend)
            bends.append(bend)
            last = bend
        if points[end].column == points[last].column + 1:
            _link(points, joined, last, end)
        routes.append((start, end, branch, bends))
    return routes


def _link(points: list[Point], joined: set[tuple[int, int]], start: int, end: int) -> None:
    if (start, end) not in joined:
        joined.add((start, end))
        points[start].after.append(end)
        points[end].before.append(start)
