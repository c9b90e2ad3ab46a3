"""Sessions that make random calls at once: start, claim, report, cancel, enqueue, signal, lose a worker.

People pause, resume and retry at the same time, and the caps of the tenant change.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.errors import COLLISION_SQLSTATES
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish
from tests.sql.job_graphs.graphing import GENERATOR, any_of, generator, job, register
from tests.worker.acting import put_in_force, rule

KEYS = ["a", "b", "c"]
JOB_KEYS = [f"job-{number}" for number in range(40)]


def op(step: str) -> sw.Operation:
    return sw.Operation("op", id=step)


def prepare(engine: Engine) -> None:
    inner = sw.Parallel(*(op(f"i{n}") for n in range(3)), max_concurrency=2)
    publish(engine, inner, name="inner")
    publish(
        engine,
        sw.Sequential(op("m"), sw.SubWorkflow("inner"), sw.SubWorkflow("inner", id="twice")),
        name="middle",
    )
    publish(
        engine,
        sw.Parallel(
            sw.Sequential(op("a"), sw.Parallel(*(op(f"p{n}") for n in range(4)), max_concurrency=2)),
            sw.Sequential(sw.Wait("go", timeout="1ms"), op("after")),
            sw.SubWorkflow("middle"),
            sw.SubWorkflow("inner", timeout="50ms"),
            sw.Map("$.input.items", sw.Operation("op", id="item"), max_concurrency=2),
        ),
        name="outer",
        failure_policy="abort-dependents",
    )
    kind = {"job_kind": "op"}
    register(engine, "parts", job("x", **kind), job("y", "x", delay_seconds=0.01, **kind))
    register(
        engine, "graph", job("a", **kind), job("b", **kind), any_of("first", "a", "b", **kind),
        any_of("later", "a", "b", delay_seconds=0.02, **kind), job("nested", "a", template="parts"),
        job("last", "first", "nested", **kind),
    )  # fmt: skip
    generator(engine)
    engine.one("select fn_workflow_caps_set(1, 'inner', %s)", (Jsonb({"max_concurrency": 5}),))
    put_in_force(
        engine.db,
        rule("ask", "needs_approval", '$.target == "ask"', priority=20, expires_seconds=60),
        rule("free", "allow"),
    )


class Actor:
    """One session on its own connection; it makes random calls and counts them by name, or by SQLSTATE."""

    def __init__(self, dsn: str, seed: str) -> None:
        db = psycopg.connect(
            dsn, autocommit=True, options="-csearch_path=stepwell,public -cdeadlock_timeout=100ms"
        )
        self.engine = Engine(db)
        self.dice = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.deadlocks: list[str] = []
        self.session = self.engine.worker()
        self.leases: list[Lease] = []

    def act(self) -> None:
        name, call = self.dice.choice(ACTIONS)
        try:
            call(self)
            self.counts[name] += 1
        except psycopg.Error as error:
            state = error.sqlstate or "?"
            self.counts[state] += 1
            if state == "40P01":
                self.deadlocks.append(f"{name}: {error.diag.message_detail}\n{error.diag.context}")
            if state not in COLLISION_SQLSTATES and not state.startswith("SW"):
                raise

    def any_run(self) -> int | None:
        rows = self.engine.db.execute(
            "select run_id from run_detail where finished_at is null order by run_id desc limit 20"
        ).fetchall()
        return self.dice.choice(rows)[0] if rows else None

    def start(self) -> None:
        self.engine.start("outer", {"items": [1, 2, 3]})

    def emit(self) -> None:
        self.engine.one("select fn_mot_graph_emit(1, 'graph', p_actor => %s)", (GENERATOR,))

    def refresh(self) -> None:
        graph = self.engine.one(
            "select max(workflow_id) from (select workflow_id from job_workflow_detail"
            " order by random() limit 1) as w"
        )
        if graph is not None:
            self.engine.one("select fn_job_workflow_refresh(1, %s)", (graph,))

    def enqueue(self) -> None:
        count = self.dice.randrange(1, 5)
        keys = self.dice.sample(JOB_KEYS, count) if self.dice.random() < 0.5 else None
        self.engine.enqueue(
            "op", count, p_keys=keys and [f"{key}-{self.dice.randrange(50)}" for key in keys],
            p_concurrency_key=self.dice.choice(KEYS), p_max_concurrency=self.dice.choice([None, 2, 3]),
        )  # fmt: skip

    def work(self) -> None:
        self.leases += self.engine.claim(self.session, 6)
        self.dice.shuffle(self.leases)
        batch = self.leases[:6]
        outcomes: list[tuple[Lease, str, Any]] = [(lease, *self.outcome()) for lease in batch]
        more = self.engine.report(self.session, *outcomes, claim_limit=self.dice.choice([0, 3]))
        self.leases = [lease for lease in self.leases[6:] + more if lease.row_kind == "lease"]

    def outcome(self) -> tuple[str, Any]:
        error = {"error": {"type": "E"}, "seconds": 0.001}
        return self.dice.choice(
            [
                ("completed", 1), ("completed", 2), ("completed", 3), ("failed", error), ("dead", error),
                ("released", None), ("waiting", {"event": "go", "seconds": 0.001}),
                ("sleep", {"seconds": 0.001}),
            ]
        )  # fmt: skip

    def pause(self) -> None:
        run = self.any_run()
        if run is not None:
            self.engine.one("select fn_run_pause(1, %s, 'ben')", (run,))

    def resume(self) -> None:
        run = self.engine.one(
            "select run_id from workflow_run where state_code = 'paused' order by random() limit 1"
        )
        if run is not None:
            self.engine.one("select fn_run_resume(1, %s, 'ben')", (run,))

    def retry(self) -> None:
        run = self.engine.one(
            "select run_id from workflow_run where state_code = 'failed' order by random() limit 1"
        )
        if run is not None:
            self.engine.one("select fn_run_retry(1, %s, 'ada', 'again')", (run,))

    def cap(self) -> None:
        cap = self.dice.choice([None, 30, 60])
        self.engine.one("select fn_tenant_set('default', %s)", (Jsonb({"max_concurrency": cap}),))

    def cancel_run(self) -> None:
        run = self.any_run()
        if run is not None:
            self.engine.one("select fn_run_cancel(1, %s, 'cli:ben')", (run,))

    def cancel_step(self) -> None:
        run = self.any_run()
        if run is not None:
            unit = (run << 20) + self.dice.randrange(1, 12)
            self.engine.one("select fn_job_cancel(1, %s, 'cli:ben')", (unit,))

    def signal(self) -> None:
        run = self.any_run()
        if run is not None:
            self.engine.one("select fn_signal(1, %s, 'go', '{}'::jsonb, %s)", (run, str(self.dice.random())))

    def lose_worker(self) -> None:
        self.engine.db.execute(
            "update worker_session set expires_at = stepwell.now() - interval '1 s' where session_id = ("
            "select _session_id_of(%s))",
            (self.session,),
        )
        self.new_session()
        self.engine.one("select fn_leases_recover()")

    def close_worker(self) -> None:
        ended, self.session, self.leases = self.session, self.engine.worker(), []
        self.engine.one("select fn_worker_close(%s)", (ended,))

    def new_session(self) -> None:
        self.session, self.leases = self.engine.worker(), []

    def timers(self) -> None:
        self.engine.timers()


ACTIONS: list[tuple[str, Callable[[Actor], None]]] = [
    ("start", Actor.start), ("emit", Actor.emit), ("refresh", Actor.refresh),
    *[("enqueue", Actor.enqueue)] * 2,
    *[("work", Actor.work)] * 8, ("cancel run", Actor.cancel_run), ("cancel step", Actor.cancel_step),
    ("signal", Actor.signal), ("lose worker", Actor.lose_worker), ("close worker", Actor.close_worker),
    *[("timers", Actor.timers)] * 2,
    ("pause", Actor.pause), *[("resume", Actor.resume)] * 2, ("retry", Actor.retry), ("cap", Actor.cap),
]  # fmt: skip


def stress(
    dsn: str, seed: int, *, actors: int, calls: int, seconds: float = 0
) -> tuple[Counter[str], list[str]]:
    """Each actor makes at least this many calls and goes on until the time is over; returns the counts.

    Also the deadlocks, with what the session was doing.
    """
    found: Counter[str] = Counter()
    deadlocks: list[str] = []
    broken: list[BaseException] = []
    until = time.monotonic() + seconds

    def play(number: int) -> None:
        actor = Actor(dsn, f"{seed}:{number}")
        try:
            made = 0
            while made < calls or time.monotonic() < until:
                actor.act()
                made += 1
        except BaseException as error:
            broken.append(error)
        finally:
            actor.engine.db.close()
            found.update(actor.counts)
            deadlocks.extend(actor.deadlocks)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(actors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return found, deadlocks
