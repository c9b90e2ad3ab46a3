"""One installation for tests of many pages: receives a database, fills it with something for every page.

A run with milestones, a map, a branch, a sub-workflow and an effect in another system; other runs; people,
an approval and a second version of a workflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from stepwell.define import freeze
from tests.api.serving import serving
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import any_of, emit, finish, job, perform, register
from tests.support.databases import Databases
from tests.support.roles import as_process
from tests.ui.asking import ask_to_act
from tests.worker.acting import put_in_force, rule

FORM: dict[str, Any] = {
    "type": "object",
    "required": ["finding"],
    "properties": {
        "finding": {"type": "string", "title": "Finding", "enum": ["as expected", "worn"]},
        "value": {"type": "number", "title": "Value in mm"},
    },
}
INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"order": {"type": "string", "title": "Order"}, "abroad": {"type": "boolean"}},
}
BILL = sw.Workflow("bill", sw.Sequential(sw.Operation("write"), sw.Operation("send")), title="Billing")


def order(*, signed: bool) -> sw.Workflow:
    """The order, in a first version without the last signature."""
    last = [sw.Human("sign", role="office", title="Sign the letter", milestone="Signed")] if signed else []
    return sw.Workflow(
        "order.flow",
        sw.Sequential(
            sw.Operation("charge", title="Charge the card", milestone="Paid"),
            sw.Map("$.steps.charge.output.items", sw.Operation("pack"), id="boxes", title="Pack boxes"),
            sw.Parallel(
                sw.SubWorkflow("bill", id="bill", title="Bill it"),
                sw.Human(
                    "inspect",
                    role="office",
                    title="Inspect the parcel",
                    form=FORM,
                    content="guide",
                    deadline="4h",
                ),
            ),
            sw.Conditional(
                "$.input.abroad == true", then=sw.Operation("customs", title="Customs"), id="abroad"
            ),
            *last,
            sw.Operation("ship", title="Ship", milestone="On its way"),
        ),
        title="An order",
        input=INPUT,
    )


@dataclass(frozen=True)
class World:
    dsn: str
    base_url: str
    engine: Engine
    run: int
    approval: int


@contextmanager
def world(databases: Databases, template: str, folder: Path) -> Iterator[World]:
    with databases.fresh(template) as dsn:
        address = as_process(dsn, "api")
        settings = Settings(database_url=address, data_dir=folder)
        options = "-csearch_path=stepwell,public"
        with (
            serving(create_app(settings, address, allowed_hosts=LOOPBACK_NAMES)) as client,
            psycopg.connect(dsn, autocommit=True, options=options) as db,
        ):
            engine = Engine(db)
            run = _fill(engine)
            approval = ask_to_act(engine, quorum=2)
            yield World(dsn, str(client.base_url).rstrip("/"), engine, run, approval)


def _emit_graphs(engine: Engine, worker: int) -> None:
    """Two job graphs: one failed in part, one waits for its workers."""
    register(
        engine, "parcels", job("label"), job("weigh"), any_of("route", "label", "weigh"),
        job("load", "route"), params={"parcel": {"type": "string"}},
    )  # fmt: skip
    emit(engine, "parcels", {"parcel": "p-1"}, p_correlation_id="A-1")
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    finish(engine, worker, [held["label"]])
    finish(engine, worker, [held["weigh"]], "dead")
    for local_id in ("route", "load"):
        perform(engine, worker, local_id)
    emit(engine, "parcels", {"parcel": "p-2"}, p_correlation_id="A-2")


def _fill(engine: Engine) -> int:
    db = engine.db
    for name in ("ada", "mai"):
        db.execute("select fn_person_set(1, %s, array['office'])", (name,))
    labels = Jsonb({"en": "Guide to parcels", "vi": "Hướng dẫn kiện hàng"})
    db.execute("select fn_content_write(1, 'guide', '# Look at it', 'ada', %s)", (labels,))
    put_in_force(db, rule("small sums", "allow", reason="within the limit"))
    for flow in (BILL, order(signed=False), order(signed=True)):
        db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(flow).canonical.decode(),))
    worker = engine.worker()
    run = engine.start("order.flow", {"order": "A-1", "abroad": True}, "A-1")
    (charge,) = engine.claim(worker, 1)
    action = {
        "connector": "http", "operation": "post", "target": "https://pay.example/charges",
        "call": "http.post#1", "fields": {"amount": 105}, "reversible": True,
    }  # fmt: skip
    call = (worker, charge.unit_id, charge.lease_no)
    proposed = engine.one("select fn_action_propose(%s, 1, %s, %s, %s)", (*call, Jsonb(action)))
    effect = {
        "result": {"status": 201}, "external_id": "ext-1", "prior": {"sum": 0},
        "reversal": {"operation": "refund", "target": "https://pay.example/refunds", "fields": {"sum": 9}},
    }  # fmt: skip
    receipt = int(proposed["receipt_id"])
    engine.one("select fn_action_settle(%s, 1, %s, %s, %s, 'confirmed', %s)", (*call, receipt, Jsonb(effect)))
    engine.complete(worker, charge, output={"items": [1, 2, 3]})
    engine.drain(worker)
    _emit_graphs(engine, worker)
    for at in range(2, 6):
        engine.start("order.flow", {"order": f"A-{at}"}, f"A-{at}")
    return run
