"""Tricks with archives, JSON, trees and blocks: both verifiers refuse them, with the same findings."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from stepwell.govern import verify as v
from tests.govern.both_verifiers import Both, both_verifiers
from tests.govern.bundle_tamper import Entries, forge
from tests.govern.conftest import Sample
from tests.govern.sealing import append, check, seal, without_rows


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


def entries_of(data: bytes) -> Entries:
    found = v.unpack(data)
    assert found is not None
    return found


def zipped(entries: Entries, change: Callable[[zipfile.ZipFile, Entries], None]) -> bytes:
    """The files as another program packs them, manifest first."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        change(archive, entries)
    return made.getvalue()


def plainly(archive: zipfile.ZipFile, entries: Entries) -> None:
    for name in sorted(entries, key=lambda name: (name != "manifest.json", name)):
        archive.writestr(name, entries[name])


def twice(archive: zipfile.ZipFile, entries: Entries) -> None:
    plainly(archive, entries)
    with pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("approvals.json", b"[]\n")


def packed_small(archive: zipfile.ZipFile, entries: Entries) -> None:
    plainly(archive, {name: data for name, data in entries.items() if name != "report.html"})
    archive.writestr("report.html", b" " * 50_000_000, zipfile.ZIP_DEFLATED)


def with_link(archive: zipfile.ZipFile, entries: Entries) -> None:
    plainly(archive, {name: data for name, data in entries.items() if name != "verify.py"})
    link = zipfile.ZipInfo("verify.py")
    link.external_attr = 0o120777 << 16
    archive.writestr(link, b"/etc/passwd")


def with_path(archive: zipfile.ZipFile, entries: Entries) -> None:
    plainly(archive, entries)
    for name in ("/etc/cron.d/x", "../x", "approvals.json/", "APPROVALS.JSON", "approvals\u0301.json"):
        archive.writestr(name, b"[]\n")


@pytest.mark.parametrize("trick", [plainly, twice, packed_small, with_link, with_path])
def test_another_archive_of_the_same_files_is_refused(sample: Sample, both: Both, trick: Any):
    found = both.verify(zipped(entries_of(sample.data), trick), head=sample.exported.head_hash)
    assert {one.code for one in found} & {"zip.broken", "zip.bytes"}


def test_bytes_before_between_and_after_the_files_are_found(sample: Sample, both: Both):
    at = sample.data.index(b"PK\x03\x04", 4)
    for made in (
        b"#!/bin/sh\n" + sample.data, sample.data[:at] + b"x" + sample.data[at:], sample.data + b"x",
        sample.data + sample.data,
    ):  # fmt: skip
        assert both.verify(made) != []


def test_renamed_and_swapped_files_are_found(sample: Sample, both: Both):
    entries = entries_of(sample.data)
    swapped = {
        **entries,
        "approvals.json": entries["receipts.json"],
        "receipts.json": entries["approvals.json"],
    }
    swapped["manifest.json"] = v.manifest(swapped)
    assert "contents.differs" in {one.code for one in both.verify(v.pack(swapped))}
    renamed = {
        ("Approvals.json" if name == "approvals.json" else name): data for name, data in entries.items()
    }
    assert [one.code for one in both.verify(v.pack(renamed))] == ["file.missing", "file.unknown"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": 1.0}',
        '{"a": -0}',
        '{"a": 1e400}',
        '{"a": 12345678901234567890}',
        '{"a": 01}',
        '{"a": "\\ud800"}',
        '{"a": "\\u00e9"}',
        '{"a": NaN}',
        '{"a": +1}',
        "{'a': 1}",
        '{"a": 1,}',
        '\ufeff{"a": 1}',
        '{"a": "\t"}',
        '{"a": 1} ',
        "[" * 200 + "]" * 200,
        '{"b": 1, "a": 1}',
        '{"__proto__": {"run_id": 1}}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "e\u0301"}',
    ],
)
def test_json_has_one_form(sample: Sample, both: Both, text: str):
    """Only the canonical form of what the events say passes, wherever the trick stands."""
    for name in ("run.json", "manifest.json", "costs.json", "events.jsonl", "values.json"):
        entries = entries_of(sample.data)
        entries[name] = text.encode() + b"\n" + (entries[name] if name.endswith(".jsonl") else b"")
        assert both.verify(v.pack(entries)) != []


