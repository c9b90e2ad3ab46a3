"""Give every point a height: receives ordered columns, returns y of the middle of each point, and the lanes.

A point is drawn as near as possible to the mean of its neighbours, without changing the order of its column.
That is isotonic regression with a distance between neighbours. Then the steps snap to the rows of their lane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from stepwell.layout.columns import Columns
from stepwell.layout.drawing import LANE_GAP, LANE_HEAD, MARGIN, ROW_HEIGHT, Lane

# Between a step and a line that passes it, and between two lines.
STEP_TO_LINE: Final = ROW_HEIGHT // 2
LINE_TO_LINE: Final = 6
PASSES: Final = 5
PASSES_LARGE: Final = 3
LARGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class _Run:
    """The points of one column in one lane, their least distances from the first, the room of the lane."""

    indexes: list[int]
    offsets: list[float]
    low: int
    high: int


def in_rows(drawn: Columns, names: Sequence[str], *, with_heads: bool) -> tuple[list[int], tuple[Lane, ...]]:
    """`names` are the names of the lanes; without heads the only lane has no name above it."""
    parts = _parts(drawn)
    lanes = _lanes(drawn, parts, names, with_heads=with_heads)
    head = LANE_HEAD if with_heads else 0
    lows = [lane.y + head + ROW_HEIGHT // 2 for lane in lanes]
    highs = [lane.y + lane.height - LANE_GAP - ROW_HEIGHT // 2 for lane in lanes]
    runs = []
    for part in parts:
        lane = drawn.points[part[0]].lane
        runs.append(_Run(part, _offsets(drawn, part), lows[lane], highs[lane]))
    ys = [0.0] * len(drawn.points)
    for run in runs:
        _set(ys, run, [float(run.low)] * len(run.indexes))
    befores, afters = [p.before for p in drawn.points], [p.after for p in drawn.points]
    for number in range(PASSES if len(ys) < LARGE else PASSES_LARGE):
        forward = number % 2 == 0
        _approach(ys, runs if forward else runs[::-1], befores if forward else afters)
    for run in runs:
        _snap(drawn, ys, run)
    return [round(y) for y in ys], lanes


def _parts(drawn: Columns) -> list[list[int]]:
    """Each column divided into the points of one lane."""
    found: list[list[int]] = []
    for column in drawn.columns:
        lane = -1
        for index in column:
            if drawn.points[index].lane != lane:
                lane = drawn.points[index].lane
                found.append([])
            found[-1].append(index)
    return found


def _lanes(
    drawn: Columns, parts: Sequence[list[int]], names: Sequence[str], *, with_heads: bool
) -> tuple[Lane, ...]:
    needed = [ROW_HEIGHT] * len(names)
    counts = [0] * len(names)
    for part in parts:
        lane = drawn.points[part[0]].lane
        steps = sum(drawn.points[index].no is not None for index in part)
        # Lines go through the space between two rows; many of them need rows of their own.
        more = max(0, len(part) - 2 * steps)
        rows = steps + math.ceil(more * LINE_TO_LINE / ROW_HEIGHT)
        needed[lane] = max(needed[lane], rows * ROW_HEIGHT)
        counts[lane] += steps
    head = LANE_HEAD if with_heads else 0
    found: list[Lane] = []
    y = 0 if with_heads else MARGIN - LANE_GAP
    for name, height, count in zip(names, needed, counts, strict=True):
        found.append(Lane(name, y, head + height + LANE_GAP, count))
        y += found[-1].height
    return tuple(found)


def _offsets(drawn: Columns, part: Sequence[int]) -> list[float]:
    found = [0.0]
    for above, below in pairwise(part):
        steps = (drawn.points[above].no is not None) + (drawn.points[below].no is not None)
        found.append(found[-1] + (LINE_TO_LINE, STEP_TO_LINE, ROW_HEIGHT)[steps])
    return found


def _approach(ys: list[float], runs: Sequence[_Run], neighbours: Sequence[list[int]]) -> None:
    for run in runs:
        wanted = []
        for index in run.indexes:
            near = neighbours[index]
            if len(near) == 1:
                wanted.append(ys[near[0]])
            else:
                wanted.append(sum([ys[other] for other in near]) / len(near) if near else ys[index])
        _set(ys, run, wanted)


def _set(ys: list[float], run: _Run, wanted: Sequence[float]) -> None:
    """The nearest heights to those wanted, in order, within the lane; pools of points move together."""
    room = run.high - run.low - run.offsets[-1]
    scale = 1.0
    if room < 0:
        # More lines than the lane has room for: they come closer to each other.
        scale, room = (run.high - run.low) / run.offsets[-1], 0.0
    if len(wanted) == 1:
        ys[run.indexes[0]] = min(max(wanted[0], run.low), run.low + room)
        return
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, run.offsets, strict=True):
        total, count = want - offset * scale, 1
        while pools and pools[-1][0] * count > total * pools[-1][1]:
            last_total, last_count = pools.pop()
            total, count = total + last_total, count + last_count
        pools.append((total, count))
    position = 0
    for total, count in pools:
        base = min(max(total / count, run.low), run.low + room)
        for _ in range(count):
            ys[run.indexes[position]] = base + run.offsets[position] * scale
            position += 1


def _snap(drawn: Columns, ys: list[float], run: _Run) -> None:
    """Steps move to the next free row; the lines between two steps are spread between their rows."""
    steps = [index for index in run.indexes if drawn.points[index].no is not None]
    rows: list[int] = []
    row = -1
    for index in steps:
        row = max(row + 1, round((ys[index] - run.low) / ROW_HEIGHT))
        rows.append(row)
    limit = (run.high - run.low) // ROW_HEIGHT
    for position in range(len(rows) - 1, -1, -1):
        rows[position] = min(rows[position], limit)
        limit = rows[position] - 1
    for index, found in zip(steps, rows, strict=True):
        ys[index] = run.low + found * ROW_HEIGHT
    if len(steps) < len(run.indexes):
        _spread(drawn, ys, run)


def _spread(drawn: Columns, ys: list[float], run: _Run) -> None:
    indexes = run.indexes
    position = 0
    while position < len(indexes):
        if drawn.points[indexes[position]].no is not None:
            position += 1
            continue
        end = position
        while end < len(indexes) and drawn.points[indexes[end]].no is None:
            end += 1
        top = ys[indexes[position - 1]] + STEP_TO_LINE if position else run.low - STEP_TO_LINE
        bottom = ys[indexes[end]] - STEP_TO_LINE if end < len(indexes) else run.high + STEP_TO_LINE
        lines = indexes[position:end]
        distance = min(LINE_TO_LINE, (bottom - top) / len(lines)) if bottom > top else 0.0
        last = top
        for number, index in enumerate(lines):
            most = bottom - distance * (len(lines) - 1 - number)
            ys[index] = last = min(max(ys[index], last), max(most, last))
            last += distance
        position = end
