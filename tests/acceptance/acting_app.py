"""An app whose one step acts on a file and passes gates around the effect, where a test may stop and kill it.

A gate is an advisory lock in the database; the file is the other system, and counts what happened to it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import stepwell as sw
from stepwell.connectors.base import Action, Effect
from tests.acceptance.stoppable_app import pass_gate
from tests.worker.acting import Ledger

app = sw.App()


class GatedLedger(Ledger):
    """Stands still at `before` and `after` while the test has closed that gate."""

    async def perform(self, action: Action) -> Effect:
        await asyncio.to_thread(pass_gate, "before")
        found = await super().perform(action)
        await asyncio.to_thread(pass_gate, "after")
        return found


app.connector(GatedLedger(Path(os.environ["LEDGER_PATH"])))


@app.operation
async def book(ctx: sw.Context, op: str) -> object:
    await asyncio.to_thread(pass_gate, "asking")
    found = await ctx.act("ledger", op, "A", {"amount": 7})
    await asyncio.to_thread(pass_gate, "returning")
    return found


app.publish(sw.Workflow("act", sw.Operation("book")))
