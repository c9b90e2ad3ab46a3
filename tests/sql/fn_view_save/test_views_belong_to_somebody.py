"""Saved views: private or shared, changed only by their owner, bounded."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import bind, token
from tests.sql.drive import Engine


@pytest.fixture
def people(engine: Engine) -> dict[str, str]:
    return {
        "ada": token(engine.db, 1, "ada", roles=("operator",)),
        "bob": token(engine.db, 1, "bob", roles=()),
    }


def save(
    engine: Engine, text: str, name: str, *, page: str = "runs", shared: bool = False, **more: object
) -> int:
    with engine.db.transaction():
        engine.db.execute("set local role stepwell_api")
        bind(engine.db, text)
        return engine.one(
            "select stepwell.fn_view_save(1, %s, %s, %s, %s, %s, %s)",
            (
                page,
                name,
                Jsonb(more.get("filter", {"colour": "red"})),
                more.get("columns", ["run_id"]),
                shared,
                more.get("view_id"),
            ),
        )


def seen(engine: Engine, text: str) -> list[tuple[object, ...]]:
    with engine.db.transaction():
        engine.db.execute("set local role stepwell_api")
        bind(engine.db, text)
        return engine.db.execute(
            "select view_name, owner_name, is_mine, is_shared from stepwell.fn_views_read(1, 'runs')"
        ).fetchall()


def delete(engine: Engine, text: str, view_id: int) -> None:
    with engine.db.transaction():
        engine.db.execute("set local role stepwell_api")
        bind(engine.db, text)
        engine.db.execute("select stepwell.fn_view_delete(1, %s)", (view_id,))


def test_a_private_view_is_shown_to_its_owner_and_a_shared_one_to_all(engine: Engine, people: dict[str, str]):
    save(engine, people["ada"], "Mine")
    save(engine, people["ada"], "Ours", shared=True)
    assert seen(engine, people["ada"]) == [("Mine", "ada", True, False), ("Ours", "ada", True, True)]
    assert seen(engine, people["bob"]) == [("Ours", "ada", False, True)]
    assert engine.one("select count(*) from event_log where event_type = 'view.saved'") == 1


def test_only_the_owner_changes_and_deletes_a_view(engine: Engine, people: dict[str, str]):
    view_id = save(engine, people["ada"], "Ours", shared=True)
    for call in (
        lambda: save(engine, people["bob"], "Stolen", view_id=view_id),
        lambda: delete(engine, people["bob"], view_id),
    ):
        with pytest.raises(psycopg.Error) as caught:
            call()
        assert caught.value.sqlstate == "SW002"
    assert save(engine, people["ada"], "Renamed", view_id=view_id) == view_id
    assert seen(engine, people["bob"]) == [], "it is shared no longer"
    delete(engine, people["ada"], view_id)
    assert seen(engine, people["ada"]) == []


def test_who_may_not_share_is_refused(engine: Engine, people: dict[str, str]):
    with pytest.raises(psycopg.Error) as caught:
        save(engine, people["bob"], "Ours", shared=True)
    assert caught.value.sqlstate == "SW007"


def test_two_views_of_a_person_have_two_names(engine: Engine, people: dict[str, str]):
    save(engine, people["ada"], "Red")
    with pytest.raises(psycopg.Error) as caught:
        save(engine, people["ada"], "RED")
    assert caught.value.sqlstate == "SW003"
    save(engine, people["bob"], "Red")


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("page", {"page": "Runs!"}),
        ("name", {"name": "  "}),
        ("name", {"name": "a\nb"}),
        ("filter", {"filter": [1]}),
        ("columns", {"columns": ["x"] * 51}),
        ("columns", {"columns": ["a b"]}),
    ],
)
def test_a_bad_view_is_refused_by_its_field(
    engine: Engine, people: dict[str, str], field: str, more: dict[str, object]
):
    with pytest.raises(psycopg.Error) as caught:
        save(engine, people["ada"], **{"name": "x", **more})  # type: ignore[arg-type]
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)


def test_views_have_limits(
    engine: Engine, people: dict[str, str]
):  # limits.views_per_person, limits.view_bytes
    engine.db.execute("update dot_config set config_value = '1' where config_key = 'limits.views_per_person'")
    save(engine, people["ada"], "one")
    for more in ({"name": "two"}, {"name": "large", "filter": {"x": "y" * 20_000}}):
        with pytest.raises(psycopg.Error) as caught:
            save(engine, people["ada"], **more)  # type: ignore[arg-type]
        assert caught.value.sqlstate == "SW006"


def test_nobody_has_no_views(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute("select fn_views_read(1)")
    assert caught.value.sqlstate == "SW007"
