"""Content units: immutable versions, labels, bundles; a step shows what was current at its start."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from tests.sql.drive import Engine, human
from tests.sql.people.asking import refused


def write(engine: Engine, code: str, body: str = "", **named) -> tuple[int, int, bool]:
    words = "".join(f", p_{name} => %s" for name in named)
    row = engine.db.execute(
        f"select * from fn_content_write(1, %s, %s, 'ada'{words})", (code, body, *named.values())
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


def shown(engine: Engine, run_id: int, column: str = "body"):
    return engine.one(f"select {column} from v_step_content where run_id = %s", (run_id,))


@pytest.mark.requirement("PR-05")
def test_later_versions_do_not_change_running_work(engine: Engine):
    write(engine, "manual.packing", "# One", labels='{"vi": "Đóng gói", "en": "Packing"}')
    engine.publish("w", human("pack", role="r", content="manual.packing"))
    first = engine.start("w")
    assert write(engine, "manual.packing", "# Two")[1:] == (2, True)
    second = engine.start("w")
    assert (shown(engine, first), shown(engine, first, "pinned_version_no")) == ("# One", 1)
    assert (shown(engine, second), shown(engine, second, "pinned_version_no")) == ("# Two", 2)
    assert (shown(engine, first, "label_vi"), shown(engine, first, "label_en")) == ("Đóng gói", "Packing")


@pytest.mark.requirement("PR-05")
def test_a_version_cannot_change_and_the_same_text_makes_no_new_version(
    engine: Engine, db: psycopg.Connection
):
    assert write(engine, "a", "text")[1:] == (1, True)
    assert write(engine, "a", "text")[1:] == (1, False)
    for statement in (
        "update information_unit_version set body = 'x'",
        "delete from information_unit_version",
    ):
        with refused("SW007", "cannot be changed"):
            db.execute(statement)


@pytest.mark.requirement("PR-05")
def test_a_bundle_holds_versions_and_has_versions_itself(engine: Engine):
    write(engine, "a", "A1")
    write(engine, "b", "B1")
    assert write(engine, "both", items=["a", "b"])[1:] == (1, True)
    assert write(engine, "both", items=["a", "b"])[1:] == (1, False)
    engine.publish("w", human("pack", role="r", content="both"))
    run_id = engine.start("w")
    write(engine, "a", "A2")
    assert write(engine, "both", items=["a", "b"])[1:] == (2, True)
    assert [item["body"] for item in shown(engine, run_id, "items")] == ["A1", "B1"]
    with refused("SW002", "nothing"):
        write(engine, "more", items=["nothing"])
    with refused("SW003", "bundle"):
        write(engine, "both", "text")


def test_an_error_names_the_wrong_field(engine: Engine):
    with refused("SW001", "code"):
        write(engine, "not a code", "x")
    with refused("SW001", "labels"):
        write(engine, "a", "x", labels='{"fr": "Un"}')
    with refused("SW006", "bytes"):
        write(engine, "a", "x" * 1_048_577)


@pytest.mark.requirement("PR-05")
def test_versions_are_compared_through_the_app(dsn: str):
    async def compare() -> str:
        async with sw.App(database_url=dsn) as app:
            await app.content_write("guide", "one\ntwo\nthree", labels={"en": "A guide"})
            await app.content_write("guide", "one\n2\nthree", note="a digit")
            assert [v.version_no for v in await app.content_versions("guide")] == [2, 1]
            assert (await app.content("guide")).labels == {"en": "A guide"}
            with pytest.raises(sw.NotFound):
                await app.content("guide", 9)
            return await app.content_diff("guide", 1)

    lines = asyncio.run(compare()).splitlines()
    assert lines[:2] == ["--- guide version 1", "+++ guide version 2"]
    assert "-two" in lines
    assert "+2" in lines