@pytest.mark.parametrize(
    "payload",
    [
        '{"voter": "bob", "x": NaN}',
        '{"voter": "bob", "x": ' + "9" * 5000 + "}",
        '{"voter": "bob", "x": 1e999}',
        '{"voter": "bob", "voter": "eve"}',
        '{"voter": "\\ud800"}',
        "[" * 2000 + "]" * 2000,
        "no JSON",
        '"text"',
        '{"__proto__": {"voter": "bob"}}',
        '{"voter": "bob", "x": -0}',
        ' {"voter": "bob"} ',
        '{"voter": "e\u0301"}',
    ],
)
def test_both_verifiers_read_forged_payloads_alike(sample: Sample, both: Both, payload: str):
    """The forger computes every hash again: only the documents can differ, and both say where."""
    entries = entries_of(sample.data)
    events = v.read_lines(entries["events.jsonl"])
    event = next(one for one in events if one["event_type"] == "approval.vote_recorded")
    event["payload"], event["payload_size"] = payload, len(payload.encode())
    event["payload_commitment"] = v.commitment(bytes.fromhex(event["salt"]), payload)
    entries["events.jsonl"] = v.write_lines(events)
    forge(entries)
    entries["manifest.json"] = v.manifest(entries)
    places = [one.place for one in both.verify(v.pack(entries))]
    assert len(places) == 1
    assert places[0].startswith("approvals.json[")


@pytest.mark.parametrize("is_told", [False, True])
def test_whoever_exports_cannot_choose_the_mode(sample: Sample, both: Both, is_told: bool):
    """The sealed event says in which mode the run began; the file must say the same."""
    entries = entries_of(sample.data)
    if is_told:
        events = v.read_lines(entries["events.jsonl"])
        event = next(one for one in events if one["event_type"] == v.SEAL_EVENT)
        event["payload"] = event["payload"].replace('"mode": "strict"', '"mode": "development"')
        entries["events.jsonl"] = v.write_lines(events)
    else:
        run = json.loads(entries["run.json"])
        entries["run.json"] = v.write_json({**run, "mode": "development"})
    forge(entries)
    entries["manifest.json"] = v.manifest(entries)
    found = both.verify(v.pack(entries))
    assert [(one.code, one.place) for one in found] == [("document.differs", "run.json.mode")]


@pytest.mark.parametrize(
    "text", ["NaN", "no JSON", "[" * 700 + "]" * 700, "9" * 5000, '"\\ud800"', "1e999", '{"a": 1, "a": 2}']
)
def test_both_verifiers_read_forged_values_alike(sample: Sample, both: Both, text: str):
    entries = entries_of(sample.data_with_payloads)
    values = json.loads(entries["values.json"])
    value = next(one for one in values if one["label"].startswith("receipt:"))
    value["value"] = text
    entries["values.json"] = v.write_json(values)
    entries["manifest.json"] = v.manifest(entries)
    assert "value.hash" in {one.code for one in both.verify(v.pack(entries))}
    value["size"], value["commitment"] = len(text.encode()), v.commitment(bytes.fromhex(value["salt"]), text)
    entries["values.json"] = v.write_json(values)
    assert "value.unsealed" in {one.code for one in both.verify(v.pack(entries))}


def test_a_node_of_the_tree_is_no_leaf(sample: Sample, both: Both):
    """Second preimages: leaves, nodes, entries and headers begin with other bytes; a path has one length."""
    leaves = [v.digest(b"\x00", bytes([at])) for at in range(5)]
    tree = v.levels(leaves)
    assert v.path_root(tree[1][0], 0, 3, v.path(tree[1:], 0)) == tree[-1][0], (
        "a tree of nodes alone would pass"
    )
    # The number of leaves is in the header, and no event has a leaf that begins with the byte of a node.
    assert v.root([*leaves, leaves[-1]]) != v.root(leaves), (
        "a last leaf that is there twice gives another root"
    )
    assert v.path_root(leaves[4], 5, 6, v.path(v.levels([*leaves, leaves[4]]), 5)) != v.root(leaves)
    entries = entries_of(sample.data)
    proofs = v.read_lines(entries["proofs.jsonl"])
    for change in (
        lambda proof: proof["path"].pop(),
        lambda proof: proof["path"].append("00" * 32),
        lambda proof: proof.update(leaf_no=proof["leaf_no"] + 2**40),
        lambda proof: proof.update(path=[]),
    ):
        mine = json.loads(json.dumps(proofs))
        change(mine[0])
        made = {**entries, "proofs.jsonl": v.write_lines(mine)}
        made["manifest.json"] = v.manifest(made)
        assert "event.leaf" in {one.code for one in both.verify(v.pack(made))}


