"""Order the points of each column so that few lines cross: receives columns, changes their order.

Each pass goes over the columns and sorts a column by the mean place of the neighbours on one side. The order
with the fewest crossings is kept. Points of different lanes never change their order.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Final

from stepwell.layout.columns import Columns

# A pass costs as much as the graph is large: small graphs get more of them.
PASSES_MAX: Final = 8
WORK_MAX: Final = 30_000


def order(drawn: Columns) -> None:
    """Sorts every column in place."""
    points, columns = drawn.points, drawn.columns
    for column in columns:
        column.sort(key=lambda index: points[index].lane)
    work = sum(1 + len(point.after) for point in points) or 1
    passes = max(2, min(PASSES_MAX, WORK_MAX // work))
    best, fewest = [list(column) for column in columns], _crossings(drawn)
    for number in range(passes):
        if fewest == 0:
            break
        _sweep(drawn, forward=number % 2 == 0)
        found = _crossings(drawn)
        if found < fewest:
            best, fewest = [list(column) for column in columns], found
    for column, kept in zip(columns, best, strict=True):
        column[:] = kept


def _sweep(drawn: Columns, *, forward: bool) -> None:
    points = drawn.points
    place = [0] * len(points)
    for column in drawn.columns if forward else reversed(drawn.columns):
        keys: dict[int, tuple[int, float]] = {}
        for position, index in enumerate(column):
            point = points[index]
            near = point.before if forward else point.after
            mean = sum(place[other] for other in near) / len(near) if near else float(position)
            keys[index] = (point.lane, mean)
        column.sort(key=keys.__getitem__)
        for position, index in enumerate(column):
            place[index] = position


def _crossings(drawn: Columns) -> int:
    points = drawn.points
    found = 0
    for column, following in zip(drawn.columns, drawn.columns[1:], strict=False):
        place = {index: position for position, index in enumerate(following)}
        ends: list[int] = []
        for index in column:
            targets = sorted(place[other] for other in points[index].after if other in place)
            for target in targets:
                found += len(ends) - bisect_right(ends, target)
            for target in targets:
                insort(ends, target)
    return found
