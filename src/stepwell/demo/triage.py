"""Incident triage: an agent reads and proposes, a lead approves the restart, people close the incident."""

from __future__ import annotations

from typing import Any

import stepwell as sw
from stepwell.demo.chance import between, chance, choice
from stepwell.demo.operations import handler, step
from stepwell.demo.pace import work

SERVICES = ("checkout", "search", "payments", "labels", "stock")

_VERDICT = {
    "type": "object",
    "required": ["is_closed", "lesson"],
    "properties": {
        "is_closed": {"type": "boolean", "title": "The incident is over"},
        "lesson": {"type": "string", "title": "What we learned", "minLength": 3, "maxLength": 400},
    },
}
_INPUT = {
    "type": "object",
    "required": ["service", "severity"],
    "properties": {
        "service": {"type": "string", "enum": list(SERVICES), "title": "Service"},
        "severity": {"type": "integer", "minimum": 1, "maximum": 3, "title": "Severity, 1 is the worst"},
        "summary": {"type": "string", "title": "What was seen"},
    },
}

TRIAGE = sw.Workflow(
    "incident.triage",
    sw.Sequential(
        sw.Parallel(
            step("collect_logs", title="Collect logs"),
            step("collect_metrics", title="Collect metrics"),
            step("find_changes", title="Find recent changes"),
        ),
        step(
            "classify",
            title="Classify",
            milestone="Cause known",
            inputs={
                "service": "$.input.service",
                "severity": "$.input.severity",
                "errors": "$.steps.collect_logs.output.errors",
            },
        ),
        sw.Conditional(
            "$.steps.classify.output.needs_restart == true",
            then=step("restart", title="Restart the service", inputs={"service": "$.input.service"}),
            otherwise=sw.Human(
                "mitigate",
                title="Mitigate by hand",
                role="support",
                deadline="4h",
                content="triage.guide",
                inputs={"service": "$.input.service"},
            ),
            id="restart-needed",
        ),
        sw.Human(
            "verify",
            title="Verify with customers",
            role="support",
            deadline="6h",
            milestone="Service restored",
        ),
        sw.Human(
            "close",
            title="Close and learn",
            role="lead",
            deadline="1d",
            form=_VERDICT,
            inputs={"service": "$.input.service", "cause": "$.steps.classify.output.cause"},
            tasks=[{"id": "timeline", "title": "Write the timeline", "role": "support"}],
        ),
    ),
    title="Incident triage",
    input=_INPUT,
)

GUIDE = """# Mitigate an incident

1. **Look** at the last three changes of the service.
2. Turn off the newest one that touches *requests of customers*.
3. Watch the error rate for ten minutes.

> Do not restart a service by hand: ask the agent, so that a lead approves it.

| error rate | what to do |
|---|---|
| under 1 % | go on |
| 1 to 5 % | turn off the newest change |
| over 5 % | call the lead |
"""


def register(app: sw.App) -> None:
    @handler(app)
    async def collect_logs(ctx: sw.Context, service: str) -> dict[str, Any]:
        await work(between(2, 6, ctx.unit_id))
        return {
            "errors": int(between(3, 900, service, ctx.run_id)),
            "sample": f"{service}: timeout after 30 s",
        }

    @handler(app)
    async def collect_metrics(ctx: sw.Context, service: str) -> dict[str, Any]:
        await work(between(1, 4, ctx.unit_id))
        return {"p99_ms": int(between(180, 4200, service, ctx.run_id))}

    @handler(app)
    async def find_changes(ctx: sw.Context, service: str) -> list[str]:
        await work(between(1, 3, ctx.unit_id))
        return [f"{service}-{int(between(100, 999, ctx.run_id, n))}" for n in range(3)]

    @handler(app)
    async def classify(ctx: sw.Context, service: str, severity: int, errors: int) -> dict[str, Any]:
        await ctx.act("desk", "read", "/tickets")
        for done in range(1, 4):
            await work(1.5)
            ctx.progress(done, 3, "reading")
        await ctx.act(
            "desk", "ticket", "/tickets", {"service": service, "severity": severity, "errors": errors}
        )
        causes = ("a change of today", "a full disk", "a slow supplier", "unknown")
        return {"needs_restart": chance("restart", ctx.run_id) < 0.5, "cause": choice(causes, ctx.run_id)}

    @handler(app)
    async def restart(ctx: sw.Context, service: str) -> Any:
        done = await ctx.act("desk", "restart", f"/services/{service}", {"reason": "error rate over 5 %"})
        await work(4)
        return done

    app.publish(TRIAGE)
