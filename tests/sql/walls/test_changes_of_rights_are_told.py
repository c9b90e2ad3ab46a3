"""Whoever changes who somebody is, what they may do or how they prove it leaves an event."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.sql.binding import token
from tests.sql.drive import Engine
from tests.sql.redaction import test_no_parameter_keeps_a_secret as attack
from tests.sql.walls.test_a_token_that_only_reads_changes_nothing import ROLES, called, of_the_api

given = attack.given
RIGHTS = {
    "access_token",
    "credential",
    "http_trigger",
    "permission",
    "principal",
    "principal_role",
    "slack_user",
}


def test_every_change_of_rights_is_an_event(engine: Engine, given: dict[str, Any]):
    text = token(engine.db, 1, "ada", ROLES)
    changing, silent = set(), {}
    for found in of_the_api(engine.db):
        done = called(engine, found, given, text)
        if done is None or not done[0] & RIGHTS:
            continue
        changing.add(found.name)
        if "event_log" not in {name.rsplit("_", 2)[0] for name in done[0]} | done[0]:
            silent[found.name] = done[0]
    assert silent == {}
    assert changing >= {"fn_person_set", "fn_token_create", "fn_link_create", "fn_slack_user_map"}


def test_a_slack_account_comes_and_goes_with_events(db: psycopg.Connection, engine: Engine):
    engine.person("ben")
    for _ in range(2):
        engine.one("select fn_slack_user_map(1, 'U0BEN', 'ben', 'root')")
    for _ in range(2):
        engine.one("select fn_slack_user_unmap(1, 'U0BEN')")
    rows = db.execute(
        "select event_type, payload from event_log where event_type like 'slack.%' order by event_id"
    ).fetchall()
    about = {"slack_user_id": "U0BEN", "name": "ben"}
    assert rows == [("slack.connected", about), ("slack.disconnected", about)]
