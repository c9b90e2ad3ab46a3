"""Plant maintenance: a turnaround of 512 steps, most of them for people, in eight disciplines."""

from __future__ import annotations

from typing import Any, Final

import stepwell as sw
from stepwell.demo.chance import between, chance, choice
from stepwell.demo.operations import handler, step
from stepwell.demo.pace import work

PHASES: Final = ("Shut down", "Clean", "Open", "Inspect", "Repair", "Close", "Test", "Start")
STEPS_PER_CELL: Final = 8
# Role → what its people do in the eight phases.
VERBS: Final = {
    "operations": ("Drain", "Flush", "Hand over", "Witness", "Sample", "Take over", "Line up", "Feed"),
    "safety": (
        "Isolate",
        "Gas test",
        "Entry permit",
        "Safety walk",
        "Hot permit",
        "Remove locks",
        "Drill",
        "Release",
    ),
    "scaffolding": (
        "Plan scaffold",
        "Bring planks",
        "Build scaffold",
        "Check scaffold",
        "Extend scaffold",
        "Strike scaffold",
        "Clear",
        "Count",
    ),
    "mechanical": ("Uncouple", "Wash", "Lift out", "Measure", "Grind", "Fit", "Align", "Run in"),
    "piping": (
        "Blind",
        "Flush line",
        "Open flange",
        "X-ray weld",
        "Weld",
        "Close flange",
        "Pressure test",
        "Unblind",
    ),
    "electrical": (
        "Disconnect",
        "Dry",
        "Open box",
        "Test coil",
        "Rewind",
        "Connect",
        "Loop test",
        "Energise",
    ),
    "inspection": ("List", "Photo", "Look inside", "Thickness of", "Judge", "Sign off", "Certify", "Report"),
    "systems": (
        "Read history of",
        "Trend of",
        "Draft method for",
        "Read drawing of",
        "Book crane for",
        "Check parts of",
        "Upload record of",
        "Archive",
    ),
}
TAGS: Final = ("P-301", "E-310", "V-306", "R-302", "C-340", "K-305", "W-77", "FT-3012", "D-318", "T-320")

_FOUND = {
    "type": "object",
    "properties": {
        "finding": {"type": "string", "title": "Finding", "enum": ["as expected", "worn", "damaged"]},
        "value_mm": {"type": "number", "title": "Measured value in mm", "minimum": 0, "maximum": 50},
    },
    "required": ["finding"],
}


def _step(role: str, phase: int, number: int) -> sw.Human | sw.Operation:
    place = f"{role}-{phase + 1}-{number + 1}"
    tag = choice(TAGS, "tag", role, phase, number)
    title = f"{VERBS[role][phase]} {tag}"
    if role == "systems":
        return step("plant_agent", id=place, title=title, inputs={"task": "$.input.unit"})
    form = _FOUND if PHASES[phase] == "Inspect" else None
    content = "plant.permit" if role == "safety" and phase == 2 else None
    return sw.Human(place, role=role, title=title, deadline="2d", form=form, content=content)


def _cell(role: str, phase: int) -> sw.Sequential | sw.Parallel:
    """What a discipline does in a phase: two to four chains beside each other."""
    chains = 2 + int(chance("chains", role, phase) * 3)
    steps = [_step(role, phase, number) for number in range(STEPS_PER_CELL)]
    parts = [steps[number::chains] for number in range(chains)]
    return sw.Parallel(*(sw.Sequential(*part) if len(part) > 1 else part[0] for part in parts))


def turnaround() -> sw.Workflow[Any]:
    disciplines = (sw.Sequential(*(_cell(role, phase) for phase in range(len(PHASES)))) for role in VERBS)
    return sw.Workflow(
        "plant.turnaround",
        sw.Sequential(
            sw.Human(
                "begin", role="planning", title="Release the unit", deadline="1d", milestone="Unit released"
            ),
            sw.Parallel(*disciplines),
            sw.Human(
                "end",
                role="planning",
                title="Hand over to production",
                deadline="1d",
                milestone="In production",
            ),
        ),
        title="Turnaround U-300",
        workflow_class="maintenance",
        input={
            "type": "object",
            "required": ["unit"],
            "properties": {"unit": {"type": "string", "title": "Unit"}},
        },
    )


PERMIT = """## Entry permit

Before anybody enters:

- oxygen between **19.5 and 23.5 %**
- gas below 10 % of the lower limit
- a second person stands at the opening

Measure again after every pause of more than *30 minutes*.
"""


def register(app: sw.App) -> None:
    @handler(app, sw.Retry(max_attempts=3, delays=["10m"]))
    async def plant_agent(ctx: sw.Context, task: str) -> dict[str, Any]:
        await work(between(10, 50, ctx.unit_id, ctx.attempt))
        if chance("crane", ctx.step_id, ctx.attempt) < 0.12:
            raise ConnectionError("the booking service does not answer")
        return {"unit": task, "pages": int(between(1, 60, ctx.unit_id))}

    app.publish(turnaround())
