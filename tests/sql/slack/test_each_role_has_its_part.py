"""The keeper's role shows cards, the API's role takes callbacks; each sees its own tenant only."""

from __future__ import annotations

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.sql.drive import Engine
from tests.sql.fn_privileges_apply.test_roles_touch_only_what_is_theirs import acting_as

TAKE = "select count(*) from stepwell.fn_slack_cards_take(1, 'C0AAAA')"
ACCEPT = "select stepwell.fn_slack_callback_accept(1, 'v0=a', extract(epoch from stepwell.now())::bigint)"


def test_the_keeper_shows_and_the_api_takes(engine: Engine):
    with acting_as(engine.db, "stepwell_worker", 1):
        engine.one(TAKE)
    with acting_as(engine.db, "stepwell_api", 1):
        engine.one(ACCEPT)


@pytest.mark.parametrize(("role", "query"), [("stepwell_api", TAKE), ("stepwell_worker", ACCEPT)])
def test_neither_does_the_other_part(engine: Engine, role: str, query: str):
    with pytest.raises(InsufficientPrivilege), acting_as(engine.db, role, 1):
        engine.one(query)


def test_accounts_of_another_tenant_are_not_seen(engine: Engine):
    engine.one("select fn_person_set(1, 'ada')")
    engine.one("select fn_slack_user_map(1, 'U0ADA', 'ada', 'root')")
    for tenant_id, seen_count in ((1, 1), (2, 0)):
        with acting_as(engine.db, "stepwell_api", tenant_id):
            assert engine.one("select count(*) from stepwell.v_slack_user") == seen_count
