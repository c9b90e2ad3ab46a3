"""An app whose operations fail until a file says that their cause is mended."""

from __future__ import annotations

import contextlib
from pathlib import Path

import stepwell as sw

app = sw.App()
app.event_type(
    "order.counted", schema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
)


@app.operation(retry=sw.Retry(max_attempts=1))
def post(folder: str) -> str:
    """Refuses until the period is open."""
    if not Path(folder, "open").exists():
        raise RuntimeError("period 10 is closed")
    return "posted"


@app.operation
async def count(ctx: sw.Context) -> int:
    """Emits an event whose payload is broken."""
    with contextlib.suppress(sw.InvalidInput, sw.Refused):
        await ctx.emit("order.counted", {"n": "many"})
    return 1


app.publish(sw.Workflow("posting", sw.Operation("post", id="post")))
app.publish(sw.Workflow("counting", sw.Operation("count", id="count")))
