"""The command line and a Python program show how far consumers are behind, in two languages."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg

from tests.acceptance.running import run as stepwell
from tests.support.clock import Clock
from tests.support.roles import api, client_app


def test_the_lag_is_listed_and_its_trend_shown(dsn: str, db: psycopg.Connection, clock: Clock):
    def run(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", api(dsn), "lag", *arguments, environment={"COLUMNS": "140"})
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    assert run() == "no events in this time, and no readers"
    db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    for seconds in (0.3, 20):
        db.execute(
            "select _lag_note(1, 'log', 'reader:mail', array_fill(make_interval(secs => %s), array[9]))",
            (seconds,),
        )
        clock.advance(minutes=10)
    (found,) = json.loads(run("--json"))
    assert (found["consumer"], found["event_count"], found["light"]) == ("reader:mail", 18, "red")
    listed = run()
    assert "■ late" in listed
    assert "reader:mail" in listed
    assert "■ trễ" in run("--lang", "vi")
    trend = run("log", "reader:mail")
    assert "│" in trend
    assert [line.count("█") > 5 for line in trend.splitlines()[-2:]] == [False, True]
    assert len(json.loads(run("log", "reader:mail", "--window", "7d", "--json"))) >= 1
    assert "no event reached reader:nobody from log" in run("log", "reader:nobody", code=1)
    assert "name a producer and a consumer" in run("log", code=2)
    assert "window: 5 minutes to 7 days are accepted" in run("--window", "1m", code=1)

    with client_app(dsn).sync as app:
        assert len(app.lags(timedelta(hours=2))) == 1
        assert len(app.lag_trend("log", "reader:mail")) == 2
