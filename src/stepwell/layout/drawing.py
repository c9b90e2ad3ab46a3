"""The result of a layout: boxes, lanes and lines, and their compact form as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

# Stored drawings of another version are made again.
LAYOUT_VERSION: Final = 4

BOX_WIDTH: Final = 128
BOX_HEIGHT: Final = 40
ROW_HEIGHT: Final = 48
# Free space around a drawing, and the name of a lane above its first row.
MARGIN: Final = 16
LANE_HEAD: Final = 24
LANE_GAP: Final = 8


@dataclass(frozen=True, slots=True)
class Box:
    """The place of one step: left upper corner; all boxes have the same size. `column` counts from 0."""

    no: int
    x: int
    y: int
    column: int
    lane: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Ends that are None are joints: there many lines become one, which then divides again."""

    from_no: int | None
    to_no: int | None
    branch: int | None
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """A band over the whole width; `step_count` steps belong to it."""

    name: str
    y: int
    height: int
    step_count: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The drawing of the run (scope 0), or of the body of a map: one box of the outer scope stands for it."""

    scope: int
    width: int
    height: int
    lanes: tuple[Lane, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "width": self.width,
            "height": self.height,
            "lanes": [[lane.name, lane.y, lane.height, lane.step_count] for lane in self.lanes],
            "boxes": [[box.no, box.x, box.y, box.column, box.lane] for box in self.boxes],
            "lines": [
                [line.from_no, line.to_no, line.branch, [c for point in line.points for c in point]]
                for line in self.lines
            ],
        }


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawings of all scopes of a graph, the run first."""

    scopes: tuple[Scope, ...]

    def to_json(self) -> dict[str, Any]:
        """Boxes, lanes and lines are lists in the order of their fields: a large graph stays small."""
        return {
            "version": LAYOUT_VERSION,
            "box": [BOX_WIDTH, BOX_HEIGHT],
            "scopes": [scope.to_json() for scope in self.scopes],
        }
