"""Shape graphs: receives a size, returns a workflow of no-op steps: chain, fan-out with join, layers."""

from __future__ import annotations

import random

from stepwell.define import Operation, Parallel, Sequential, Workflow

LAYER_WIDTHS = (2, 8)


def _step(no: int) -> Operation:
    return Operation("step", id=f"s{no}")


def chain(steps: int) -> Workflow:
    return Workflow("bench.chain", Sequential(*(_step(no) for no in range(steps))))


def fan(width: int) -> Workflow:
    """1 → width → 1."""
    parts = (_step(no) for no in range(1, width + 1))
    return Workflow("bench.fan", Sequential(_step(0), Parallel(*parts), _step(width + 1)))


def layers(steps: int) -> Workflow:
    """Layers of random width, each waiting for the whole layer before it; the size decides the graph."""
    widths = random.Random(steps)
    rows: list[Operation | Parallel] = []
    placed = 0
    while placed < steps:
        width = min(widths.randint(*LAYER_WIDTHS), steps - placed)
        row = [_step(no) for no in range(placed, placed + width)]
        rows.append(Parallel(*row) if width > 1 else row[0])
        placed += width
    return Workflow("bench.layers", Sequential(*rows))


def rows(steps: int, length: int) -> Workflow:
    """Rows of this length beside each other; the first step of each waits for nothing."""
    parts = [[_step(no) for no in range(low, min(low + length, steps))] for low in range(0, steps, length)]
    made = [Sequential(*part) if len(part) > 1 else part[0] for part in parts]
    return Workflow(f"bench.rows.{length}", Parallel(*made) if len(made) > 1 else made[0])


def of(shape: str, steps: int) -> tuple[Workflow, int]:
    """A graph of exactly `steps` steps, and that number."""
    match shape:
        case "chain":
            return chain(steps), steps
        case "fan":
            return fan(steps - 2), steps
        case "layers":
            return layers(steps), steps
    raise ValueError(f"shape: {shape!r} is not known; accepted: chain, fan, layers")
