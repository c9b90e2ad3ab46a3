"""A test of a user: the harness takes what `app.start` takes."""

from typing import reveal_type

import stepwell as sw
from stepwell.testing import Harness

app = sw.App()
counted: sw.Workflow[int] = sw.Workflow("counted", sw.Operation("count"))
app.publish(counted)


async def test_counted() -> None:
    async with Harness(app) as harness:
        started = await harness.start(counted, {"n": 1})
        reveal_type(await started.result())  # int
        reveal_type((await harness.run("counted")).state)  # str
        await harness.start(7)  # error: arg-type
