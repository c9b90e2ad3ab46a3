"""Lay out a graph: receives a graph and a lane for each step, returns a drawing of every scope."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.define.graph import Graph, GraphStep
from stepwell.layout.columns import in_columns
from stepwell.layout.drawing import BOX_HEIGHT, BOX_WIDTH, MARGIN, Box, Drawing, Scope
from stepwell.layout.lines import column_lefts, draw, tracks_of
from stepwell.layout.order import order
from stepwell.layout.rows import in_rows


def lay_out(graph: Graph, lanes: Mapping[int, str] | None = None) -> Drawing:
    """`lanes`: number of a step → name of its lane. Lanes are drawn in the order of their first steps."""
    inside: dict[int, list[tuple[int, int, int | None]]] = {scope: [] for scope in graph.scopes}
    for edge in graph.edges:
        inside[graph.step(edge.from_no).scope].append((edge.from_no, edge.to_no, edge.branch))
    return Drawing(
        tuple(_lay_out_scope(scope, steps, inside[scope], lanes) for scope, steps in graph.scopes.items())
    )


def _lay_out_scope(
    scope: int,
    steps: tuple[GraphStep, ...],
    edges: list[tuple[int, int, int | None]],
    lanes: Mapping[int, str] | None,
) -> Scope:
    names = list(dict.fromkeys(lanes[step.no] for step in steps)) if lanes is not None else [""]
    numbers = {name: number for number, name in enumerate(names)}
    lane_of = {step.no: 0 if lanes is None else numbers[lanes[step.no]] for step in steps}
    drawn = in_columns([step.no for step in steps], edges, lane_of)
    order(drawn)
    ys, bands = in_rows(drawn, names, with_heads=lanes is not None)
    tracks = tracks_of(drawn, ys)
    lefts = column_lefts(drawn, tracks)
    boxes = [
        Box(point.no, lefts[point.column], ys[index] - BOX_HEIGHT // 2, point.column, point.lane)
        for index, point in enumerate(drawn.points)
        if point.no is not None
    ]
    width = max((box.x + BOX_WIDTH for box in boxes), default=0) + MARGIN
    height = bands[-1].y + bands[-1].height + (0 if lanes is not None else MARGIN) if bands else 0
    return Scope(scope, width, height, bands, tuple(boxes), draw(drawn, ys, tracks, lefts))
