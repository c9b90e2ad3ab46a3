"""The row of a concurrency key is removed with its last job, not before; a key can be used again."""

from __future__ import annotations

from tests.sql.drive import Engine


def keys(engine: Engine) -> list[str]:
    rows = engine.db.execute("select slot_key from concurrency_slot order by slot_key").fetchall()
    return [key for (key,) in rows]


def test_a_key_is_removed_with_its_last_job(engine: Engine, clock):
    engine.enqueue("op", p_concurrency_key="done", p_max_concurrency=3)
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    engine.enqueue("op", p_concurrency_key="open")
    engine.one("select count(*) from fn_retention_sweep()")
    assert keys(engine) == ["key:done", "key:open"]
    clock.advance(days=4000)
    engine.one("select count(*) from fn_retention_sweep()")
    assert keys(engine) == ["key:open"]
    engine.one("select fn_partitions_ensure()")
    engine.enqueue("op", p_concurrency_key="done")
    assert keys(engine) == ["key:done", "key:open"]
    assert engine.faults() == {}
