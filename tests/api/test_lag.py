"""How far consumers are behind their producers, over HTTP: quantiles, thresholds, trend, and for whom."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine
from tests.support.clock import Clock


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.person("ada")
    return made


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1/governance/lag{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def read_all(api: httpx.Client, engine: Engine) -> int:
    """The reader takes what there is; returns how many events that was."""
    rows = engine.db.execute("select tx, event_id from fn_events_read(1, 'mail')").fetchall()
    engine.one("select fn_events_ack(1, 'mail', %s, %s)", rows[-1])
    return len(rows)


@pytest.mark.requirement("GV-08")
def test_a_reader_behind_the_log_is_red_until_its_pair_may_be(
    api: httpx.Client, engine: Engine, clock: Clock
):
    engine.enqueue("a")
    read_all(api, engine)
    assert [one["light"] for one in got(api, "")] == ["green"]
    engine.enqueue("a", 3)
    clock.advance(seconds=20)
    (waiting,) = got(api, "")
    assert (waiting["light"], waiting["event_count"], waiting["p99_ms"]) == ("red", 0, None)
    assert waiting["waits_ms"] >= 19_000
    count = read_all(api, engine)
    (late,) = got(api, "")
    assert (late["producer"], late["consumer"], late["event_count"]) == ("log", "reader:mail", count)
    assert (late["light"], late["waits_ms"]) == ("red", None)
    assert late["p50_ms"] == late["p99_ms"] >= 19_000
    engine.db.execute(
        """insert into dot_config (config_key, config_value, description) values
           ('event_lag.threshold.p99.log.reader:mail', '120000', 'of a test'),
           ('event_lag.threshold.p95.log.reader:mail', '60000', 'of a test')"""
    )
    (judged,) = got(api, "")
    assert (judged["threshold_p99_ms"], judged["threshold_p50_ms"], judged["light"]) == (
        120_000,
        500,
        "yellow",
    )
    (point,) = got(api, "/trend", producer="log", consumer="reader:mail")
    assert (point["event_count"], point["p99_ms"]) == (count, late["p99_ms"])
    assert got(api, "/trend", producer="log", consumer="reader:nobody") == []


@pytest.mark.parametrize("window", [299, 604_801, -1, "x"])
def test_a_window_out_of_range_is_refused_by_name(api: httpx.Client, window: Any):
    for path, more in (("", {}), ("/trend", {"producer": "log", "consumer": "seal"})):
        answer = api.get(f"/api/v1/governance/lag{path}", params={"window": window, **more})
        assert (answer.status_code, answer.json()["field"]) == (422, "query.window"), answer.text


def test_another_tenant_sees_nothing_of_it(api: httpx.Client, engine: Engine, db: psycopg.Connection):
    engine.enqueue("a")
    read_all(api, engine)
    engine.enqueue("a")
    read_all(api, engine)
    assert len(got(api, "/trend", producer="log", consumer="reader:mail")) == 1
    db.execute("select fn_tenant_set('other')")
    tenant_id = engine.one("select tenant_id from tenant where tenant_code = 'other'")
    db.execute("select fn_principal_set(%s, 'service', 'spy', '{admin}')", (tenant_id,))
    other = engine.one("select token from fn_token_create(%s, 'spy', 'test', 3600)", (tenant_id,))
    api.headers["Authorization"] = f"Bearer {other}"
    assert got(api, "") == []
    assert got(api, "/trend", producer="log", consumer="reader:mail") == []
