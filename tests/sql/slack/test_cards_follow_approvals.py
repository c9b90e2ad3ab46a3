"""Slack cards follow the approvals: one notifier takes a card, notes its face, and tries again on errors."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.binding import bound
from tests.sql.drive import Engine, human
from tests.sql.people.asking import refused
from tests.support.clock import Clock
from tests.support.deciding import deciding

CHANNEL = "C0AAAA"


@pytest.fixture(autouse=True)
def known_people(engine: Engine) -> None:
    engine.person("ada", "ben", "cleo")


def asked(engine: Engine, **named: Any) -> int:
    engine.publish("order.check", human("sign-off", role="office"))
    unit = engine.unit(engine.start("order.check"), "sign-off")
    words = "".join(f", p_{name} => %s" for name in named)
    found: int = engine.one(
        f"select fn_approval_request(1, 'reopen', %s, 'ada', 'why'{words})", (unit, *named.values())
    )
    return found


def take(engine: Engine) -> list[tuple[Any, ...]]:
    """The face without the digest of the question, which `note` adds again."""
    query = """select approval_id, message_ts, try_count, regexp_replace(face, ':[0-9a-f]{64}$', ''), approval
               from fn_slack_cards_take(1, %s)"""
    return engine.db.execute(query, (CHANNEL,)).fetchall()


def note(engine: Engine, approval: int, **named: Any) -> None:
    words = "".join(f", p_{name} => %s" for name in named)
    if "face" in named:
        digest = engine.one("select shown_digest from v_approval where approval_id = %s", (approval,))
        named["face"] = f"{named['face']}:{digest}"
    engine.one(f"select fn_slack_card_note(1, %s{words})", (approval, *named.values()))


def test_an_open_approval_is_taken_once_with_its_texts(engine: Engine):
    approval = asked(engine)
    ((found, message_ts, try_count, face, words),) = take(engine)
    assert (found, message_ts, try_count, face) == (approval, None, 1, "requested:0")
    assert (words["workflow"], words["subject"], words["requested_by"]) == ("order.check", "sign-off", "ada")
    assert take(engine) == []


def test_a_card_is_taken_again_when_its_notifier_stopped(engine: Engine, clock: Clock):
    approval = asked(engine)
    take(engine)
    clock.advance(seconds=121)
    ((found, _, try_count, _, _),) = take(engine)
    assert (found, try_count) == (approval, 2)


def test_a_card_is_taken_again_when_its_face_is_out_of_date(engine: Engine):
    approval = asked(engine, quorum=2)
    take(engine)
    note(engine, approval, message_ts="17.1", face="requested:0")
    assert take(engine) == []
    engine.one(deciding("approve", "ben"), (approval,))
    assert [row[1:4] for row in take(engine)] == [("17.1", 1, "requested:1")]
    note(engine, approval, face="requested:1")
    engine.one(deciding("reject", "cleo", "no"), (approval,))
    assert [row[3] for row in take(engine)] == ["rejected:2"]
    note(engine, approval, face="rejected:2", is_final=True)
    assert take(engine) == []


def test_a_change_while_the_card_is_sent_is_not_lost(engine: Engine):
    approval = asked(engine)
    take(engine)
    engine.one(deciding("approve", "ben"), (approval,))
    note(engine, approval, message_ts="17.1", face="requested:0")
    assert [row[3] for row in take(engine)] == ["approved:1"]


def test_a_failed_card_is_tried_again_after_growing_delays(engine: Engine, clock: Clock):
    approval = asked(engine)
    pauses = []
    for _ in range(12):
        assert len(take(engine)) == 1
        note(engine, approval, error="channel_not_found")
        pause = engine.one("select extract(epoch from next_try_at - noted_at)::int from slack_card")
        assert take(engine) == []
        pauses.append(pause)
        clock.advance(seconds=pause + 1)
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]
    take(engine)
    note(engine, approval, error="ratelimited", retry_seconds=1800)
    assert engine.one("select extract(epoch from next_try_at - noted_at)::int from slack_card") == 1800
    assert engine.one("select last_error from slack_card") == "ratelimited"


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_expiry_and_withdrawal_are_shown_too(engine: Engine, clock: Clock, end: str):
    approval = asked(engine, expires_seconds=60)
    take(engine)
    note(engine, approval, message_ts="17.1", face="requested:0")
    if end == "expired":
        clock.advance(seconds=61)
        engine.timers()
    else:
        engine.one("select fn_approval_withdraw(1, %s, 'ada')", (approval,))
    assert [row[3] for row in take(engine)] == [f"{end}:0"]


def test_an_approval_decided_before_its_card_was_sent_gets_no_card(engine: Engine):
    approval = asked(engine)
    engine.one(deciding("approve", "ben"), (approval,))
    assert take(engine) == []


def test_two_notifiers_never_take_the_same_card(engine: Engine, dsn: str, clock: Clock):
    asked(engine)
    take(engine)
    clock.advance(seconds=121)
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as other:
        query = "select approval_id from stepwell.fn_slack_cards_take(1, 'C0AAAA')"
        first = one.execute(query).fetchall()
        second = other.execute(query).fetchall()
        assert (len(first), second) == (1, [])


def test_an_invalid_channel_or_limit_is_refused(engine: Engine):
    with refused("SW001", "channel"):
        engine.one("select fn_slack_cards_take(1, '#general')")
    with refused("SW001", "limit"):
        engine.one("select fn_slack_cards_take(1, 'C0AAAA', 0)")


def test_a_session_of_another_tenant_is_refused(engine: Engine):
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    calls = (
        "fn_slack_cards_take(1, 'C0AAAA')", "fn_slack_card_note(1, 1)", "fn_slack_user_unmap(1, 'U1')",
        "fn_slack_user_map(1, 'U1', 'ada', 'x')", "fn_slack_callback_accept(1, 'v0=x', 1)",
    )  # fmt: skip
    for call in calls:
        with refused("SW007", "bound to tenant 2"), bound(engine.db, 2):
            engine.one(f"select {call}")


def test_how_long_slack_was_behind_is_kept_once_for_each_change(engine: Engine, clock: Clock):
    def lags() -> list[int]:
        rows = engine.db.execute(
            "select round(_lag_of_bucket(bucket) / 10000) from event_lag_count"
            " cross join generate_series(1, event_count)"
            " where (producer, consumer) = ('approvals', 'slack') order by 1"
        )
        return [int(seconds) for (seconds,) in rows]

    approval = asked(engine)
    take(engine)
    clock.advance(seconds=20)
    note(engine, approval, error="Slack does not answer")
    assert lags() == []
    clock.advance(seconds=20)
    note(engine, approval, message_ts="1.2", face="requested:0")
    note(engine, approval, message_ts="1.2", face="requested:0")
    # Of the first change: it was shown after 40 seconds, and is kept once.
    assert lags() == [4]
