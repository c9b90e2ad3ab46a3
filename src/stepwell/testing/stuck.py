"""Say why a test cannot go on: receives what stands still, names each step and its reason in one error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.client import Client
from stepwell.errors import StepwellError
from stepwell.store.calls import views
from stepwell.store.calls.rehearsal import Open

LINE_LIMIT = 30
DEPTH_LIMIT = 5


class Stuck(StepwellError):
    """Nothing can happen by itself, or a limit of the harness was reached.

    `reasons` has a sentence for each step that has not ended, by the step's name.
    """

    code = "stuck"

    def __init__(
        self, message: str, reasons: Mapping[str, str] | None = None, *, hint: str | None = None
    ) -> None:
        self.reasons = dict(reasons or {})
        lines = [f"  {name}: {reason}" for name, reason in self.reasons.items()]
        if len(lines) > LINE_LIMIT:
            lines = [*lines[:LINE_LIMIT], f"  … and {len(lines) - LINE_LIMIT} more"]
        if hint is not None:
            lines.append(hint)
        super().__init__("\n".join([message + (":" if lines else ""), *lines]), hint=None)


def reasons_of(items: Sequence[Open]) -> dict[str, str]:
    """Open work by the name a person would type: `7/sign-off`."""
    return {
        item.name if item.run_id is None else f"{item.run_id}/{item.name}": f"{item.why} ({item.state_code})"
        for item in items
    }


async def reasons_in(client: Client, run_id: int, known: frozenset[str], depth: int = 0) -> dict[str, str]:
    """Each step of a run that has not ended and why, with the steps of the runs inside it.

    `known` are the operations of the app: a step of another one waits for a worker that no test has.
    """
    found: dict[str, str] = {}
    for step in await client.perform(views.steps(client.tenant_id, run_id)):
        if step.why_en is None:
            continue
        why = step.why_en
        if step.operation is not None and step.operation not in known:
            why = f"{why} The app of this test has no operation {step.operation}."
        if step.last_error is not None and step.state_code == "failed":
            why = f"{why} Last error: {step.last_error.get('type')}: {step.last_error.get('message')}"
        found[step.name] = f"{why} ({step.state_code})"
        if step.child_run_id is not None and depth < DEPTH_LIMIT:
            inner = await reasons_in(client, step.child_run_id, known, depth + 1)
            found |= {f"{step.name} → {name}": reason for name, reason in inner.items()}
    return found
