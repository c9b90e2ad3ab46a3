"""What to do next in the demo: receives its database, returns commands that work as they are printed.

The demo leaves some runs for whoever watches. Their steps and approvals are read here, so a command names
what is open now.
"""

from __future__ import annotations

import shlex
from typing import Final

from stepwell.client import Client
from stepwell.demo.people import PEOPLE
from stepwell.demo.plan import CUSTOMERS, SMALL_REFUND, YOURS
from stepwell.demo.refunds import amount
from stepwell.people import People
from stepwell.store.calls.people import HumanStep
from stepwell.store.calls.run_list import Run
from stepwell.unit_numbers import short

PICKED_UP: Final = "carrier.picked_up"
INBOX_LIMIT: Final = 500


async def next_commands(conninfo: str) -> dict[str, list[str]]:
    """Heading → commands without the name of the program. What is not open has no command."""
    client = await Client.connect(conninfo, is_command=True)
    try:
        left = {run.run_id: run for run in await client.runs(labels=YOURS, state="in_progress")}
        people = People(client)
        steps = [step for step in await people.inbox(limit=INBOX_LIMIT) if step.run_id in left]
        asked = [found for found in await people.approvals("requested") if found.run_id in left]
    finally:
        await client.close()
    orders = [_named(run) for run in left.values() if run.workflow == "order.process"]
    return {
        "Look at the work, and why a run stands still": [
            "runs list",
            *(f"runs show {name}" for name in orders[:1]),
        ],
        "Do the work of a person; then tell that the carrier came": [
            *(line for step in steps[:1] for line in _person(step, _named(left[step.run_id]))),
            *(f"signal {name} {PICKED_UP}" for name in orders[:1]),
        ],
        "Decide what an agent may do": [
            "approvals list --state requested",
            *(line for found in asked[:1] for line in _approval(found.approval_id)),
        ],
        "Start a run, and watch it to its end": [_start()],
        "Check that nobody has changed the log": ["audit verify"],
    }


def _named(run: Run) -> str:
    return f"{run.workflow}/{run.key}"


def _person(step: HumanStep, run_name: str) -> list[str]:
    """How a person of the demo claims the step and completes it; only completes it if it is claimed."""
    place = f"{run_name}/{step.step_id}"
    if step.pic is not None:
        return [f"step complete {place} --as {shlex.quote(step.pic)}"]
    person = _who_has(step.role)
    return [
        f"inbox --as {person}",
        f"step claim {place} --as {person}",
        f"step complete {place} --as {person}",
    ]


def _approval(approval_id: int) -> list[str]:
    number = short(approval_id)
    return [f"approvals show {number}", f"approvals approve {number} --as {_who_has('lead')}"]


def _who_has(role: str | None) -> str:
    """A person who signs in, and whom the demo does not play."""
    return next(member.name for member in PEOPLE if member.signs_in and role in member.roles)


def _start() -> str:
    """A refund that needs no approval, so its run ends by itself."""
    customer = next(name for name in CUSTOMERS if amount(name) <= SMALL_REFUND)
    complaint = shlex.quote("complaint=the parcel came late")
    return f"start agent.refund -i customer={customer} -i {complaint} --key mine-1 --watch"
