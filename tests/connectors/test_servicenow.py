"""The ServiceNow connector: create, update, delete and read, each done once and reversible."""

from __future__ import annotations

import asyncio
import base64

import pytest

from stepwell.connectors.base import Action, Connector, EffectRefused, EffectUnavailable, EffectUnknown
from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.servicenow import ServiceNowConnector
from stepwell.connectors.transport import HttpLimits
from tests.connectors.http_server import CUT, Reply, Seen

pytestmark = pytest.mark.requirement("RT-12")

ID = "0123456789abcdef0123456789abcdef"
INCIDENT = f"incident/{ID}"
PATH = "/api/now/table/incident"


class TableApi:
    """Stores records as the table API does: every value is a text, every change increases sys_mod_count."""

    def __init__(self, token: str) -> None:
        self.records: dict[str, dict[str, str]] = {}
        self.authorization = "Basic " + base64.b64encode(f"flow:{token}".encode()).decode()
        self.cuts_next_write = False
        self.before_write = lambda: None

    def answer(self, seen: Seen) -> Reply:
        if seen.headers.get("authorization") != self.authorization:
            return Reply(401, {"error": {"message": "User Not Authenticated"}})
        parts = seen.path.removeprefix(PATH).strip("/")
        if seen.method != "GET":
            self.before_write()
        reply = self.collection(seen) if not parts else self.record(seen, parts)
        if seen.method != "GET" and self.cuts_next_write:
            self.cuts_next_write = False
            return CUT
        return reply

    def collection(self, seen: Seen) -> Reply:
        if seen.method == "POST":
            made = {**self.change({}, seen.json), "sys_id": ID, "number": "INC0000001", "sys_mod_count": "0"}
            self.records[ID] = made
            return Reply(201, {"result": made})
        name, _, value = seen.query["sysparm_query"][0].partition("=")
        found = [record for record in self.records.values() if record.get(name) == value]
        return Reply(200, {"result": found})

    def record(self, seen: Seen, sys_id: str) -> Reply:
        if sys_id not in self.records:
            return Reply(404, {"error": {"message": "No Record found"}})
        record = self.records[sys_id]
        if seen.method == "DELETE":
            del self.records[sys_id]
            return Reply(204, "")
        if seen.method == "PATCH":
            self.change(record, seen.json)
            return Reply(200, {"result": record})
        names = seen.query["sysparm_fields"][0].split(",")
        return Reply(200, {"result": {name: record.get(name, "") for name in names}})

    def change(self, record: dict[str, str], values: dict[str, object]) -> dict[str, str]:
        record.update({name: "" if value is None else str(value) for name, value in values.items()})
        # The table API cuts a text at the length of its field and says nothing.
        record.update({name: text[:100] for name, text in record.items() if name == "correlation_id"})
        count = int(record.get("sys_mod_count", "-1")) + 1
        record.update(sys_mod_count=str(count), sys_updated_on=f"2026-01-01 00:00:{count:02}")
        return record


@pytest.fixture
def table(server, secret):
    api = TableApi(secret)
    server.answer = api.answer
    return api


@pytest.fixture
def now(server, table):
    return ServiceNowConnector(
        "now", server.url, user="flow", secret=SecretRef("env:PLANTED_TOKEN"),
        limits=HttpLimits(read_seconds=5),
    )  # fmt: skip


@pytest.fixture
def incident(table):
    table.records[ID] = {"sys_id": ID, "state": "1", "assigned_to": "", "sys_mod_count": "4",
                         "sys_updated_on": "2026-01-01 00:00:04"}  # fmt: skip
    return table.records[ID]


def test_a_reversal_of_an_update_restores_the_prior_values(now, incident, perform):
    assert isinstance(now, Connector)
    effect = perform(now, "update", INCIDENT, {"values": {"state": 2, "assigned_to": "ada"}})
    assert (incident["state"], incident["assigned_to"]) == ("2", "ada")
    assert effect.prior == {"state": "1", "assigned_to": ""}
    assert effect.external_id == INCIDENT
    back = effect.reversal
    assert back.fields["expect"]["sys_mod_count"] == "5"
    perform(now, back.operation, back.target, back.fields)
    assert (incident["state"], incident["assigned_to"]) == ("1", "")


def test_a_record_that_somebody_else_changed_is_not_overwritten(now, table, incident, perform, server):
    effect = perform(now, "update", INCIDENT, {"values": {"state": 2}, "expect": {"sys_mod_count": 4}})
    table.change(incident, {"state": "3"})
    with pytest.raises(EffectRefused, match="changed in the meantime: sys_mod_count is '6', expected '5'"):
        perform(now, "update", INCIDENT, effect.reversal.fields)
    assert incident["state"] == "3"
    assert len(server.writes()) == 1


def test_a_change_between_read_and_write_is_reported(now, table, incident, perform):
    table.before_write = lambda: table.change(incident, {"assigned_to": "bob"})
    assert perform(now, "update", INCIDENT, {"values": {"state": 2}}).result["raced"] is True


def test_a_repeated_update_writes_nothing(now, incident, perform, server):
    perform(now, "update", INCIDENT, {"values": {"state": 2}})
    again = perform(now, "update", INCIDENT, {"values": {"state": 2}})
    assert again.result["already"] is True
    assert again.reversal is None
    assert len(server.writes()) == 1


