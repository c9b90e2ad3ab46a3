"""An app with the jobs of a graph: each leaves an effect inside a checkpoint; some fail at first."""

from __future__ import annotations

import os

import psycopg

import stepwell as sw

app = sw.App()


def leave_effect(name: str, unit_id: int) -> str:
    with psycopg.connect(os.environ["EFFECTS_URL"], autocommit=True) as connection:
        connection.execute("insert into public.effect (step, unit_id) values (%s, %s)", (name, unit_id))
    return name


@app.operation(retry=sw.Retry(max_attempts=50, initial="100ms", max="100ms"))
def mark(ctx: sw.Context, graph: str) -> str:
    ctx.step_sync("effect", leave_effect, f"{graph}:{ctx.step_id}", ctx.unit_id)
    if ctx.attempt == 1 and ctx.step_id == "b":
        raise ConnectionError("at the first attempt")
    return graph


@app.operation
def give_up(graph: str) -> sw.Dead:
    return sw.Dead("as declared")
