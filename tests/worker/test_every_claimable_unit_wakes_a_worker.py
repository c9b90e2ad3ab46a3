"""Every call that makes a unit claimable wakes an idle worker. The worker runs in another process and polls
only once an hour: without the notification the test reaches its time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction

import pytest

from tests.worker import wake_paths
from tests.worker.resting_stage import Stage, resting

Path = Callable[[Stage], Iterator[None]]
PATHS: list[Path] = [found for found in vars(wake_paths).values() if isgeneratorfunction(found)]


@pytest.fixture(scope="module")
def stage(databases, template, tmp_path_factory) -> Iterator[Stage]:
    with databases.fresh(template) as dsn, resting(dsn, tmp_path_factory.mktemp("ledger") / "lines") as made:
        yield made


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_worker_is_woken_by(stage: Stage, path: Path):
    acting = path(stage)
    next(acting)
    stage.until_at_rest()
    before = stage.done_count()
    assert next(acting, "ended") == "ended"
    stage.until_done(before + 1)