def test_a_lost_answer_to_an_update_is_settled_by_confirm(now, table, incident, perform, confirm):
    fields = {"values": {"state": "2"}, "expect": {"sys_mod_count": "4"}}
    assert confirm(now, "update", INCIDENT, fields) is None
    table.cuts_next_write = True
    with pytest.raises(EffectUnknown):
        perform(now, "update", INCIDENT, fields)
    assert confirm(now, "update", INCIDENT, fields).result["already"] is True
    table.change(incident, {"state": "9"})
    with pytest.raises(EffectUnknown, match="it is unknown"):
        confirm(now, "update", INCIDENT, fields)


def test_a_record_is_created_once_and_found_by_its_key(now, table, perform, confirm, server):
    values = {"values": {"short_description": "Máy in hỏng"}}
    assert confirm(now, "create", "incident", values) is None
    table.cuts_next_write = True
    with pytest.raises(EffectUnknown):
        perform(now, "create", "incident", values)
    found = confirm(now, "create", "incident", values)
    assert found.external_id == INCIDENT
    assert perform(now, "create", "incident", values).external_id == INCIDENT
    assert len(server.writes()) == 1
    assert table.records[ID]["correlation_id"] == "run-7:notify:1"


@pytest.mark.requirement("RT-15")
def test_a_record_with_a_long_key_is_found_and_another_with_the_same_beginning_is_not(
    now, table, perform, confirm, server
):
    key, values = f"{'x' * 120}:1", {"values": {"short_description": "x"}}
    perform(now, "create", "incident", values, key=key)
    assert confirm(now, "create", "incident", values, key=key).external_id == INCIDENT
    assert perform(now, "create", "incident", values, key=key).external_id == INCIDENT
    assert confirm(now, "create", "incident", values, key=f"{'x' * 120}:2") is None
    assert len(server.writes()) == 1


@pytest.mark.requirement("RT-05", "RT-15")
def test_the_same_key_of_another_tenant_is_another_effect(now, table, perform):
    """003, 4.1: a key is unique in its tenant; two tenants may use one account of the other system."""
    values = {"values": {"short_description": "x"}}
    perform(now, "create", "incident", values, key="order-7")
    other = Action(2, now.name, "create", "incident", values, "order-7", reversible=True)
    assert asyncio.run(now.confirm(other)) is None
    keys = {"order-7": "2~order-7", "ann@example.com": "2~ann@example.com", "": ""}
    keys |= dict.fromkeys(("sn:x@0123456789ab:5:0", "sn:x@0123456789ab:5:0#2"), "")
    sent = {key: Action(2, "now", "create", "incident", {}, key).sent_key for key in keys}
    assert sent == {key: wanted or key for key, wanted in keys.items()}


def test_a_reversal_of_a_create_deletes_the_record(now, table, perform, confirm):
    effect = perform(now, "create", "incident", {"values": {"short_description": "x"}})
    back = effect.reversal
    assert (back.operation, back.target) == ("delete", INCIDENT)
    assert confirm(now, "delete", INCIDENT) is None
    assert perform(now, back.operation, back.target, back.fields).result == {"deleted": True}
    assert table.records == {}
    assert confirm(now, "delete", INCIDENT).result == {"deleted": True}
    assert perform(now, "delete", INCIDENT).result["already"] is True


def test_a_record_that_was_changed_after_its_creation_is_not_deleted(now, table, perform):
    effect = perform(now, "create", "incident", {"values": {"short_description": "x"}})
    table.change(table.records[ID], {"work_notes": "seen"})
    with pytest.raises(EffectRefused, match="changed in the meantime"):
        perform(now, "delete", INCIDENT, effect.reversal.fields)


def test_a_record_is_read_and_a_missing_one_is_refused(now, incident, perform):
    assert perform(now, "read", INCIDENT, {"names": ["state"]}).result["state"] == "1"
    with pytest.raises(EffectRefused, match="does not exist"):
        perform(now, "read", f"incident/{'f' * 32}")


@pytest.mark.parametrize(
    ("operation", "target", "fields"),
    [
        ("update", "incident", {"values": {"a": 1}}),
        ("update", f"incident/{ID}/../x", {"values": {"a": 1}}),
        ("create", "incident?x", {"values": {"a": 1}}),
        ("create", "incident", {"values": {}}),
        ("create", "incident", {"values": {"A b": 1}}),
        ("create", "incident", {"values": {"a": {"b": 1}}}),
        ("update", INCIDENT, {"values": {"state": 2}, "expect": {"number": 1}}),
        ("fly", INCIDENT, {}),
    ],
)
def test_an_invalid_action_is_refused_before_anything_is_written(
    now, incident, perform, server, operation, target, fields
):
    with pytest.raises(EffectRefused):
        perform(now, operation, target, fields)
    assert not server.writes()


def test_a_wrong_password_is_refused_and_not_repeated(server, table, perform, monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", "not-the-password")
    wrong = ServiceNowConnector("now", server.url, user="flow", secret=SecretRef("env:OTHER_TOKEN"))
    with pytest.raises(EffectRefused, match="401") as caught:
        perform(wrong, "read", INCIDENT)
    assert "not-the-password" not in str(caught.value)


def test_a_busy_instance_is_unavailable(server, now, perform):
    server.answer = lambda _: Reply(429, {"error": "rate"}, {"Retry-After": "3"})
    with pytest.raises(EffectUnavailable) as caught:
        perform(now, "create", "incident", {"values": {"a": 1}})
    assert caught.value.retry_after_seconds == 3
