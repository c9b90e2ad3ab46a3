"""Workers serve every tenant and the first one stops them: by whom and why is shown to its readers alone."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine

WORDS = "the data of acme broke it"
VIEWS = ("v_worker", "v_executor", "v_worker_said", "v_executor_said")


@pytest.mark.requirement("RT-12")
@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader"])
def test_who_stopped_a_worker_and_why_is_told_to_the_first_tenant(
    db: psycopg.Connection, engine: Engine, role: str
):
    db.execute("insert into tenant (tenant_code) values ('other')")
    session_id = engine.session_id(engine.worker())
    texts = {tenant: token(db, tenant) for tenant in (1, 2)}
    for kind in ("frozen", "drain"):
        db.execute("select fn_worker_stop(1, %s, %s, 'binder', %s)", (session_id, kind, WORDS))
    db.execute("select fn_executor_freeze(1, 'default', 'binder', %s)", (WORDS,))
    for tenant, is_told in ((1, True), (2, False)):
        with as_role(db, role, texts[tenant]):
            for view in VIEWS:
                shown = db.execute(f"select string_agg(x::text, '') from stepwell.{view} as x").fetchone()
                assert shown is not None
                assert ((WORDS in shown[0]), ("binder" in shown[0])) == (is_told, is_told), (tenant, view)
            # That it is stopped everybody sees.
            stopped = "select frozen_at is not null and drain_at is not null from stepwell.v_worker"
            assert db.execute(stopped).fetchone() == (True,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
                db.execute("select reason from stepwell.worker_stop")