def test_a_block_without_events_is_found(db: psycopg.Connection):
    """The owner of the database appends a block of nothing, with all hashes right."""
    without_rows(db)
    append(db, 5 << 20)
    seal(db)
    db.execute("set session_replication_role = replica")
    for text in (
        "alter table audit_block drop constraint block_is_not_empty",
        "alter table audit_block drop constraint a_position_is_sealed_once",
        "insert into audit_block select tenant_id, 2, first_tx, first_event_id, last_tx, last_event_id,"
        " first_at, last_at, 0, sha256(''), 0, sha256(''), sha256(''), block_hash, sealed_at, block_hash"
        " from audit_block",
        "update audit_block as b set history_root = _history_root(c.history_peaks) from audit_chain as c"
        " where b.block_no = 2",
        "update audit_block as b set block_hash = _block_hash(c.chain_id, b) from audit_chain as c"
        " where b.block_no = 2",
        "update audit_chain as c set block_count = 2, head_hash = b.block_hash,"
        " history_peaks = _history_append(c.history_peaks, 1, b.block_hash)"
        " from audit_block as b where b.block_no = 2",
    ):
        db.execute(text.encode())
    problems = check(db).problems
    assert [(one.place, "no events" in one.detail) for one in problems][:1] == [("block 2", True)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"' + "x" * 17_000_000 + '"', id="the longest result of a Map"),
        pytest.param('"' + '\\"' * 2_000_000 + '"', id="only escapes"),
        pytest.param('["\\\\", "[[[["]', id="brackets inside of texts"),
    ],
)
def test_both_verifiers_read_a_long_value(sample: Sample, both: Both, text: str):
    entries = entries_of(sample.data_with_payloads)
    values = json.loads(entries["values.json"])
    value = next(one for one in values if one["label"].startswith("receipt:"))
    value["value"], value["shape"] = text, v.shape(text)
    value["size"], value["commitment"] = len(text.encode()), v.commitment(bytes.fromhex(value["salt"]), text)
    entries["values.json"] = v.write_json(values)
    entries["manifest.json"] = v.manifest(entries)
    found = {one.code for one in both.verify(v.pack(entries))}
    assert "value.unsealed" in found
    assert found & {"json.form", "value.hash", "value.shape"} == set()


def test_both_verifiers_read_an_event_that_carries_many_values(sample: Sample, both: Both):
    entries = entries_of(sample.data)
    events = v.read_lines(entries["events.jsonl"])
    events[0]["values"] = ["ab" * 32] * 150_000
    entries["events.jsonl"] = v.write_lines(events)
    entries["manifest.json"] = v.manifest(entries)
    assert "event.leaf" in {one.code for one in both.verify(v.pack(entries))}


@pytest.mark.parametrize("scope", [[], {}, "", "x", 0, -0.0, 0.5, 1, 2**64, True, False, None])
def test_both_verifiers_read_a_forged_scope_alike(sample: Sample, both: Both, scope: Any):
    """Only an integer above 0 says that a step is inside a Map."""
    entries = entries_of(sample.data)
    graph = json.loads(entries["graph.json"])
    graph["steps"][1]["scope"] = scope
    text = json.dumps(graph)
    entries["graph.json"] = text.encode()
    graph_hash = hashlib.sha256(text.encode()).hexdigest()
    values, events = json.loads(entries["values.json"]), v.read_lines(entries["events.jsonl"])
    value = next(one for one in values if one["label"].startswith("input:"))
    before = v.value_hash(*(value[name] for name in v.VALUE_FIELDS))
    value["facts"][2] = graph_hash
    after = v.value_hash(*(value[name] for name in v.VALUE_FIELDS))
    for event in events:
        event["values"] = [after if one == before else one for one in event["values"]]
    entries["values.json"], entries["events.jsonl"] = v.write_json(values), v.write_lines(events)
    run = json.loads(entries["run.json"])
    claims = {name: run[name] for name in ("run_id", "streams", "with_payloads")}
    facts = v.run_facts(run["run_id"], values)
    documents = v.Story(run["run_id"], events).documents(claims, run["tenant_id"], facts, json.loads(text))
    entries["run.json"] = v.write_json(documents["run.json"])
    forge(entries)
    entries["manifest.json"] = v.manifest(entries)
    assert both.verify(v.pack(entries)) == []
    known = next(one for one in documents["run.json"]["steps"] if one["unit_id"] & 0xFFFFF == 2)
    assert (known["name"] is None) == (scope == 1 and scope is not True)
