"""Job graphs of a test: registers templates and emits them as a generator, with SQL functions only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine

Job = dict[str, Any]
GENERATOR = "planner"


def job(local_id: str, *parents: str, **more: Any) -> Job:
    """A job of the operation with its own name."""
    found: Job = {"local_id": local_id, **more}
    if "template" not in more:
        found.setdefault("job_kind", local_id)
    if parents:
        found["parents"] = list(parents)
    return found


def any_of(local_id: str, *parents: str, **more: Any) -> Job:
    return job(local_id, *parents, join="any", **more)


def template(template_id: str, *jobs: Job, **more: Any) -> dict[str, Any]:
    return {"template_id": template_id, "jobs": list(jobs), **more}


def register(engine: Engine, template_id: str, *jobs: Job, **more: Any) -> int:
    """The number of its version."""
    version: int = engine.one(
        "select version_no from fn_job_template_register(%s, %s, 'test')",
        (engine.tenant_id, Jsonb(template(template_id, *jobs, **more))),
    )
    return version


def generator(engine: Engine, name: str = GENERATOR) -> str:
    engine.db.execute(
        "select fn_person_set(%s, %s, array['MOT_template_generator'])", (engine.tenant_id, name)
    )
    return name


def emit(engine: Engine, template_id: str, params: Any = None, **named: Any) -> dict[str, Any]:
    names = "".join(f", {name} => %s" for name in named)
    found: dict[str, Any] = engine.one(
        f"select fn_mot_graph_emit(%s, %s, %s, p_actor => %s{names})",
        (engine.tenant_id, template_id, Jsonb(params or {}), generator(engine), *named.values()),
    )
    return found


def emitted(engine: Engine, *jobs: Job, template_id: str = "t", **more: Any) -> int:
    """Registers and emits; the number of the job workflow."""
    register(engine, template_id, *jobs, **more)
    number: int = emit(engine, template_id)["workflow_id"]
    return number


def states(engine: Engine, workflow_id: int) -> dict[str, str]:
    """local_id → state."""
    rows = engine.db.execute(
        "select step_id, state_code from step_run where tenant_id = %s and run_id = %s",
        (engine.tenant_id, workflow_id),
    ).fetchall()
    return dict(rows)


def status(engine: Engine, workflow_id: int) -> str:
    found: str = engine.one(
        "select status from job_workflow where tenant_id = %s and workflow_id = %s",
        (engine.tenant_id, workflow_id),
    )
    return found


def perform(engine: Engine, session_key: int, *local_ids: str, outcome: str = "completed") -> None:
    """Claims everything, ends these jobs and leaves the others leased."""
    leases = {lease.step_id: lease for lease in engine.claim(session_key)}
    finish(engine, session_key, [leases[local_id] for local_id in local_ids], outcome)


def finish(engine: Engine, session_key: int, leases: Sequence[Any], outcome: str = "completed") -> None:
    body = {"error": {"type": "E", "message": "m"}} if outcome == "dead" else {}
    engine.report(session_key, *((lease, outcome, body) for lease in leases))
