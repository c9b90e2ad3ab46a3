"""What speaks with Slack has a role of its own: it sends cards, accepts callbacks, decides for accounts."""

from __future__ import annotations

import pytest
from psycopg import Error
from psycopg.errors import InsufficientPrivilege

from tests.sql.drive import Engine, human
from tests.sql.fn_privileges_apply.test_each_role_has_only_its_own_rights import acting_as

TAKE = "select count(*) from stepwell.fn_slack_cards_take(1, 'C0AAAA')"
ACCEPT = "select stepwell.fn_slack_callback_accept(1, 'v0=a', extract(epoch from stepwell.now())::bigint)"


def test_the_slack_role_takes_cards_and_accepts_callbacks(engine: Engine):
    with acting_as(engine.db, "stepwell_slack"):
        engine.one(TAKE)
        engine.one(ACCEPT)


@pytest.mark.parametrize("query", [TAKE, ACCEPT])
@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_keeper", "stepwell_worker"])
def test_no_other_role_can_call_its_functions(engine: Engine, role: str, query: str):
    with pytest.raises(InsufficientPrivilege), acting_as(engine.db, role, 1):
        engine.one(query)


def test_the_slack_role_decides_only_as_the_person_of_an_account(engine: Engine):
    """It names the account that pressed the button; who that is, the database says."""
    engine.one("select fn_person_set(1, 'ben')")
    engine.one("select fn_slack_user_map(1, 'U0BEN', 'ben', 'root')")
    engine.publish("order.check", human("sign-off", role="office"))
    step = engine.unit(engine.start("order.check"), "sign-off")
    asked = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (step,))
    shown = engine.one("select shown_digest from v_approval")
    with pytest.raises(InsufficientPrivilege), acting_as(engine.db, "stepwell_slack"):
        engine.one("select stepwell.fn_approval_decide(1, %s, 'approve', 'slack:ben', %s)", (asked, shown))
    with pytest.raises(Error) as caught, acting_as(engine.db, "stepwell_slack"):
        engine.one(
            "select stepwell.fn_slack_approval_decide(1, 'U0NOBODY', %s, 'approve', %s)", (asked, shown)
        )
    assert caught.value.sqlstate == "SW007"
    with acting_as(engine.db, "stepwell_slack"):
        engine.one("select stepwell.fn_slack_approval_decide(1, 'U0BEN', %s, 'approve', %s)", (asked, shown))
        engine.db.execute("reset role")
        assert engine.one("select decided_by from v_approval where approval_id = %s", (asked,)) == "slack:ben"


def test_accounts_of_another_tenant_are_hidden(engine: Engine):
    engine.one("select fn_person_set(1, 'ada')")
    engine.one("select fn_slack_user_map(1, 'U0ADA', 'ada', 'root')")
    for tenant_id, seen_count in ((1, 1), (2, 0)):
        with acting_as(engine.db, "stepwell_api", tenant_id):
            assert engine.one("select count(*) from stepwell.v_slack_user") == seen_count
