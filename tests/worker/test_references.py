"""A large value is stored outside of the run and passed as a reference; reading checks its content."""

from __future__ import annotations

import asyncio
import hashlib
import math
from pathlib import Path
from typing import Any

import pytest

import stepwell as sw
from stepwell import config
from tests.worker.crunching import store_zeros

MIB = 1024 * 1024


@pytest.fixture(params=["folder", "file", "memory"])
def store(request, tmp_path, monkeypatch) -> str:
    """The place where references are stored, as the setting names it."""
    places = {
        "folder": str(tmp_path / "my refs"),
        "file": f"file://{tmp_path}/refs/",
        "memory": f"memory://{tmp_path.name}",
    }
    monkeypatch.setenv("STEPWELL_REF_STORE", places[request.param])
    return places[request.param]


def put(value: Any, **options: Any) -> sw.Ref:
    return asyncio.run(sw.Ref.put(value, **options))


@pytest.mark.parametrize(
    ("value", "media_type"),
    [
        (b"\x00\xff", "application/octet-stream"),
        (bytearray(b"ab"), "application/octet-stream"),
        ("gr\u00fc\u00df dich", "text/plain; charset=utf-8"),
        ({"rows": [1, 2.5, None]}, "application/json"),
        (None, "application/json"),
        (b"", "application/octet-stream"),
    ],
    ids=["bytes", "bytearray", "text", "json", "null", "empty"],
)
def test_get_returns_the_value_that_was_put(store, value, media_type):
    ref = put(value)
    assert ref.media_type == media_type
    assert asyncio.run(ref.get()) == value
    data = asyncio.run(ref.read())
    assert (ref.size, ref.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert ref.url.endswith(f"/{ref.sha256[:2]}/{ref.sha256}")
    assert "://" in ref.url
    # The same content has the same reference.
    assert put(value) == ref


def test_a_media_type_can_be_given(store):
    ref = put(b"a,b\n1,2", media_type="text/csv")
    assert asyncio.run(ref.get()) == "a,b\n1,2"


def test_steps_pass_a_large_value_as_a_reference(app, play, db, store):
    rows = [{"n": n, "text": "x" * 100} for n in range(20_000)]

    @app.operation
    async def fetch() -> sw.Ref:
        return await sw.Ref.put(rows)

    @app.operation
    def count(page: sw.Ref) -> dict[str, Any]:
        found = page.get_sync()
        return {"rows": len(found), "parts": [page, sw.Ref.put_sync(b"part")]}

    bound = sw.Operation("count", inputs={"page": "$.steps.fetch.output"})
    app.publish(sw.Workflow("one", sw.Sequential(sw.Operation("fetch"), bound)))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            result = await run.result()
            page, part = (sw.Ref(**found) for found in result["parts"])
            assert result["rows"] == 20_000
            assert page.size > 2 * MIB
            assert await page.get() == rows
            assert await part.get() == b"part"
            # A reference as the input of a new run.
            app.publish(sw.Workflow("two", sw.Operation("count")))
            again = await app.start("two", {"page": page})
            assert (await again.result())["rows"] == 20_000

    play(scenario)
    stored = db.execute("select output from unit_output order by unit_id limit 1").fetchone()[0]
    assert set(stored) == {"url", "size", "sha256", "media_type"}


def test_a_handler_in_a_process_can_store_a_value(app, play, tmp_path, monkeypatch):
    monkeypatch.setenv("STEPWELL_REF_STORE", str(tmp_path))
    app.operation(store_zeros, executor="process")
    app.publish(sw.Workflow("one", sw.Operation("store_zeros")))

    async def scenario():
        async with sw.Worker(app):
            ref = sw.Ref(**await (await app.start("one", {"size": 3 * MIB})).result())
            assert await ref.read() == bytes(3 * MIB)

    play(scenario)


@pytest.mark.parametrize("content", [b"changed!", b"short", b"much longer than it was"], ids=len)
def test_content_that_changed_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.setenv("STEPWELL_REF_STORE", str(tmp_path))
    ref = put(b"original")
    Path(ref.url.removeprefix("file://")).write_bytes(content)
    with pytest.raises(sw.InvalidInput, match="was changed: its size"):
        asyncio.run(ref.get())


@pytest.mark.parametrize(
    "url", ["file://{0}/secret", "file://{0}/refs/../secret", "{0}/secret", "http://127.0.0.1/x"]
)
def test_a_reference_outside_of_the_store_is_refused(tmp_path, monkeypatch, url):
    monkeypatch.setenv("STEPWELL_REF_STORE", str(tmp_path / "refs"))
    (tmp_path / "secret").write_bytes(b"secret")
    ref = sw.Ref(url.format(tmp_path), 6, hashlib.sha256(b"secret").hexdigest())
    with pytest.raises(sw.InvalidInput, match="is not in file://") as raised:
        asyncio.run(ref.get())
    assert "STEPWELL_REF_STORE" in raised.value.sentence()


def test_a_call_can_name_another_store(tmp_path, monkeypatch):
    monkeypatch.setenv("STEPWELL_REF_STORE", str(tmp_path / "here"))
    ref = put("there", store=str(tmp_path / "there"))
    assert asyncio.run(ref.get(store=str(tmp_path / "there"))) == "there"
    with pytest.raises(sw.InvalidInput):
        asyncio.run(ref.get())


def test_without_a_setting_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("STEPWELL_REF_STORE", raising=False)
    with pytest.raises(sw.UsageError, match="STEPWELL_REF_STORE is not set") as raised:
        put(b"x")
    assert "s3://bucket/refs" in raised.value.sentence()
    assert config.load({}).ref_store is None


def test_a_missing_file_is_an_error_of_the_store(store):
    ref = put(b"x")
    lost = sw.Ref(ref.url[:-1] + ("0" if ref.url[-1] != "0" else "1"), 1, ref.sha256)
    with pytest.raises(sw.StepwellError, match="cannot be used"):
        asyncio.run(lost.get())


def test_a_reference_does_not_contain_the_password_of_the_store(monkeypatch):
    monkeypatch.setenv("STEPWELL_REF_STORE", "memory://ada:sesame@bucket/refs")
    ref = put(b"x")
    assert "sesame" not in ref.url
    assert ref.url.startswith("memory://bucket/refs/")
    assert asyncio.run(ref.get()) == b"x"


def test_a_value_that_json_cannot_hold_is_refused_with_its_place(store):
    with pytest.raises(sw.InvalidInput, match=r"value.price: NaN is not JSON"):
        put({"price": math.nan})


@pytest.mark.parametrize(
    "given",
    [{"url": "", "size": 1, "sha256": "0" * 64}, {"url": "x", "size": -1, "sha256": "0" * 64},
     {"url": "x", "size": 1, "sha256": "no"}, {"size": 1, "sha256": "0" * 64}],
)  # fmt: skip
def test_an_input_that_is_not_a_valid_reference_is_refused(app, play, db, given):
    @app.operation
    async def count(page: sw.Ref): ...

    app.publish(sw.Workflow("one", sw.Operation("count")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("one", {"page": given})).result()

    play(scenario)
    ((failure_class, message),) = db.execute("select failure_class, error ->> 'message' from unit_failure")
    assert failure_class == "invalid_input"
    assert "parameter page" in message
