"""A tenant that does harm, by a seed: bad expressions, large values, failures, locked runs, a snapshot."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable

import psycopg
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.errors import COLLISION_SQLSTATES
from tests.sql.drive import Engine, operation, wait
from tests.sql.expressions.hostile import ALL, publish_before_the_rule

MEBIBYTE = 1 << 20
LOCK_SECONDS = 2.0


def declare(app: sw.App) -> None:
    """The operations of the tenant. Its workflows that nobody may publish any more are made by `prepare`."""

    @app.operation(retry=sw.Retry(max_attempts=3, initial="10ms", max="50ms"))
    async def raises() -> None:
        raise ConnectionError("always")

    @app.operation(retry=sw.Retry(max_attempts=2, initial="10ms"))
    async def large() -> str:
        return "x" * (2 * MEBIBYTE)

    @app.operation(retry=sw.Retry(max_attempts=2, initial="10ms"))
    async def deep() -> list[object]:
        found: list[object] = []
        for _ in range(300):
            found = [found]
        return found

    @app.operation
    async def harmless() -> None: ...

    app.publish(sw.Workflow("raises", sw.Parallel(*(sw.Operation("raises", id=f"r{n}") for n in range(5)))))
    app.publish(sw.Workflow("large", sw.Sequential(sw.Operation("harmless"), sw.Operation("large"))))
    app.publish(sw.Workflow("deep", sw.Sequential(sw.Operation("deep"), sw.Operation("harmless"))))
    app.publish(
        sw.Workflow(
            "locked",
            sw.Sequential(sw.Wait("go", timeout="100ms"), sw.Operation("harmless", id="after")),
        )
    )
    app.publish(sw.Workflow("many", sw.Map("$.input.items", sw.Operation("harmless", id="item"))))


def prepare(engine: Engine) -> list[tuple[str, dict[str, object]]]:
    """Publish each hostile expression as an input, a test and a list; return the workflows and inputs."""
    made = []
    for number, (path, given, _) in enumerate(ALL.values()):
        steps = {
            "input": [operation("harmless", inputs={"x": path})],
            "test": [
                wait("w", "go", timeout_seconds=0.05),
                {"id": "c", "kind": "conditional", "test": path, "reads": []},
            ],
            "list": [operation("harmless"), {"id": "m", "kind": "map", "over": path, "reads": []}],
        }
        for place, found in steps.items():
            name = f"hostile-{place}-{number}"
            publish_before_the_rule(engine, name, *found)
            made.append((name, given))
    return made


class HostileTenant:
    """Threads that call the database until they are told to stop; counts what became of their calls."""

    def __init__(self, dsn: str, seed: int, workflows: list[tuple[str, dict[str, object]]]) -> None:
        self._dsn = dsn
        self._seed = seed
        self._workflows = workflows
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.counts: Counter[str] = Counter()
        self.broken: list[BaseException] = []

    def __enter__(self) -> HostileTenant:
        for act in (self._start_hostile, self._start_large, self._lock_runs, self._pin_the_horizon):
            thread = threading.Thread(target=self._play, args=(act,), name=act.__name__)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.broken:
            raise self.broken[0]

    def _play(self, act: Callable[[Engine, random.Random], None]) -> None:
        dice = random.Random(f"{self._seed}:{act.__name__}")
        options = "-csearch_path=stepwell,public"
        try:
            with psycopg.connect(self._dsn, autocommit=True, options=options) as db:
                while not self._stop.is_set():
                    try:
                        act(Engine(db), dice)
                        self.counts[act.__name__] += 1
                    except psycopg.Error as error:
                        state = error.sqlstate or "?"
                        self.counts[state] += 1
                        if state not in COLLISION_SQLSTATES and not state.startswith("SW"):
                            raise
        except BaseException as error:
            self.broken.append(error)

    def _start_hostile(self, engine: Engine, dice: random.Random) -> None:
        workflow, given = dice.choice(self._workflows)
        engine.start(workflow, given)
        self._stop.wait(dice.uniform(0, 0.2))

    def _start_large(self, engine: Engine, dice: random.Random) -> None:
        match dice.choice(["input", "many", "result", "failures", "unreadable", "deep"]):
            case "input":
                engine.start("large", {"text": "y" * dice.randrange(900_000)})
            case "many":
                engine.start("many", {"items": list(range(dice.randrange(200)))})
            case "result":
                engine.start("large")
            case "failures":
                engine.start("raises")
            case "deep":
                engine.start("deep")
            case "unreadable":
                text = dice.choice(["[" * 300 + "]" * 300, "1e5000", f"[{','.join(['1e131071'] * 20_000)}]"])
                engine.db.execute(
                    "select fn_run_start(1, 'many', array[jsonb_build_object('items', %s::jsonb)])", (text,)
                )
        self._stop.wait(dice.uniform(0, 0.4))

    def _lock_runs(self, engine: Engine, dice: random.Random) -> None:
        """A client's open transaction holds runs whose timers are due."""
        runs = [engine.start("locked") for _ in range(5)]
        with engine.db.transaction():
            for run_id in runs:
                engine.db.execute(
                    "select fn_signal(1, %s, 'other', %s, %s)",
                    (run_id, Jsonb(None), f"{run_id}-{dice.random()}"),
                )
            self._stop.wait(dice.uniform(0, LOCK_SECONDS))

    def _pin_the_horizon(self, engine: Engine, dice: random.Random) -> None:
        """An old snapshot keeps vacuum from removing dead rows, until the tenant stops."""
        with engine.db.transaction():
            engine.db.execute("set transaction isolation level repeatable read")
            engine.db.execute("select count(*) from work_unit")
            self._stop.wait()
