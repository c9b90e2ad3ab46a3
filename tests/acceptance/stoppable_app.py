"""An app that a test can stop anywhere: each phase of each step passes a gate that the test can close.

A gate is an advisory lock in the database. Effects are rows; a checkpoint that ran twice leaves two rows.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import psycopg
from pydantic import BeforeValidator, PlainSerializer

import stepwell as sw

STEPS = ("one", "two", "three")

app = sw.App()


def pass_gate(name: str) -> None:
    with psycopg.connect(os.environ["EFFECTS_URL"], autocommit=True) as connection:
        connection.execute("select pg_advisory_lock_shared(hashtext(%s))", (name,))


def leave_effect(name: str) -> str:
    with psycopg.connect(os.environ["EFFECTS_URL"], autocommit=True) as connection:
        connection.execute("insert into public.effect (step) values (%s)", (name,))
    return name


def declare(name: str) -> None:
    def claimed(value: Any) -> Any:
        pass_gate(f"claimed:{name}")
        return value

    def returning(value: Any) -> Any:
        pass_gate(f"returning:{name}")
        return value

    def body(ctx: sw.Context, order: Any) -> Any:
        kept = ctx.step_sync("effect", leave_effect, name)
        pass_gate(f"running:{name}")
        return f"{order}:{kept}"

    body.__annotations__ = {
        "order": Annotated[str, BeforeValidator(claimed)],
        "return": Annotated[str, PlainSerializer(returning)],
    }
    app.operation(body, name=name)


for step in STEPS:
    declare(step)
app.publish(sw.Workflow("steps", sw.Sequential(*(sw.Operation(step) for step in STEPS))))
