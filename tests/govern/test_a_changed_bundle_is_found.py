"""The finding names the changed record, also if the manifest fits again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.govern.verify import (
    Finding,
    manifest,
    pack,
    read_lines,
    unpack,
    verify,
    write_json,
    write_lines,
)
from tests.govern.conftest import Sample
from tests.support.sample import sample

EXAMPLES = sample(20)
Entries = dict[str, bytes]


def entries_of(data: bytes) -> Entries:
    found = unpack(data)
    assert found is not None
    return found


def changed(sample: Sample, change: Callable[[Entries], None]) -> tuple[list[Finding], list[Finding]]:
    """The findings of a bundle with changed files, without and with a new manifest that fits them."""
    entries = entries_of(sample.data)
    change(entries)
    naive = [one for one in verify(pack(entries)) if one.code != "file.hash"]
    entries["manifest.json"] = manifest(entries)
    return naive, verify(pack(entries))


def lines(name: str, act: Callable[[list[Any]], None]) -> Callable[[Entries], None]:
    def change(entries: Entries) -> None:
        rows = read_lines(entries[name])
        act(rows)
        entries[name] = write_lines(rows)

    return change


def place(event: dict[str, Any]) -> str:
    return f"event {event['tx']}/{event['event_id']}"


@pytest.mark.requirement("RT-10")
def test_an_unchanged_bundle_is_valid(sample: Sample):
    assert verify(sample.data, head=sample.exported.head_hash) == []
    assert verify(sample.data_with_payloads) == []


@EXAMPLES
@given(data=st.data())
def test_an_edited_event_is_named(sample: Sample, data: st.DataObject):
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    field = data.draw(st.sampled_from(["event_type", "actor_class", "actor", "from_state", "to_state"]))

    def edit(rows: list[Any]) -> None:
        rows[at][field] = "forged"

    for findings in changed(sample, lines("events.jsonl", edit)):
        assert findings[0].code == "event.leaf"
        assert findings[0].place.startswith(place(events[at]))


@EXAMPLES
@given(data=st.data())
def test_a_deleted_event_is_reported_as_missing(sample: Sample, data: st.DataObject):
    """It is found also if its proof is deleted: the block states how many events of each stream it holds."""
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    for findings in changed(sample, lines("events.jsonl", lambda rows: rows.pop(at))):
        assert findings[0] == ("proof.no_event", place(events[at]))

    def both(entries: Entries) -> None:
        for file in ("events.jsonl", "proofs.jsonl"):
            lines(file, lambda rows: rows.pop(at))(entries)

    for findings in changed(sample, both):
        (found, *_) = [one for one in findings if one.code.startswith("stream.")]
        assert (found.code, found.kind) == ("stream.lacks", "missing")
        assert found.place.startswith(f"stream {events[at]['stream_id']} in block")


@EXAMPLES
@given(data=st.data())
def test_an_inserted_event_is_named(sample: Sample, data: st.DataObject):
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    forged = {**events[at], "event_id": events[at]["event_id"] + 1_000_000, "actor": "forged"}
    for findings in changed(sample, lines("events.jsonl", lambda rows: rows.insert(at + 1, forged))):
        assert findings[0].code == "event.no_proof"
        assert findings[0].place.startswith(place(forged))


@EXAMPLES
@given(data=st.data())
def test_two_events_in_the_wrong_order_are_named(sample: Sample, data: st.DataObject):
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 2))

    def swap(rows: list[Any]) -> None:
        rows[at], rows[at + 1] = rows[at + 1], rows[at]

    for findings in changed(sample, lines("events.jsonl", swap)):
        assert findings[0].code == "event.order"
        assert findings[0].place.startswith(place(events[at]))


@pytest.mark.parametrize("file", ["report.html", "verify.py", "verify.mjs"])
def test_a_file_that_is_not_derived_is_found_by_the_digest_in_the_log(sample: Sample, file: str):
    def edit(entries: Entries) -> None:
        entries[file] += b"<!-- forged -->\n"

    naive, remade = changed(sample, edit)
    assert naive == remade == [Finding("contents.differs", "the files of the bundle")]


def test_the_field_of_a_document_is_named(sample: Sample):
    def edit(entries: Entries) -> None:
        approvals = json.loads(entries["approvals.json"])
        approvals[0]["votes"][1]["voter"] = "the-ceo"
        entries["approvals.json"] = write_json(approvals)

    for findings in changed(sample, edit):
        assert Finding("document.differs", "approvals.json[0].votes[1].voter") in findings


def test_a_forged_header_is_named(sample: Sample):
    def edit(rows: list[Any]) -> None:
        rows[-1]["sealed_at"] = "2001-01-01T00:00:00.000000Z"

    for findings in changed(sample, lines("chain.jsonl", edit)):
        assert ("block.hash", f"block {sample.exported.head_block_no}") in findings


def test_a_changed_value_is_named(sample: Sample):
    entries = entries_of(sample.data_with_payloads)
    values = json.loads(entries["values.json"])
    for value in values:
        value["value"] = '{"order_id": "A-2"}'
    entries["values.json"] = write_json(values)
    entries["manifest.json"] = manifest(entries)
    found = verify(pack(entries))
    assert [one.place for one in found if one.code == "value.hash"] == [value["label"] for value in values]
