"""Fixtures every test may use: `server`, `databases`, `empty_dsn`, `dsn`, `db`, `clock`, `plain_role`."""

from __future__ import annotations

import contextlib
import gc
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.support import run, sample
from tests.support.clock import Clock
from tests.support.databases import Databases
from tests.support.recycled import Recycled, Recycler
from tests.support.roles import let_log_in
from tests.support.server import RunServer
from tests.support.slowest import SlowestFiles

HERE = Path(__file__).parent
# Tests of these folders start no processes that could write after their end, so they share databases.
RECYCLED = frozenset({"api", "govern", "sql", "ui"})


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    sample.by_default()
    # The worker processes of xdist belong to the test run of their controller.
    if getattr(config, "workerinput", None) is None:
        run.begin()
        config.pluginmanager.register(SlowestFiles())


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not look at it after each test."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    if getattr(config, "workerinput", None) is None:
        run.end(run.current())
        run.sweep()


@pytest.fixture(scope="session")
def server() -> RunServer:
    """The PostgreSQL server of this test run; it stops when the run ends."""
    started = RunServer()
    started.start(_make_template)
    let_log_in(started)
    return started


def _make_template(server: RunServer) -> None:
    with contextlib.closing(Databases(server)) as made:
        made.template()


@pytest.fixture(scope="session")
def databases(server: RunServer) -> Iterator[Databases]:
    """Makes databases: `with databases.fresh() as dsn`."""
    made = Databases(server)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def template(databases: Databases) -> str:
    """Name of the migrated database from which the others are cloned."""
    return databases.template()


@pytest.fixture
def empty_dsn(databases: Databases) -> Iterator[str]:
    """Conninfo of a new database without our schema."""
    with databases.fresh() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def recycler(databases: Databases, template: str) -> Iterator[Recycler]:
    made = Recycler(databases, template)
    yield made
    made.close()


@pytest.fixture
def recycled(recycler: Recycler) -> Iterator[Recycled]:
    with recycler.used() as found:
        yield found


def _shares(request: pytest.FixtureRequest) -> bool:
    """Whether the test may use a database of others; not if it measures what is left in the files."""
    folder = request.path.relative_to(HERE).parts[0]
    return folder in RECYCLED and request.node.get_closest_marker("new_database") is None


@pytest.fixture
def dsn(request: pytest.FixtureRequest) -> str:
    """Conninfo of a database with our schema; a new one, or one that is as new."""
    if _shares(request):
        found: Recycled = request.getfixturevalue("recycled")
        return found.dsn
    made: str = request.getfixturevalue("new_dsn")
    return made


@pytest.fixture
def new_dsn(databases: Databases, template: str) -> Iterator[str]:
    """Conninfo of a new database with our schema."""
    with databases.fresh(template) as dsn:
        yield dsn


@pytest.fixture
def db(request: pytest.FixtureRequest, dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the test's database: autocommit, search_path stepwell."""
    if _shares(request):
        found: Recycled = request.getfixturevalue("recycled")
        yield found.connection
        return
    with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as connection:
        yield connection


@pytest.fixture
def clock(dsn: str) -> Iterator[Clock]:
    """Moves stepwell.now() of the test's database for all processes."""
    made = Clock(dsn)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def plain_role(server: RunServer) -> Iterator[Callable[[str], str]]:
    """Turns a conninfo into that of a role that may only connect."""
    name = f"stepwell_plain_{secrets.token_hex(4)}"
    with psycopg.connect(server.admin_conninfo, autocommit=True) as admin:
        admin.execute(f"create role {name} login password '{name}' nosuperuser nocreatedb")
        try:
            yield lambda dsn: make_conninfo(dsn, user=name, password=name)
        finally:
            admin.execute(f"drop role {name}")
