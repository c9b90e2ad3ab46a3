"""What the key of a lane holds ready for later: workspaces take turns, and a code version must be served."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sql.drive import Engine


def workspaces(engine: Engine, *counts: int) -> dict[int, int]:
    """So many jobs in each workspace of the tenant. Returns the workspace of each job."""
    found = {}
    for number, count in enumerate(counts):
        jobs = engine.enqueue("op", count)
        engine.db.execute("update job_ready set workspace_id = %s where unit_id = any (%s)", (number, jobs))
        found.update(dict.fromkeys(jobs, number))
    return found


@pytest.mark.parametrize("limit", [1, 10])
def test_the_workspaces_of_a_tenant_take_turns(engine: Engine, limit: int):
    """The first has many jobs and the oldest."""
    home = workspaces(engine, 200, 40, 40)
    session = engine.worker()
    served: Counter[int] = Counter()
    for _ in range(60 // limit):
        served.update(home[lease.unit_id] for lease in engine.claim(session, limit))
    assert all(abs(served[number] - 20) <= 2 for number in range(3)), served


def test_the_workspaces_of_a_tenant_share_its_weight(engine: Engine):
    """A tenant with four workspaces gets no more than a tenant with one."""
    other = Engine(engine.db, engine.one("select fn_tenant_set('other')"))
    workspaces(engine, 50, 50, 50, 50)
    other.enqueue("op", 50)
    served = Counter(lease.tenant_id for lease in engine.claim(engine.worker(), 40))
    assert abs(served[other.tenant_id] - 20) <= 2, served


def versioned(engine: Engine, name: str, version: str) -> int:
    """Declares a code version for an operation, as rows: jobs of the operation need this handler now."""
    handler: int = engine.one(
        "insert into handler (operation_name, code_version) values (%s, %s) returning handler_id",
        (name, version),
    )
    engine.db.execute("update operation set handler_id = %s where operation_name = %s", (handler, name))
    return handler


def test_a_session_of_another_code_version_is_given_nothing(engine: Engine):
    old = engine.worker("old", serves=["op", "plain"])
    job, plain = engine.enqueue("op") + engine.enqueue("plain")
    new_version = versioned(engine, "op", "2")
    assert [lease.unit_id for lease in engine.claim(old)] == [plain], "a version that it has never heard of"
    assert engine.why(job)[0] == "no_handler"
    new = engine.worker("new", serves=["op"])
    assert new_version in engine.one(
        "select handler_ids from worker_session where session_id = _session_id_of(%s)", (new,)
    )
    assert [lease.unit_id for lease in engine.claim(new)] == [job]


def test_two_code_versions_share_a_queue_and_never_a_job(engine: Engine):
    """Each session has the handler of one version only."""
    engine.enqueue("one", 5)
    engine.enqueue("two", 5)
    handlers = [versioned(engine, name, version) for name, version in (("one", "1"), ("two", "2"))]
    for name, handler in zip(("one", "two"), handlers, strict=True):
        session = engine.worker(name, serves=[])
        engine.db.execute(
            "update worker_session set handler_ids = %s where session_id = _session_id_of(%s)",
            ([handler], session),
        )
        assert {lease.operation for lease in engine.claim(session)} == {name}
    assert engine.faults() == {}
