"""A decision carries the digest of what was shown; the database compares it with what is there."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human
from tests.sql.people.asking import People, refused
from tests.support.deciding import deciding

# How an approval ended is the only thing that a decision itself changes.
NOT_SHOWN = {"decided_at", "decided_by"}
ABOUT = {
    "connector": "shop", "operation": "refund", "target": "/orders/7",
    "fields": {"amount": 5, "to": ["a", {"b": 1}]},
    "reversible": False, "writes": True, "reverses": None, "idempotency_key": "k", "action_hash": "h",
    "workflow": "w", "step": "sign", "run_id": 1, "rule": "ask", "policy_version": 3,
}  # fmt: skip


@pytest.fixture
def approval(engine: Engine, people: People) -> int:
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    found: int = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'why', p_approvers => %s, p_role => 'lead')",
        (unit, ["ben", "cleo"]),
    )
    engine.db.execute("update approval_detail set about = %s, acting = 'worker:w1'", (Jsonb(ABOUT),))
    return found


def shown(engine: Engine, approval: int) -> str:
    found: str = engine.one("select shown_digest from v_approval where approval_id = %s", (approval,))
    return found


def decide(engine: Engine, approval: int, digest: str | None) -> str:
    found: str = engine.one(
        "select fn_approval_decide(1, %s, 'approve', 'ben', %s, 'seen')", (approval, digest)
    )
    return found


def other_than(column: str, kind: str) -> str:
    """An expression of the same type with another value."""
    match kind:
        case "timestamp with time zone":
            return f"coalesce({column}, now()) + interval '1 microsecond'"
        case "ARRAY":
            return f"coalesce({column}, '{{}}') || 'mallory'::text"
        case "jsonb":
            return f"coalesce({column}, '{{}}') || '{{\"more\": 1}}'"
        case "text":
            return f"coalesce({column}, '') || 'x'"
        case _:
            return f"coalesce({column}, 0) + 1"


def paths(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every place inside of a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [found for key, one in inside for found in paths(one, (*path, str(key)))]


def test_every_field_that_changes_after_it_was_shown_refuses_the_decision(engine: Engine, approval: int):
    before = shown(engine, approval)
    columns = engine.db.execute(
        """select column_name, data_type from information_schema.columns
           where table_schema = 'stepwell' and table_name = 'approval_detail'"""
    ).fetchall()
    assert len(columns) > 15
    changes = [(name, f"{name} = {other_than(name, kind)}", ()) for name, kind in columns]
    changes += [
        (".".join(path), "about = jsonb_set(about, %s, '\"changed\"')", (list(path),))
        for path in paths(ABOUT)
    ]
    changes += [(f"-{key}", "about = about - %s", (key,)) for key in ABOUT]
    unseen = []
    for name, change, values in changes:
        with engine.db.transaction(force_rollback=True):
            # Numbers of the row itself are bound by the key under which it is read.
            engine.db.execute("set local session_replication_role = replica")
            engine.db.execute(f"update approval_detail set {change}", values)
            now = engine.one("select stepwell._approval_shown(a) from approval_detail as a")
            if now == before:
                unseen.append(name)
            elif name not in ("tenant_id", "approval_id", "subject_unit_id"):
                with refused("SW003", "is not what was shown"):
                    decide(engine, approval, before)
    assert set(unseen) == NOT_SHOWN
    assert engine.one("select count(*) from approval_vote") == 0
    assert decide(engine, approval, before) == "approved"


@pytest.mark.parametrize("digest", [None, "", "x", "A" * 64, "0" * 63])
def test_a_decision_without_a_digest_is_refused(engine: Engine, approval: int, digest: str | None):
    with refused("SW001", "shown_digest"):
        decide(engine, approval, digest)
    assert engine.state(approval) == "requested"


def test_the_digest_of_another_approval_decides_nothing(engine: Engine, approval: int):
    unit = engine.one("select subject_unit_id from approval_detail")
    second = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', 'why')", (unit,))
    with refused("SW003", "is not what was shown"):
        decide(engine, second, shown(engine, approval))
    with refused("SW003", "is not what was shown"):
        decide(engine, approval, "0" * 64)


def test_the_digest_is_the_same_in_every_time_zone_and_for_every_reviewer(engine: Engine, approval: int):
    engine.db.execute("update approval_detail set quorum = 2")
    before = shown(engine, approval)
    for setting in ("timezone = 'Asia/Ho_Chi_Minh'", "datestyle = 'German'", "extra_float_digits = 0"):
        engine.db.execute(f"set {setting}")
        assert shown(engine, approval) == before
    assert decide(engine, approval, before) == "requested"
    assert shown(engine, approval) == before, "the vote of the first reviewer does not refuse the second one"
    votes = engine.one("select payload from event_log where event_type = 'approval.vote_recorded'")
    assert votes["shown_digest"] == before


def test_the_rules_that_a_reviewer_saw_are_those_in_force(engine: Engine, people: People):
    rule = {"name": "r", "priority": 1, "match": '$.connector == "x"', "effect": "deny", "reason": "closed"}
    made = engine.one("select fn_policy_propose(1, %s, null, 'ada')", (Jsonb([rule]),))
    before = shown(engine, made["approval_id"])
    engine.db.execute("alter table policy_set disable trigger user")
    engine.db.execute("update policy_set set rules = jsonb_set(rules, '{0,effect}', '\"allow\"')")
    with refused("SW003", "is not what was shown"):
        decide(engine, made["approval_id"], before)


def test_a_replay_that_was_shown_repeats_nothing_else(engine: Engine, approval: int):
    before = shown(engine, approval)
    engine.db.execute(
        """insert into dlq_replay_request (tenant_id, unit_id, approval_id, proposal_state, idempotency_key,
               requested_by, requested_at)
           select 1, subject_unit_id, approval_id, 'submitted', 'replay:more', 'ada', now()
           from approval_detail"""
    )
    with refused("SW003", "is not what was shown"):
        decide(engine, approval, before)


def test_characters_that_nobody_sees_are_shown_as_numbers(engine: Engine, approval: int):
    unit = engine.one("select subject_unit_id from approval_detail")
    reason = "pay \u202e0001\u202c to\x1b[2K\rben\u200b\nthanks 👍\ufe0f"
    second = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', %s)", (unit, reason))
    assert engine.one("select reason from v_approval where approval_id = %s", (second,)) == (
        "pay \\u202E0001\\u202C to\\u001B[2K\\u000Dben\\u200B\nthanks 👍\ufe0f"
    )
    hidden = {"a\u202eb": ["\x1b[8m", {"x": "\u2066y"}], "n": 1, "t": None}
    assert engine.one("select _visible_value(%s)", (Jsonb(hidden),)) == {
        "a\\u202Eb": ["\\u001B[8m", {"x": "\\u2066y"}], "n": 1, "t": None,
    }  # fmt: skip


def test_a_vote_does_not_count_when_the_voter_loses_the_right_before_the_quorum(
    engine: Engine, people: People
):
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    for name in ("lena", "lou", "lia"):
        people.add(name, "lead")
    for lost in ("p_roles => '{}'", "p_is_active => false"):
        approval = engine.one(
            "select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2, p_role => 'lead')", (unit,)
        )
        assert engine.one(deciding("approve", "lena"), (approval,)) == "requested"
        engine.one(f"select fn_person_set(1, 'lena', {lost})")
        assert engine.one(deciding("approve", "lou"), (approval,)) == "requested"
        assert engine.one(deciding("approve", "lia"), (approval,)) == "approved"
        engine.one("select fn_person_set(1, 'lena', '{lead}')")


def test_whoever_has_one_of_two_roles_decides(engine: Engine, approval: int, people: People):
    people.add("dual", "office", "lead")
    people.add("half", "office")
    with refused("SW007", "can only be decided by ben, cleo or the role lead"):
        engine.one(deciding("approve", "half"), (approval,))
    assert engine.one(deciding("approve", "dual"), (approval,)) == "approved"


def test_no_key_of_a_request_stands_for_another_question(engine: Engine, approval: int):
    unit = engine.one("select subject_unit_id from approval_detail")
    ask = "select fn_approval_request(1, %s, %s, 'ada', p_key => %s, p_quorum => %s)"
    first = engine.one(ask, ("reopen", unit, "k", 2))
    assert engine.one(ask, ("reopen", unit, "k", 2)) == first
    for changed in (
        ("workflow_cancel", unit, "k", 2),
        ("reopen", (unit >> 20) << 20, "k", 2),
        ("reopen", unit, "k", 1),
    ):
        with refused("SW003", "key"):
            engine.one(ask, changed)
    with pytest.raises(psycopg.Error, match="key: act: is reserved") as caught:
        engine.one(ask, ("reopen", unit, "act:1", 1))
    assert caught.value.sqlstate == "SW001"
