"""Every change of a bundle is found and located, also if its hashes are computed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.govern.verify import (
    PROOF_FILES,
    Problem,
    manifest,
    pack,
    read_entries,
    read_lines,
    verify,
    write_json,
    write_lines,
)
from tests.govern.conftest import Sample

EXAMPLES = settings(max_examples=80, deadline=None)
Entries = dict[str, bytes]


def entries_of(data: bytes) -> Entries:
    found, problems = read_entries(data)
    assert problems == []
    return found


def changed(sample: Sample, change: Callable[[Entries], None]) -> tuple[list[Problem], list[Problem]]:
    """The problems of a bundle with changed files, without and with a new manifest that fits them."""
    entries = entries_of(sample.data)
    change(entries)
    naive = verify(pack(entries))
    entries["manifest.json"] = manifest(entries)
    return naive, verify(pack(entries))


def lines(name: str, act: Callable[[list[Any]], None]) -> Callable[[Entries], None]:
    def change(entries: Entries) -> None:
        rows = read_lines(entries[name])
        act(rows)
        entries[name] = write_lines(rows)

    return change


def name(event: dict[str, Any]) -> str:
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
    field = data.draw(st.sampled_from(sorted(set(events[at]) - {"tx", "event_id", "salt", "payload"})))
    value = data.draw(st.sampled_from([None, 7, "forged"]).filter(lambda value: value != events[at][field]))

    def edit(rows: list[Any]) -> None:
        rows[at][field] = value

    for problems in changed(sample, lines("events.jsonl", edit)):
        assert problems[0].kind == "altered"
        assert problems[0].place.startswith(name(events[at]))


@EXAMPLES
@given(data=st.data())
def test_a_deleted_event_is_reported_as_missing(sample: Sample, data: st.DataObject):
    """It is found also if its proof is deleted: the block states how many events of each stream it holds."""
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    for problems in changed(sample, lines("events.jsonl", lambda rows: rows.pop(at))):
        assert problems[0] == ("missing", name(events[at]), "the bundle has only its proof")

    def both(entries: Entries) -> None:
        for file in ("events.jsonl", "proofs.jsonl"):
            lines(file, lambda rows: rows.pop(at))(entries)

    for problems in changed(sample, both):
        assert problems[0].kind == "missing"
        assert problems[0].place.startswith(f"stream {events[at]['stream_id']} in block")


@EXAMPLES
@given(data=st.data())
def test_an_inserted_event_is_named(sample: Sample, data: st.DataObject):
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    forged = {**events[at], "event_id": events[at]["event_id"] + 1_000_000, "actor": "forged"}
    for problems in changed(sample, lines("events.jsonl", lambda rows: rows.insert(at + 1, forged))):
        assert problems[0].kind == "inserted"
        assert problems[0].place.startswith(name(forged))

    def both(entries: Entries) -> None:
        proof = {**read_lines(entries["proofs.jsonl"])[at], "event_id": forged["event_id"]}
        lines("events.jsonl", lambda rows: rows.insert(at + 1, forged))(entries)
        lines("proofs.jsonl", lambda rows: rows.insert(at + 1, proof))(entries)

    for problems in changed(sample, both):
        assert problems[0].kind == "altered"
        assert problems[0].place.startswith(name(forged))


@EXAMPLES
@given(data=st.data())
def test_two_events_in_the_wrong_order_are_named(sample: Sample, data: st.DataObject):
    events = read_lines(entries_of(sample.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 2))
    other = data.draw(st.integers(at + 1, len(events) - 1))

    def swap(rows: list[Any]) -> None:
        rows[at], rows[other] = rows[other], rows[at]

    for problems in changed(sample, lines("events.jsonl", swap)):
        assert problems[0].kind == "reordered"
        assert problems[0].place.startswith(name(events[at + 1 if other > at + 1 else at]))


@EXAMPLES
@given(count=st.integers(1, 20))
def test_a_bundle_without_its_newest_events_is_found(sample: Sample, count: int):
    def cut(entries: Entries) -> None:
        for file in ("events.jsonl", "proofs.jsonl"):
            lines(file, lambda rows: rows.__delitem__(slice(-count, None)))(entries)

    for problems in changed(sample, cut):
        assert "missing" in {problem.kind for problem in problems}
        assert any(
            "binds" in problem.detail or "events are missing" in problem.detail for problem in problems
        )


@EXAMPLES
@given(size=st.integers(0, 10**9))
def test_a_truncated_file_is_found(sample: Sample, size: int):
    (problem, *_) = verify(sample.data[: size % len(sample.data)])
    assert problem.kind in ("truncated", "altered")


@EXAMPLES
@given(at=st.integers(0, 10**9), mask=st.integers(1, 255))
def test_a_change_of_any_byte_is_found(sample: Sample, at: int, mask: int):
    forged = bytearray(sample.data)
    forged[at % len(forged)] ^= mask
    assert verify(bytes(forged)) != []


SEALED = [
    "run.json", "inputs.json", "outputs.json", "decisions.json", "approvals.json", "receipts.json",
    "costs.json", "report.html", "verify.py",
]  # fmt: skip


@pytest.mark.parametrize("file", SEALED)
def test_a_changed_file_is_found_although_the_manifest_fits(sample: Sample, file: str):
    def edit(entries: Entries) -> None:
        if file.endswith(".json"):
            document = json.loads(entries[file])
            document = (
                [*document, {"forged": True}] if isinstance(document, list) else {**document, "forged": 1}
            )
            entries[file] = write_json(document)
        else:
            entries[file] += b"<!-- forged -->\n"

    naive, remade = changed(sample, edit)
    assert ("altered", file, "it does not match the hash in the manifest") in naive
    assert [problem.place for problem in remade] == ["the files of the bundle"]


@pytest.mark.parametrize("file", SEALED)
def test_a_removed_or_added_file_is_found(sample: Sample, file: str):
    entries = entries_of(sample.data)
    del entries[file]
    assert verify(pack(entries))[0].kind in ("missing", "altered")
    more = {**entries_of(sample.data), "more.json": b"[]\n"}
    assert ("inserted", "more.json", "the manifest does not list it") in verify(pack(more))
    more["manifest.json"] = manifest(more)
    assert [problem.place for problem in verify(pack(more))] == ["the files of the bundle"]


@pytest.mark.parametrize("file", sorted(set(PROOF_FILES) - {"manifest.json"}))
def test_a_changed_proof_file_is_found(sample: Sample, file: str):
    def cut(rows: list[Any]) -> None:
        rows.pop(0)

    for problems in changed_or_broken(sample, lines(file, cut)):
        assert problems != []


def changed_or_broken(sample: Sample, change: Callable[[Entries], None]) -> list[list[Problem]]:
    entries = entries_of(sample.data)
    change(entries)
    return [verify(pack(entries))]


def test_a_forged_state_is_named(sample: Sample):
    """The bundle says that the run failed; its last event says otherwise."""

    def edit(entries: Entries) -> None:
        run = json.loads(entries["run.json"])
        entries["run.json"] = write_json({**run, "state_code": "failed"})

    _, remade = changed(sample, edit)
    assert ("it is failed, but completed after its last event") in {problem.detail for problem in remade}


def test_a_forged_header_is_named(sample: Sample):
    def edit(rows: list[Any]) -> None:
        rows[-1]["sealed_at"] = "2001-01-01T00:00:00.000000Z"

    for problems in changed(sample, lines("chain.jsonl", edit)):
        assert problems[0].place == f"block {sample.exported.head_block_no}"


def test_a_changed_payload_is_named(sample: Sample):
    entries = entries_of(sample.data_with_payloads)
    inputs = json.loads(entries["inputs.json"])
    inputs[0]["value"] = '{"order_id": "A-2"}'
    entries["inputs.json"] = write_json(inputs)
    entries["manifest.json"] = manifest(entries)
    assert f"inputs.json: input:{sample.run_id}" in [problem.place for problem in verify(pack(entries))]


def test_another_trusted_head_or_anchor_is_reported(sample: Sample):
    (problem,) = verify(sample.data, head="00" * 32)
    assert problem.kind == "unproven"
    chain = read_lines(entries_of(sample.data)["chain.jsonl"])[0]
    forged = {
        "chain_id": chain["chain_id"],
        "block_no": sample.exported.head_block_no,
        "block_hash": "00" * 32,
    }
    (by_anchor,) = verify(sample.data, anchored=[forged])
    assert by_anchor == (
        "altered",
        f"block {sample.exported.head_block_no}",
        "the anchor has another hash for it",
    )


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip at all", pack({}), pack({"manifest.json": b"{}"})])
def test_data_that_is_no_bundle_is_refused(data: bytes):
    assert verify(data) != []
