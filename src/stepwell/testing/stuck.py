"""Explain why a test cannot continue: one error lists each step that has not ended, with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.client import Client
from stepwell.errors import StepwellError
from stepwell.store.calls import views
from stepwell.store.calls.rehearsal import Open

LINE_LIMIT = 30
DEPTH_LIMIT = 5


class Stuck(StepwellError):
    """Nothing can happen without the test, or a limit of the harness was reached.

    `reasons` maps the name of each step that has not ended to a sentence.
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
    """Name of the open item, such as `7/sign-off` → its reason."""
    return {
        item.name if item.run_id is None else f"{item.run_id}/{item.name}": f"{item.why} ({item.state_code})"
        for item in items
    }


async def reasons_in(client: Client, run_id: int, known: frozenset[str], depth: int = 0) -> dict[str, str]:
    """Each step of a run that has not ended, with its reason; also the steps of its sub-workflow runs.

    `known` are the operations of the app: no worker of the test can run a step of another operation.
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
