"""Random job graphs with any-of, delays, retries, replays and cancels have the states of a slow oracle."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.job_graph_oracle import JobGraphOracle
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import emitted, finish, job, states, status
from tests.support.clock import Clock
from tests.support.sample import sample


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


ACTS = ["completed"] * 4 + ["dead", "failed", "cancel", "replay", "time", "stop"]


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    for at in range(draw(st.integers(1, 8))):
        names = [one["local_id"] for one in jobs]
        parents = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
        more: dict[str, Any] = {"max_attempts": draw(st.sampled_from([1, 2]))}
        if parents and draw(st.booleans()):
            more["join"] = "any"
        if draw(st.integers(0, 3)) == 0:
            more["delay_seconds"] = 900
        jobs.append(job(f"j{at}", *parents, **more))
    return jobs


@pytest.mark.requirement("JW-06")
@pytest.mark.requirement("JW-07")
@sample(15)
@given(
    jobs=graphs(), acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 7)), min_size=4, max_size=24)
)
def test_a_job_graph_has_the_states_of_the_oracle_after_every_action(
    engine: Engine, clock: Clock, jobs: list[dict[str, Any]], acts: list[tuple[str, int]]
):
    with engine.db.transaction(force_rollback=True):
        Play(engine, clock, jobs).perform(acts)


class Play:
    """The same acts in the engine and in the oracle."""

    def __init__(self, engine: Engine, clock: Clock, jobs: list[dict[str, Any]]) -> None:
        self.engine, self.clock = engine, clock
        self.oracle = JobGraphOracle(jobs)
        self.attempts = {one["local_id"]: one["max_attempts"] for one in jobs}
        engine.db.execute("select fn_person_set(1, 'asks', array['reviewer'])")
        self.number = emitted(engine, *jobs)
        self.worker = engine.worker(lease_seconds=86400)
        self.held: dict[str, Any] = {}

    def perform(self, acts: list[tuple[str, int]]) -> None:
        self.compare()
        for act, at in acts:
            self.claim()
            getattr(self, f"_{act}", self._report)(act, at)
            self.compare()
        assert self.engine.faults() == {}

    def compare(self) -> None:
        assert states(self.engine, self.number) == self.oracle.states()
        assert status(self.engine, self.number) == self.oracle.status()

    def claim(self) -> None:
        expected = self.oracle.claimable()
        got = {lease.step_id: lease for lease in self.engine.claim(self.worker)}
        assert set(got) - set(self.oracle.failed) == expected
        for name in got:
            self.oracle.leased.add(name)
        self.held |= got
        self.oracle.failed = {name: n for name, n in self.oracle.failed.items() if name not in got}
        self.compare()

    def _report(self, act: str, at: int) -> None:
        if not self.held:
            return
        name = sorted(self.held)[at % len(self.held)]
        lease = self.held.pop(name)
        self.oracle.leased.discard(name)
        finish(self.engine, self.worker, [lease], act)
        if act == "completed":
            self.oracle.completed.add(name)
        elif act == "failed" and lease.attempt < self.attempts[name]:
            self.oracle.failed[name] = lease.attempt
        else:
            self.oracle.dead.add(name)

    def _cancel(self, act: str, at: int) -> None:
        found = self.oracle.states()
        open_ones = [
            n for n, state in found.items() if state in ("not_started", "ready", "in_progress", "failed")
        ]
        if not open_ones:
            return
        name = open_ones[at % len(open_ones)]
        unit = (self.number << 20) + 1 + list(found).index(name)
        self.engine.one("select fn_job_cancel(1, %s, 'asks')", (unit,))
        self.held.pop(name, None)
        self.oracle.leased.discard(name)
        self.oracle.failed.pop(name, None)
        self.oracle.called_off.add(name)

    def _replay(self, act: str, at: int) -> None:
        if not self.oracle.dead or self.oracle.is_cancelled:
            return
        answer = self.engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (self.number,))
        assert answer["state"] == "replayed"  # without an approval, as in development mode
        self.oracle.dead.clear()

    def _time(self, act: str, at: int) -> None:
        self.clock.advance(seconds=1000)
        self.engine.one("select fn_timers_fire()")
        self.oracle.is_late = True

    def _stop(self, act: str, at: int) -> None:
        if at > 0 or self.oracle.status() != "active":
            return
        self.engine.one("select fn_run_cancel(1, %s, 'asks')", (self.number,))
        self.held.clear()
        self.oracle.leased.clear()
        self.oracle.failed.clear()
        self.oracle.is_cancelled = True
