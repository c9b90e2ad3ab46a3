"""Every change of the log or its seal is found, and the check names the first changed record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.govern.audit_verdict import Verdict
from tests.govern.sealing import append, check, kinds, seal, without_rows
from tests.govern.tamper import rewind
from tests.support.databases import Databases, configure
from tests.support.sample import sample

EVENTS = 40
BLOCK_EVENTS = 7

FIELD_CHANGES = [
    "at = at + interval '1 microsecond'", "event_type = 'event.other'", "from_state = 'forged'",
    "to_state = 'forged'", "actor = 'forged'", "actor_class = 'forged'", "audit_ref = 'forged'",
    "trace_id = 'forged'", "correlation_id = 'forged'", "request_id = 99", "unit_id = unit_id + 1",
    "run_id = run_id + 1", """payload = '{"forged": 1}'""", "payload = null",
]  # fmt: skip


@pytest.fixture(scope="module")
def sealed(databases: Databases, template: str) -> Iterator[psycopg.Connection]:
    """A sealed log; each example changes it in a transaction that is rolled back."""
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        configure(db, "audit.block_events", str(BLOCK_EVENTS))
        for at in range(EVENTS):
            payload = None if at % 5 == 4 else {"n": at, "text": "x" * at}
            append(db, ((at % 6 + 1) << 20) + at % 3, payload=payload, actor=f"person {at}", to="ready")
        without_rows(db)
        seal(db)
        # A superuser can switch the triggers off.
        db.execute("set session_replication_role = replica")
        yield db


def positions(db: psycopg.Connection) -> list[tuple[int, int]]:
    return db.execute("select tx::text::bigint, event_id from event_log order by tx, event_id").fetchall()  # type: ignore[return-value]


def tampered(db: psycopg.Connection, *statements: tuple[str, Any]) -> Verdict:
    with db.transaction(force_rollback=True):
        for text, values in statements:
            assert db.execute(text, values).rowcount >= 1, text
        return check(db)


AT = "where tx = %s::text::xid8 and event_id = %s"
ANY = st.integers(0, EVENTS - 1)
EXAMPLES = sample(25)


def place(position: tuple[int, int]) -> str:
    return f"event {position[0]}/{position[1]} "


@EXAMPLES
@given(at=ANY, change=st.sampled_from(FIELD_CHANGES))
def test_an_edited_event_is_named(sealed: psycopg.Connection, at: int, change: str):
    where = positions(sealed)[at]
    if "payload" in change and at % 5 == 4:
        change = """payload = '{"added": true}'"""
    verdict = tampered(sealed, (f"update event_log set {change} {AT}", where))
    assert kinds(verdict) == ["altered"]
    assert verdict.problems[0].place.startswith(place(where))


@EXAMPLES
@given(gone=st.sets(ANY, min_size=1, max_size=4))
def test_deleted_events_are_named_with_unit_and_type(sealed: psycopg.Connection, gone: set[int]):
    found = [positions(sealed)[at] for at in sorted(gone)]
    verdict = tampered(sealed, *((f"delete from event_log {AT}", where) for where in found))
    assert kinds(verdict) == ["missing"] * len(found)
    for problem, where in zip(verdict.problems, found, strict=True):
        assert problem.place.startswith(place(where))
        assert "(event.emitted, unit " in problem.place


@EXAMPLES
@given(at=ANY, is_before=st.booleans())
def test_an_inserted_event_is_named(sealed: psycopg.Connection, at: int, is_before: bool):
    tx, event_id = positions(sealed)[at]
    number = -event_id if is_before else 1_000_000 + event_id
    insert = (
        "insert into event_log (tenant_id, event_id, tx, at, run_id, unit_id, event_type, actor_class)"
        " values (1, %s, %s::text::xid8, stepwell.now(), 3, 3 << 20, 'event.forged', 'system')"
    )
    last = positions(sealed)[-1]
    verdict = tampered(sealed, (insert, (number, tx)))
    if (tx, number) > last:
        assert (verdict.problems, verdict.unsealed_count) == ([], 1)
        return
    assert kinds(verdict) == ["inserted"]
    assert verdict.problems[0].place.startswith(f"event {tx}/{number} (event.forged, unit {3 << 20}")


@EXAMPLES
@given(pair=st.lists(ANY, min_size=2, max_size=2, unique=True))
def test_two_events_that_were_swapped_are_named(sealed: psycopg.Connection, pair: list[int]):
    first, second = sorted(positions(sealed)[at] for at in pair)
    move = f"update event_log set tx = %s::text::xid8, event_id = %s {AT}"
    verdict = tampered(
        sealed, (move, (*first[:1], -1, *first)), (move, (*first, *second)), (move, (*second, first[0], -1))
    )
    assert len(verdict.problems) == 2
    assert [problem.place.split(" (")[0] for problem in verdict.problems] == [
        f"event {tx}/{number}" for tx, number in (first, second)
    ]
    same_block = pair[0] // BLOCK_EVENTS == pair[1] // BLOCK_EVENTS
    assert kinds(verdict) == (["reordered"] * 2 if same_block else ["altered"] * 2)


def test_an_event_moved_to_another_position_is_reported_as_reordered(sealed: psycopg.Connection):
    """Both positions are in one block, so this is not reported as a deletion and an insertion."""
    first, _, third = positions(sealed)[:3]
    verdict = tampered(
        sealed, (f"update event_log set tx = %s::text::xid8, event_id = %s {AT}", (third[0], -5, *first))
    )
    assert kinds(verdict) == ["reordered"]
    assert f"it was at {first[0]}/{first[1]}" in verdict.problems[0].detail


@EXAMPLES
@given(count=st.integers(1, EVENTS))
def test_a_log_without_its_newest_events_is_found(sealed: psycopg.Connection, count: int):
    where = positions(sealed)[-count]
    verdict = tampered(sealed, ("delete from event_log where (tx, event_id) >= (%s::text::xid8, %s)", where))
    # The newest event says that retention removed the units; without it they are findings too.
    missing = [problem for problem in verdict.problems if not problem.place.startswith("unit ")]
    assert missing[0].kind == "missing"
    assert missing[0].place.startswith(place(where))


@pytest.mark.parametrize(
    "change",
    [
        "event_root = sha256('x')", "stream_root = sha256('x')", "history_root = sha256('x')",
        "previous_hash = sha256('x')", "sealed_at = sealed_at + interval '1 second'", "stream_count = 1",
        "block_hash = sha256('x')", "last_event_id = last_event_id + 1",
    ],
)  # fmt: skip
def test_an_altered_header_is_named(sealed: psycopg.Connection, change: str):
    verdict = tampered(sealed, (f"update audit_block set {change} where block_no = 3", None))
    assert verdict.problems[0] == ("altered", "block 3", verdict.problems[0].detail)


def test_a_missing_block_is_named(sealed: psycopg.Connection):
    verdict = tampered(sealed, ("delete from audit_block where block_no = 3", None))
    assert verdict.problems[0] == ("missing", "block 3", "the next block is 4")


def test_missing_blocks_at_the_end_are_found_by_the_chain(sealed: psycopg.Connection):
    verdict = tampered(sealed, ("delete from audit_block where block_no >= 5", None))
    assert verdict.problems[0][:2] == ("truncated", "block 5")


def test_a_shortened_chain_is_found_by_a_known_head_or_an_anchor(sealed: psycopg.Connection):
    """A superuser can shorten the chain without a trace in the database."""
    head = check(sealed).head_hash
    rows = sealed.execute(
        "select c.chain_id::text, b.block_no, encode(b.block_hash, 'hex')"
        " from audit_block as b cross join audit_chain as c"
    ).fetchall()
    anchored = [{"chain_id": c, "block_no": no, "block_hash": found} for c, no, found in rows]
    with sealed.transaction(force_rollback=True):
        rewind(sealed, 5)
        assert check(sealed).problems == []
        (by_head,) = check(sealed, head=head).problems
        assert by_head.kind == "truncated"
        by_anchor = check(sealed, anchored=anchored).problems
        assert by_anchor[0][:2] == ("truncated", "block 5")
    assert check(sealed, head=head, anchored=anchored).problems == []


def test_a_chain_that_was_computed_again_is_found_by_its_anchor(sealed: psycopg.Connection):
    rows = sealed.execute("select chain_id::text from audit_chain").fetchall()
    anchored = [{"chain_id": rows[0][0], "block_no": 2, "block_hash": "00" * 32}]
    (problem,) = check(sealed, anchored=anchored).problems
    assert problem == ("altered", "block 2", "the anchor has another hash for it: the chain was made again")
    (other,) = check(sealed, anchored=[{**anchored[0], "chain_id": "another"}]).problems
    assert other.kind == "truncated"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("update audit_leaves set event_ids[2] = 999999 where block_no = 2", "the leaves of block 2"),
        ("update audit_leaves set leaf_hashes = sha256('x') where block_no = 2", "the leaves of block 2"),
        ("delete from audit_leaves where block_no = 2", "the leaves of block 2"),
        ("update audit_block_stream set previous_block_no = 0 where block_no = 2", "the streams of block 2"),
        ("update audit_chain set salt = sha256('x')", "the beginning of the chain"),
        ("update audit_chain set head_hash = sha256('x')", "block 6"),
    ],
)
def test_leaves_streams_and_the_chain_row_are_checked_too(
    sealed: psycopg.Connection, change: str, where: str
):
    assert tampered(sealed, (change, None)).problems[0].place == where


def test_a_month_that_has_not_ended_cannot_be_archived(db: psycopg.Connection):
    """Also not by somebody who commits the event that says so, with the right number."""
    append(db, 5 << 20)
    seal(db)
    (part, month) = db.execute(
        "select tableoid::regclass::text, to_char(at at time zone 'UTC', 'YYYY-MM') from event_log"
    ).fetchall()[0]
    db.execute(f"alter table event_log detach partition {part}")
    db.execute(f"alter table {part} rename to put_away")
    db.execute("select fn_partitions_ensure()")
    append(db, 0, "log.archived", {"months": [month], "event_count": 1})
    (problem,) = check(db).problems
    assert problem[:2] == ("altered", "the archived months")
