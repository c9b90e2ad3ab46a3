"""Events after a position: nothing is missed or repeated; an open transaction delays only its own events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.sql.drive import Engine, operation

COMMENT = """insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor)
    values (1, now(), %s, %s::bigint << 20, 'workflow.labelled', 'pic_human', %s)"""


def read(db: psycopg.Connection, after: str, **named: object) -> tuple[str, list[int]]:
    names = "".join(f", {name} => %s" for name in named)
    rows = db.execute(
        f"select reached, event_id from stepwell.fn_events_after(1, %s{names})", (after, *named.values())
    ).fetchall()
    return rows[0][0], [event_id for _, event_id in rows if event_id is not None]


def here(db: psycopg.Connection) -> str:
    (text,) = db.execute("select pg_current_snapshot()::text").fetchone()  # type: ignore[misc]
    return text


@contextmanager
def another(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as connection:
        yield connection


@pytest.fixture
def run_id(engine: Engine) -> int:
    engine.publish("w", operation("a"), operation("b"))
    return engine.start("w")


@pytest.mark.requirement("UI-09")
def test_an_open_writer_delays_only_its_own_events(engine: Engine, dsn: str, run_id: int):
    position = here(engine.db)
    with another(dsn) as idle:
        idle.execute(COMMENT, (run_id, run_id, "idle"))
        other_id = engine.start("w")
        position, first = read(engine.db, position)
        known = engine.one(
            "select array_agg(event_id order by event_id) from event_log where run_id = %s", (other_id,)
        )
        assert first == known, "what others committed is read while the writer is idle"
        assert read(engine.db, position)[1] == [], "and nothing comes again"
        position, _ = read(engine.db, position)
        idle.commit()
    position, late = read(engine.db, position)
    assert late == engine.one("select array_agg(event_id) from event_log where actor = 'idle'", ())
    assert late[0] < first[0], "its number is lower than that of an event which was read before"
    assert read(engine.db, position)[1] == []


def test_every_event_is_read_once_whatever_the_order_of_commits(engine: Engine, dsn: str, run_id: int):
    position, seen = here(engine.db), []
    with another(dsn) as one, another(dsn) as two, another(dsn) as three:
        writers = [one, two, three]
        for turn in range(12):
            writers[turn % 3].execute(COMMENT, (run_id, run_id, f"writer {turn}"))
            if turn % 2:
                writers[turn * 7 % 3].commit()
            if turn == 6:
                three.rollback()
            position, found = read(engine.db, position)
            seen += found
        for writer in writers:
            writer.commit()
    position, found = read(engine.db, position)
    seen += found
    written = engine.one(
        "select array_agg(event_id order by event_id) from event_log where actor like 'writer%%'", ()
    )
    assert sorted(seen) == written
    assert len(set(seen)) == len(seen)


def test_a_position_inside_a_page_continues_after_it(engine: Engine, run_id: int):
    begin = here(engine.db)
    for _ in range(4):
        engine.start("w")
    end, everything = read(engine.db, begin)
    half = everything[len(everything) // 2]
    engine.start("w")
    reached, rest = read(engine.db, f"{begin};{end};{half}")
    assert rest[: len(everything)][0] > half
    newest = engine.one("select max(event_id) from event_log", ())
    assert rest == [*(one for one in everything if one > half), *range(everything[-1] + 1, newest + 1)]
    assert read(engine.db, reached)[1] == []
    assert read(engine.db, begin, p_until=end) == (end, everything), "until a position: what it has seen"


def test_runs_and_types_narrow_it(engine: Engine, run_id: int):
    begin = here(engine.db)
    engine.start("w")
    wanted = engine.start("w")
    engine.db.execute("select fn_run_label(1, %s, '{\"a\": \"b\"}', 'test')", ([run_id],))
    of_run = read(engine.db, begin, p_run_ids=[wanted])[1]
    assert of_run == engine.one(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s", (wanted,)
    )
    both = read(engine.db, begin, p_run_ids=[wanted], p_types=["workflow.labelled"])[1]
    assert len(both) == len(of_run) + 1


def test_a_reader_that_is_too_far_behind_begins_again(engine: Engine, run_id: int):  # limits.events_behind
    begin = here(engine.db)
    engine.db.execute("update dot_config set config_value = '3' where config_key = 'limits.events_behind'")
    for _ in range(6):
        engine.start("w")
    rows = engine.db.execute(
        "select reached, is_behind, event_id from fn_events_after(1, %s)", (begin,)
    ).fetchall()
    assert [row[1:] for row in rows] == [(True, None)]
    engine.start("w")
    assert read(engine.db, rows[0][0])[1], "it goes on from the position that it got"


@pytest.mark.parametrize("text", ["x", "", "5:3:", "1:2:;y;3", "1:2:\x01"])
def test_what_is_no_position_is_refused(engine: Engine, text: str):
    with pytest.raises(psycopg.Error) as caught:
        read(engine.db, text)
    assert caught.value.sqlstate == "SW001"


def test_another_tenant_reads_nothing(engine: Engine, run_id: int):
    assert engine.one("select count(event_id) from fn_events_after(2, '1:1:')") == 0
