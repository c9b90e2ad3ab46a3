"""A step whose inputs cannot be bound ends with the reason, through a real worker; its handler never runs."""

from __future__ import annotations

import pytest

import stepwell as sw

ZONE = "$.input.due.datetime() < $.input.paid.datetime()"


def test_the_step_ends_with_the_reason_and_other_runs_go_on(app: sw.App, play):
    called = []

    @app.operation(retry=sw.Retry(max_attempts=5))
    def pay(late: bool) -> None:
        called.append(late)

    app.publish(sw.Workflow("pay", sw.Operation("pay", inputs={"late": ZONE})))

    async def scenario() -> None:
        async with sw.Worker(app):
            bad = await app.start("pay", {"due": "2026-01-01", "paid": "2026-01-01T00:00:00+00:00"})
            good = await app.start("pay", {"due": "2026-01-01", "paid": "2026-01-02"})
            await good.result()
            with pytest.raises(sw.RunFailed) as failed:
                await bad.result()
            (step,) = await bad.steps()
            assert step.state_code == "cannot_complete"
            assert (
                f"inputs.late: {ZONE} cannot be evaluated: cannot convert value from date to timestamptz"
                in str(failed.value)
            )

    play(scenario)
    assert called == [True]
