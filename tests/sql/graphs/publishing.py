"""Publishes workflows written with the Python classes: receives steps, returns run ids and leases."""

from __future__ import annotations

from typing import Any

from stepwell.define import Step, Workflow, freeze
from tests.sql.drive import Engine, Lease


def publish(engine: Engine, root: Step, name: str = "w", **more: Any) -> None:
    graph = freeze(Workflow(name, root, **more))
    engine.db.execute("select fn_workflow_publish(1, %s, 'test')", (graph.canonical.decode(),))


def start(engine: Engine, root: Step, given: Any = None, **more: Any) -> int:
    publish(engine, root, **more)
    return engine.start("w", given)


def leases(engine: Engine, session: int) -> dict[str, Lease]:
    return {str(lease.step_id): lease for lease in engine.claim(session)}
