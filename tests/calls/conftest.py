"""Fixtures of the tests of the app's calls: an app on the test's database, with two workflows."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.worker.conftest import app, play

__all__ = ["app", "play"]


@pytest.fixture
def square(app: sw.App) -> sw.App:
    """Two workflows of one step: `square` of its input `n`, and `broken`, which fails for good."""

    @app.operation
    async def square(n: int) -> int:
        return n * n

    @app.operation
    async def broken() -> sw.Dead:
        return sw.Dead("no card")

    app.publish(sw.Workflow("square", sw.Operation("square"), title="A square"))
    app.publish(sw.Workflow("broken", sw.Operation("broken")))
    return app
