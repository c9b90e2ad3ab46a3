"""Draw the lines: receives points with their heights, returns the columns' x and lines with corners.

A line leaves a box at its right side, runs up or down in the space between two columns, and enters the next
box at its left side. Lines that leave one point share their vertical part; others get one beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stepwell.layout.columns import Columns
from stepwell.layout.drawing import BOX_WIDTH, MARGIN, Line

SPACE_MIN: Final = 24
SPACE_MAX: Final = 96
TRACK: Final = 6


def column_lefts(drawn: Columns, tracks: Sequence[dict[int, int]]) -> list[int]:
    """The left side of each column, and of the space behind the last one. A space grows with its tracks."""
    lefts = [MARGIN]
    for column, used in enumerate(tracks):
        has_steps = any(drawn.points[index].no is not None for index in drawn.columns[column])
        space = min(SPACE_MAX, max(SPACE_MIN, (max(used.values(), default=0) + 2) * TRACK))
        lefts.append(lefts[-1] + (BOX_WIDTH if has_steps else 0) + space)
    return lefts


def tracks_of(drawn: Columns, ys: Sequence[int]) -> list[dict[int, int]]:
    """For the space behind each column: point → track of its vertical part. Parts that do not meet share."""
    links: list[dict[int, list[int]]] = [{} for _ in drawn.columns]
    for start, end, _, bends in drawn.routes:
        path = [start, *bends, end]
        for one, other in pairwise(path):
            links[drawn.points[one].column].setdefault(one, []).append(other)
    found: list[dict[int, int]] = []
    for column in links:
        spans = []
        for one, others in column.items():
            heights = [ys[one], *(ys[other] for other in others)]
            if min(heights) != max(heights):
                spans.append((min(heights), max(heights), one))
        used: dict[int, int] = {}
        free_from: list[int] = []
        for top, bottom, one in sorted(spans):
            track = next((n for n, height in enumerate(free_from) if height < top), len(free_from))
            if track == len(free_from):
                free_from.append(0)
            free_from[track] = bottom
            used[one] = track
        found.append(used)
    return found


def draw(
    drawn: Columns, ys: Sequence[int], tracks: Sequence[dict[int, int]], lefts: Sequence[int]
) -> tuple[Line, ...]:
    """One line for each route, its points without those on a straight part."""
    rights = [
        left + (BOX_WIDTH if any(drawn.points[index].no is not None for index in column) else 0)
        for left, column in zip(lefts, drawn.columns, strict=False)
    ]
    # Tracks are spread over the space; the last part before a box is free for its arrow.
    shares = [max(used.values(), default=0) + 2 for used in tracks]
    found = []
    for start, end, branch, bends in drawn.routes:
        path = [start, *bends, end]
        points: list[tuple[int, int]] = []
        for one, other in pairwise(path):
            column = drawn.points[one].column
            right = rights[column]
            points.append((right, ys[one]))
            if ys[one] != ys[other]:
                x = right + (lefts[column + 1] - right) * (tracks[column].get(one, 0) + 1) // shares[column]
                points += [(x, ys[one]), (x, ys[other])]
            points.append((lefts[drawn.points[other].column], ys[other]))
        if drawn.points[end].no is None:
            # A joint is at the right side of its column, where its own lines begin.
            points.append((rights[drawn.points[end].column], ys[end]))
        found.append(Line(drawn.points[start].no, drawn.points[end].no, branch, _without_middles(points)))
    return tuple(found)


def _without_middles(points: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for point in points:
        if found and point == found[-1]:
            continue
        while len(found) > 1 and (
            found[-2][0] == found[-1][0] == point[0] or found[-2][1] == found[-1][1] == point[1]
        ):
            found.pop()
        found.append(point)
    return tuple(found)
