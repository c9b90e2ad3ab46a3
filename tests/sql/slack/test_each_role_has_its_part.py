"""The keeper's role sends cards, the API's role accepts callbacks; each sees only its own tenant."""

from __future__ import annotations

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.sql.drive import Engine
from tests.sql.fn_privileges_apply.test_each_role_has_only_its_own_rights import acting_as

TAKE = "select count(*) from stepwell.fn_slack_cards_take(1, 'C0AAAA')"
ACCEPT = "select stepwell.fn_slack_callback_accept(1, 'v0=a', extract(epoch from stepwell.now())::bigint)"


def test_the_keeper_takes_cards_and_the_api_accepts_callbacks(engine: Engine):
    with acting_as(engine.db, "stepwell_worker", 1):
        engine.one(TAKE)
    with acting_as(engine.db, "stepwell_api", 1):
        engine.one(ACCEPT)


@pytest.mark.parametrize(("role", "query"), [("stepwell_api", TAKE), ("stepwell_worker", ACCEPT)])
def test_neither_role_can_call_the_function_of_the_other(engine: Engine, role: str, query: str):
    with pytest.raises(InsufficientPrivilege), acting_as(engine.db, role, 1):
        engine.one(query)


def test_accounts_of_another_tenant_are_hidden(engine: Engine):
    engine.one("select fn_person_set(1, 'ada')")
    engine.one("select fn_slack_user_map(1, 'U0ADA', 'ada', 'root')")
    for tenant_id, seen_count in ((1, 1), (2, 0)):
        with acting_as(engine.db, "stepwell_api", tenant_id):
            assert engine.one("select count(*) from stepwell.v_slack_user") == seen_count
