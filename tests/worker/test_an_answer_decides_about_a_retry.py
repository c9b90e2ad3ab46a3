"""Which answers of another system are tried again (003, 6.1): a handler, a connector and a real server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import stepwell as sw
from stepwell.connectors.http import HttpConnector, HttpLimits
from tests.api.serving import closed_port
from tests.connectors.http_server import CUT, HANG, LocalServer, Reply, local_server
from tests.support.wait import until_async
from tests.worker.acting import put_in_force, rule

RETRIED, ENDS = "transient", "permanent"
# 003 §6.1: "network timeouts, 5xx, rate limits" are retryable, "4xx with invalid payload" is terminal.
READS = {
    "hang": (HANG, RETRIED), "cut": (CUT, RETRIED),
    "500": (Reply(500), RETRIED), "502": (Reply(502), RETRIED), "503": (Reply(503), RETRIED),
    "504": (Reply(504), RETRIED), "429": (Reply(429), RETRIED),
    "400": (Reply(400), ENDS), "401": (Reply(401), ENDS), "403": (Reply(403), ENDS),
    "404": (Reply(404), ENDS), "409": (Reply(409), ENDS), "422": (Reply(422), ENDS),
}  # fmt: skip


@pytest.fixture
def shop() -> Iterator[LocalServer]:
    with local_server() as started:
        yield started


def fetching(app: sw.App, url: str, method: str) -> None:
    limits = HttpLimits(connect_seconds=5, read_seconds=0.5, total_seconds=30)
    app.connector(HttpConnector("shop", url, limits=limits))

    @app.operation(retry=sw.Retry(max_attempts=3, initial="1s"))
    async def book(ctx: sw.Context, path: str):
        return await ctx.act("shop", method, path)

    app.publish(sw.Workflow("one", sw.Operation("book")))


@pytest.mark.requirement("RT-08")
@pytest.mark.parametrize("method", ["get", "put"])
def test_the_answer_of_another_system_decides_whether_a_step_is_tried_again(
    app, play, db, shop, turn, method: str
):
    """A write that can be repeated (PUT) is tried again for the same answers as a read."""
    put_in_force(db, rule("free", "allow"))
    fetching(app, shop.url, method)
    shop.answer = lambda seen: READS[seen.path.removeprefix("/")][0]

    async def scenario():
        async with sw.Worker(app, slots=len(READS)):
            runs = {path: (await app.start("one", {"path": f"/{path}"})).id for path in READS}
            count = "select count(*) from unit_failure"
            await until_async(lambda: db.execute(count).fetchone() == (len(READS),))
            return runs

    runs = play(scenario)
    found = {
        path: db.execute(
            """select f.classification, f.next_eligible_at is not null, s.state_code, f.attempt_count
               from unit_failure as f inner join step_run as s on f.unit_id = s.step_run_id
               where s.workflow_run_id = %s""",
            (run_id,),
        ).fetchone()
        for path, run_id in runs.items()
    }
    assert found == {
        path: (said, said == RETRIED, "failed" if said == RETRIED else "cannot_complete", 1)
        for path, (_, said) in READS.items()
    }


@pytest.mark.requirement("RT-08")
def test_no_connection_and_a_server_that_asks_for_a_pause_are_tried_again(app, play, db, shop, turn):
    put_in_force(db, rule("free", "allow"))
    fetching(app, shop.url, "get")
    app.connector(HttpConnector("gone", f"http://127.0.0.1:{closed_port()}"))

    @app.operation(retry=sw.Retry(max_attempts=3, initial="1s"))
    async def away(ctx: sw.Context):
        return await ctx.act("gone", "get", "/x")

    app.publish(sw.Workflow("two", sw.Operation("away")))
    shop.answer = lambda _: Reply(429, headers={"Retry-After": "90"})

    async def scenario():
        async with sw.Worker(app):
            await app.start("one", {"path": "/busy"})
            await app.start("two")
            count = "select count(*) from unit_failure where classification = 'transient'"
            await until_async(lambda: db.execute(count).fetchone() == (2,))

    play(scenario)
    pause = db.execute(
        """select f.next_eligible_at - f.failed_at from unit_failure as f
           inner join step_run as s on f.unit_id = s.step_run_id where s.step_id = 'book'"""
    ).fetchone()
    assert pause is not None
    assert pause[0] >= timedelta(seconds=90)
