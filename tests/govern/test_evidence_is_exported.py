"""A bundle has the same bytes each time, holds no value unless requested, and plain Python can check it."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.client import Client
from stepwell.errors import Conflict, LimitExceeded, NotFound, StorageUnavailable
from stepwell.govern.evidence import export
from stepwell.govern.verify import costs, shape, verify
from tests.govern.conftest import Sample, export_run
from tests.govern.sample_run import CANARY, make_sample_run
from tests.govern.sealing import append
from tests.sql.drive import Engine, human, operation, subworkflow, wait


def files(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def document(sample: Sample, name: str) -> Any:
    return json.loads(files(sample.data)[name])


@pytest.mark.requirement("RT-10")
def test_every_export_of_a_run_has_the_same_bytes(sample: Sample, tmp_path: Path):
    """This is true also after another bundle was made and other events were sealed."""
    with psycopg.connect(sample.dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        engine = Engine(db)
        engine.start("order.process", {}, ref="later")
        engine.drain(engine.worker())
    again = export_run(sample.dsn, sample.run_id, tmp_path)
    assert Path(again.url).read_bytes() == sample.data
    full = export_run(sample.dsn, sample.run_id, tmp_path / "full.zip", with_payloads=True)
    assert Path(full.url).read_bytes() == sample.data_with_payloads


def test_a_run_that_changed_after_its_bundle_is_exported_again(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    """The event that sealed the first bundle lies between the events of the run, or in a block with them."""
    run_id = make_sample_run(db)
    first = export_run(dsn, run_id, tmp_path / "first.zip")
    append(db, run_id << 20, payload={"said": "later"})
    second = export_run(dsn, run_id, tmp_path / "second.zip")
    append(db, run_id << 20, payload={"said": "in one block with the seal of the second"})
    db.execute("select * from fn_evidence_seal(1, %s, %s, false, 'ada')", (run_id, "ab" * 32))
    append(db, run_id << 20, payload={"said": "and after it"})
    third = export_run(dsn, run_id, tmp_path / "third.zip")
    for made in (first, second, third):
        assert verify(Path(made.url).read_bytes(), head=made.head_hash) == []
    again = export_run(dsn, run_id, tmp_path / "again.zip")
    assert (again.sha256, third.event_count) == (third.sha256, first.event_count + 6)


def test_the_database_stores_the_sha256_of_each_bundle(sample: Sample):
    with psycopg.connect(sample.dsn, options="-csearch_path=stepwell") as db:
        rows = db.execute(
            "select bundle_sha256, size_bytes, with_payloads from evidence_bundle order by with_payloads"
        ).fetchall()
    assert rows == [
        (hashlib.sha256(data).hexdigest(), len(data), full)
        for data, full in ((sample.data, False), (sample.data_with_payloads, True))
    ]


def test_a_bundle_without_payloads_holds_no_value_of_the_run(sample: Sample):
    """Values are: input, outputs, errors, answers of persons, fields and results of actions, payloads."""
    assert CANARY.encode() not in sample.data
    assert CANARY.encode() in sample.data_with_payloads
    by_kind = {value["label"].split(":")[0]: value for value in document(sample, "values.json")}
    given, shown = by_kind["input"], by_kind["shown"]
    assert given["shape"] == [
        "$: object", "$.card: string", "$.items: array", "$.items[]: object", "$.items[].price: number",
        "$.items[].sku: string", "$.order_id: string",
    ]  # fmt: skip
    assert shown["shape"][:3] == ["$: object", "$.card: string", "$.lines: array"]


def test_a_short_value_cannot_be_guessed_from_its_hash(sample: Sample):
    """The hash is salted: without the salt nobody can find the value by trying."""
    (given,) = [value for value in document(sample, "values.json") if value["label"].startswith("input:")]
    with psycopg.connect(sample.dsn, options="-csearch_path=stepwell") as db:
        text = db.execute(
            "select input::text from run_detail where run_id = %s", (sample.run_id,)
        ).fetchone()[0]  # type: ignore[index]
    guesses = {hashlib.sha256(prefix + text.encode()).hexdigest() for prefix in (b"", b"\x00", b"\x02")}
    assert given["commitment"] not in guesses


def test_a_bundle_holds_steps_approvals_receipts_verdicts_and_costs(sample: Sample):
    run = document(sample, "run.json")
    assert (run["workflow"], run["state_code"], run["trigger_ref"]) == ("order.process", "completed", "A-1")
    assert {step["name"]: step["state_code"] for step in run["steps"]} == dict.fromkeys(
        ("validate", "charge", "sign-off", "pack"), "completed"
    )
    asked = {approval["action"]: approval for approval in document(sample, "approvals.json")}
    assert {action: [vote["voter"] for vote in found["votes"]] for action, found in asked.items()} == {
        "act": ["bob", "cleo"],
        "reopen": ["bob", "cleo"],
    }
    receipts = document(sample, "receipts.json")
    assert [(receipt["external_id"], receipt["state_code"]) for receipt in receipts] == [
        ("ext-1", "confirmed"), ("ext-2", "confirmed"), ("ext-3", "confirmed"), (None, "unconfirmed"),
    ]  # fmt: skip
    assert [receipt["try_count"] for receipt in receipts] == [2, 1, 1, 1]
    assert {decision["rule"] for decision in document(sample, "decisions.json")} == {
        "small sums",
        "ask",
        "no",
    }
    assert document(sample, "costs.json") == [
        {
            "provider": "acme", "model": "gpt-small", "currency": "USD", "call_count": 2,
            "input_tokens": 2000, "output_tokens": 400, "cost_micros": 7000,
        }
    ]  # fmt: skip
    failures = [item for item in document(sample, "values.json") if item["label"].startswith("failure:")]
    assert [item["facts"][0] for item in failures] == ["handler_error"]


def test_a_bundle_holds_the_events_of_approvals_and_receipts(sample: Sample):
    events = [json.loads(line) for line in files(sample.data)["events.jsonl"].splitlines()]
    kinds = {event["event_type"].partition(".")[0] for event in events}
    assert {"workflow", "step", "approval", "receipt", "evidence"} <= kinds


@pytest.mark.requirement("RT-10")
@pytest.mark.parametrize("isolation", [("-I", "-S"), ("-I", "-S", "-O")])
def test_the_verifier_of_a_bundle_runs_without_any_package(
    sample: Sample, tmp_path: Path, isolation: tuple[str, ...]
):
    bundle, verifier = tmp_path / "b.zip", tmp_path / "verify.py"
    bundle.write_bytes(sample.data)
    verifier.write_bytes(files(sample.data)["verify.py"])
    command = [sys.executable, *isolation, str(verifier), str(bundle)]
    good = subprocess.run(
        [*command, "--head", sample.exported.head_hash],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={},
    )  # fmt: skip
    assert (good.returncode, good.stderr) == (0, "")
    assert f"verified: run {sample.run_id} (order.process, completed)" in good.stdout
    assert sample.exported.sha256 in good.stdout
    bundle.write_bytes(sample.data.replace(b'"actor": "bob"', b'"actor": "eve"'))
    bad = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env={})
    assert bad.returncode == 1
    assert "altered: event " in bad.stdout
    absent = subprocess.run([*command[:-1], "none.zip"], capture_output=True, text=True, check=False, env={})
    assert absent.returncode == 2


def test_a_run_that_has_not_ended_is_refused(dsn: str, db: psycopg.Connection, tmp_path: Path):
    engine = Engine(db)
    engine.publish("w", wait("parcel", "came"))
    run_id = engine.start("w")
    with pytest.raises(Conflict, match="evidence can be exported only after its end"):
        export_run(dsn, run_id, tmp_path)
    with pytest.raises(NotFound, match="run 99 does not exist"):
        export_run(dsn, 99, tmp_path)
    assert list(tmp_path.iterdir()) == []


def ended_run(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.drain(engine.worker())
    return run_id


def test_the_error_names_an_older_open_transaction_as_the_reason(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    async def act(run_id: int) -> None:
        client = await Client.connect(dsn)
        try:
            await export(client, run_id, str(tmp_path), limit_seconds=0.0)
        finally:
            await client.close()

    with psycopg.connect(dsn) as holding:
        holding.execute("select pg_current_xact_id()")
        run_id = ended_run(db)
        with pytest.raises(Conflict, match="an older transaction is still open"):
            asyncio.run(act(run_id))
    export_run(dsn, run_id, tmp_path)


def test_too_many_events_are_refused(dsn: str, db: psycopg.Connection, tmp_path: Path):
    run_id = ended_run(db)
    db.execute("update dot_config set config_value = '2' where config_key = 'limits.evidence_events'")
    with pytest.raises(LimitExceeded, match="more than 2 events"):
        export_run(dsn, run_id, tmp_path)


def test_a_changed_log_gives_no_bundle(dsn: str, db: psycopg.Connection, tmp_path: Path):
    run_id = ended_run(db)
    export_run(dsn, run_id, tmp_path)
    db.execute("set session_replication_role = replica")
    db.execute(
        "update event_log set actor = 'forged' where run_id = %s and to_state = 'completed'", (run_id,)
    )
    with pytest.raises(Conflict, match="cannot be verified: altered"):
        export_run(dsn, run_id, tmp_path)
    db.execute("delete from event_log where run_id = %s and to_state = 'completed'", (run_id,))
    with pytest.raises(Conflict, match=r"differ from the sealed events|cannot be verified"):
        export_run(dsn, run_id, tmp_path)


@pytest.mark.parametrize("where", ["file", "memory"])
def test_a_bundle_is_stored_through_fsspec(dsn: str, db: psycopg.Connection, tmp_path: Path, where: str):
    import fsspec

    run_id = ended_run(db)
    url = f"file:{'//'}{tmp_path}/deep/folder" if where == "file" else "memory:" + "//bucket/deep"
    made = export_run(dsn, run_id, url)
    fs, path = fsspec.core.url_to_fs(made.url)
    assert verify(fs.cat_file(path)) == []
    assert db.execute("select stored_url from evidence_bundle").fetchone() == (made.url,)


def test_the_error_for_an_unusable_place_is_one_sentence(dsn: str, db: psycopg.Connection, tmp_path: Path):
    run_id = ended_run(db)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable, match="cannot be used"):
        export_run(dsn, run_id, tmp_path / "file" / "b.zip")
    with pytest.raises(StorageUnavailable, match=r"nosuch.*cannot be used"):
        export_run(dsn, run_id, "nosuch:" + "//user:secret@bucket/x")


def test_keys_of_a_large_object_are_not_shown():
    found = shape(json.dumps({f"user-{at}@example.org": {"age": at} for at in range(60)}))
    assert found == ["$: object", "$.*: object", "$.*.age: number"]


def test_depth_and_number_of_names_in_a_shape_are_limited():
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    assert len(shape(json.dumps(deep))) == 7
    assert shape("[" * 501 + "]" * 501) == ["$: deep"]
    wide = [{f"k{at}": at} for at in range(300)]
    assert shape(json.dumps(wide))[-1] == "and 102 more"


def test_costs_are_summed_per_provider_model_and_currency():
    row = {
        "provider": "p",
        "model": "m",
        "currency": "EUR",
        "input_tokens": 1,
        "output_tokens": None,
        "cost_micros": 5,
    }
    found = costs([row, {**row, "currency": "USD"}, row, {**row, "provider": None}])
    assert [(item["currency"], item["call_count"], item["cost_micros"]) for item in found] == [
        ("EUR", 2, 10),
        ("USD", 1, 5),
    ]


def conditional(step_id: str, test: str) -> dict[str, Any]:
    return {"id": step_id, "kind": "conditional", "test": test}


def test_every_kind_of_run_can_be_exported_in_every_end_state(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    """Maps, branches, sub-workflows, tasks; completed, failed, cancelled: each bundle is valid."""
    engine = Engine(db)
    engine.publish(
        "mapped", {"id": "each", "kind": "map", "over": "$.input.items"}, operation("x", scope=1), edges=[]
    )
    engine.publish(
        "outer", subworkflow("call", "mapped", inputs={"items": "$.input.items"}), operation("after")
    )
    engine.publish(
        "chosen", conditional("test", "$.input.items[0] == 1"),
        operation("yes", branch=1), operation("no", branch=2),
        edges=[("test", "yes"), ("test", "no")],
        branches=[
            {"no": 1, "conditional": 1, "negated": False, "label": "then"},
            {"no": 2, "conditional": 1, "negated": True, "label": "otherwise"},
        ],
    )  # fmt: skip
    engine.publish("signed", human("sign", tasks=[{"id": "read"}, {"id": "count"}]))
    engine.publish("failing", operation("bad"), operation("never"))
    given = {"items": [1, 2, 3]}
    runs = [engine.start(name, given) for name in ("mapped", "outer", "chosen")]
    worker = engine.worker()
    engine.drain(worker)
    failing = engine.start("failing", given)
    engine.kill(worker, *engine.claim(worker))
    cancelled = engine.start("signed", given)
    engine.one("select fn_run_cancel(1, %s, 'cli:ada', 'no longer needed')", (cancelled,))
    ends = {engine.run_state(run_id) for run_id in (*runs, failing, cancelled)}
    assert ends == {"completed", "failed", "cancelled"}
    for run_id in (*runs, failing, cancelled):
        made = export_run(dsn, run_id, tmp_path)
        assert verify(Path(made.url).read_bytes()) == []
    (child_id,) = (
        db.execute(
            "select max(run_id) from run_detail where parent_unit_id >> 20 = %s", (runs[1],)
        ).fetchone()
        or ()
    )
    made = export_run(dsn, child_id, tmp_path)
    child = json.loads(files(Path(made.url).read_bytes())["run.json"])
    assert child["parent_unit_id"] >> 20 == runs[1]
