"""A Slack callback is accepted once and only near its time; an account belongs to one person."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.sql.people.asking import refused
from tests.support.clock import Clock

ACCEPT = "select fn_slack_callback_accept(1, %s, extract(epoch from stepwell.now())::bigint + %s)"


def test_a_repeated_signature_is_refused(engine: Engine, clock: Clock):
    engine.one(ACCEPT, ("v0=a", 0))
    with refused("SW003", "accepted before"):
        engine.one(ACCEPT, ("v0=a", 0))
    engine.one(ACCEPT, ("v0=b", 0))
    clock.advance(seconds=299)
    with refused("SW003", "accepted before"):
        engine.one(ACCEPT, ("v0=a", -299))


@pytest.mark.parametrize("offset", [-302, 302])
def test_a_callback_far_from_now_is_refused(engine: Engine, offset: int):
    with refused("SW007", "too far from now"):
        engine.one(ACCEPT, ("v0=a", offset))


@pytest.mark.parametrize(
    "arguments", ["null, 1", "'', 1", "'v0=a', null", "'v0=a', -1", "repeat('x', 201), 1"]
)
def test_a_callback_without_signature_or_time_is_refused(engine: Engine, arguments: str):
    with refused("SW001", "signature"):
        engine.one(f"select fn_slack_callback_accept(1, {arguments})")


def test_signatures_are_deleted_when_their_time_is_no_longer_accepted(engine: Engine, clock: Clock):
    engine.one(ACCEPT, ("v0=a", 0))
    clock.advance(seconds=901)
    engine.one(ACCEPT, ("v0=b", 0))
    assert engine.one("select array_agg(signature) from slack_callback") == ["v0=b"]


def test_an_account_belongs_to_one_person_and_a_person_has_one_account(engine: Engine):
    for name in ("ada", "ben"):
        engine.one("select fn_person_set(1, %s)", (name,))
    assert engine.one("select fn_slack_user_map(1, 'U0ADA', 'ada', 'root')") is True
    assert engine.one("select fn_slack_user_map(1, 'U0ADA', 'ada', 'root')") is False
    with refused("SW003", "U0ADA already belongs to ada"):
        engine.one("select fn_slack_user_map(1, 'U0ADA', 'ben', 'root')")
    with refused("SW003", "U0ADA already belongs to ada"):
        engine.one("select fn_slack_user_map(1, 'U0NEW', 'ada', 'root')")
    assert engine.one("select fn_slack_user_unmap(1, 'U0ADA')") is True
    assert engine.one("select fn_slack_user_unmap(1, 'U0ADA')") is False
    assert engine.one("select fn_slack_user_map(1, 'U0ADA', 'ben', 'root')") is True
    assert engine.one("select person_name from v_slack_user where slack_user_id = 'U0ADA'") == "ben"


def test_an_invalid_account_or_an_unknown_person_is_refused(engine: Engine):
    engine.one("select fn_person_set(1, 'ada')")
    with refused("SW001", "not the name"):
        engine.one("select fn_slack_user_map(1, '@ada', 'ada', 'root')")
    with refused("SW002", "nobody does not exist"):
        engine.one("select fn_slack_user_map(1, 'U0ADA', 'nobody', 'root')")
