"""Every way to tamper with a bundle is found and located, also when all hashes in reach are made again."""

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
from tests.govern.conftest import Told

EXAMPLES = settings(max_examples=80, deadline=None)
Entries = dict[str, bytes]


def entries_of(data: bytes) -> Entries:
    found, problems = read_entries(data)
    assert problems == []
    return found


def changed(told: Told, change: Callable[[Entries], None]) -> tuple[list[Problem], list[Problem]]:
    """What is found when the files are changed, and when the manifest is made to fit them as well."""
    entries = entries_of(told.data)
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
def test_an_untouched_bundle_proves_itself(told: Told):
    assert verify(told.data, head=told.exported.head_hash) == []
    assert verify(told.data_with_payloads) == []


@EXAMPLES
@given(data=st.data())
def test_an_edited_event_is_named(told: Told, data: st.DataObject):
    events = read_lines(entries_of(told.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    field = data.draw(st.sampled_from(sorted(set(events[at]) - {"tx", "event_id", "salt", "payload"})))
    value = data.draw(st.sampled_from([None, 7, "forged"]).filter(lambda value: value != events[at][field]))

    def edit(rows: list[Any]) -> None:
        rows[at][field] = value

    for problems in changed(told, lines("events.jsonl", edit)):
        assert problems[0].kind == "altered"
        assert problems[0].place.startswith(name(events[at]))


@EXAMPLES
@given(data=st.data())
def test_a_deleted_event_is_missed(told: Told, data: st.DataObject):
    """Also when its proof goes with it: the block says how many events each stream has in it."""
    events = read_lines(entries_of(told.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    for problems in changed(told, lines("events.jsonl", lambda rows: rows.pop(at))):
        assert problems[0] == ("missing", name(events[at]), "only its proof is there")

    def both(entries: Entries) -> None:
        for file in ("events.jsonl", "proofs.jsonl"):
            lines(file, lambda rows: rows.pop(at))(entries)

    for problems in changed(told, both):
        assert problems[0].kind == "missing"
        assert problems[0].place.startswith(f"stream {events[at]['stream_id']} in block")


@EXAMPLES
@given(data=st.data())
def test_an_inserted_event_is_named(told: Told, data: st.DataObject):
    events = read_lines(entries_of(told.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 1))
    forged = {**events[at], "event_id": events[at]["event_id"] + 1_000_000, "actor": "forged"}
    for problems in changed(told, lines("events.jsonl", lambda rows: rows.insert(at + 1, forged))):
        assert problems[0].kind == "inserted"
        assert problems[0].place.startswith(name(forged))

    def both(entries: Entries) -> None:
        proof = {**read_lines(entries["proofs.jsonl"])[at], "event_id": forged["event_id"]}
        lines("events.jsonl", lambda rows: rows.insert(at + 1, forged))(entries)
        lines("proofs.jsonl", lambda rows: rows.insert(at + 1, proof))(entries)

    for problems in changed(told, both):
        assert problems[0].kind == "altered"
        assert problems[0].place.startswith(name(forged))


@EXAMPLES
@given(data=st.data())
def test_events_that_changed_places_are_named(told: Told, data: st.DataObject):
    events = read_lines(entries_of(told.data)["events.jsonl"])
    at = data.draw(st.integers(0, len(events) - 2))
    other = data.draw(st.integers(at + 1, len(events) - 1))

    def swap(rows: list[Any]) -> None:
        rows[at], rows[other] = rows[other], rows[at]

    for problems in changed(told, lines("events.jsonl", swap)):
        assert problems[0].kind == "reordered"
        assert problems[0].place.startswith(name(events[at + 1 if other > at + 1 else at]))


@EXAMPLES
@given(count=st.integers(1, 20))
def test_a_bundle_without_its_newest_events_is_found(told: Told, count: int):
    def cut(entries: Entries) -> None:
        for file in ("events.jsonl", "proofs.jsonl"):
            lines(file, lambda rows: rows.__delitem__(slice(-count, None)))(entries)

    for problems in changed(told, cut):
        assert "missing" in {problem.kind for problem in problems}
        assert any(
            "binds" in problem.detail or "events are missing" in problem.detail for problem in problems
        )


@EXAMPLES
@given(size=st.integers(0, 10**9))
def test_a_file_that_was_cut_off_is_found(told: Told, size: int):
    (problem, *_) = verify(told.data[: size % len(told.data)])
    assert problem.kind in ("truncated", "altered")


@EXAMPLES
@given(at=st.integers(0, 10**9), mask=st.integers(1, 255))
def test_no_single_byte_can_be_changed(told: Told, at: int, mask: int):
    forged = bytearray(told.data)
    forged[at % len(forged)] ^= mask
    assert verify(bytes(forged)) != []


SEALED = [
    "run.json", "inputs.json", "outputs.json", "decisions.json", "approvals.json", "receipts.json",
    "costs.json", "report.html", "verify.py",
]  # fmt: skip


@pytest.mark.parametrize("file", SEALED)
def test_a_file_is_bound_to_the_log_not_only_to_the_manifest(told: Told, file: str):
    def edit(entries: Entries) -> None:
        if file.endswith(".json"):
            document = json.loads(entries[file])
            document = (
                [*document, {"forged": True}] if isinstance(document, list) else {**document, "forged": 1}
            )
            entries[file] = write_json(document)
        else:
            entries[file] += b"<!-- forged -->\n"

    naive, remade = changed(told, edit)
    assert ("altered", file, "it is not the file that the manifest names") in naive
    assert [problem.place for problem in remade] == ["the files of the bundle"]


@pytest.mark.parametrize("file", SEALED)
def test_a_file_cannot_be_taken_out_or_put_in(told: Told, file: str):
    entries = entries_of(told.data)
    del entries[file]
    assert verify(pack(entries))[0].kind in ("missing", "altered")
    more = {**entries_of(told.data), "more.json": b"[]\n"}
    assert ("inserted", "more.json", "the manifest does not name it") in verify(pack(more))
    more["manifest.json"] = manifest(more)
    assert [problem.place for problem in verify(pack(more))] == ["the files of the bundle"]


@pytest.mark.parametrize("file", sorted(set(PROOF_FILES) - {"manifest.json"}))
def test_proofs_cannot_be_edited(told: Told, file: str):
    def cut(rows: list[Any]) -> None:
        rows.pop(0)

    for problems in changed_or_broken(told, lines(file, cut)):
        assert problems != []


def changed_or_broken(told: Told, change: Callable[[Entries], None]) -> list[list[Problem]]:
    entries = entries_of(told.data)
    change(entries)
    return [verify(pack(entries))]


def test_a_forged_state_is_named(told: Told):
    """The run is said to have failed; its last event says otherwise."""

    def edit(entries: Entries) -> None:
        run = json.loads(entries["run.json"])
        entries["run.json"] = write_json({**run, "state_code": "failed"})

    _, remade = changed(told, edit)
    assert ("it is failed, its last event left it completed") in {problem.detail for problem in remade}


def test_a_forged_header_is_named(told: Told):
    def edit(rows: list[Any]) -> None:
        rows[-1]["sealed_at"] = "2001-01-01T00:00:00.000000Z"

    for problems in changed(told, lines("chain.jsonl", edit)):
        assert problems[0].place == f"block {told.exported.head_block_no}"


def test_a_shown_value_that_is_another_is_named(told: Told):
    entries = entries_of(told.data_with_payloads)
    inputs = json.loads(entries["inputs.json"])
    inputs[0]["value"] = '{"order_id": "A-2"}'
    entries["inputs.json"] = write_json(inputs)
    entries["manifest.json"] = manifest(entries)
    assert f"inputs.json: input:{told.run_id}" in [problem.place for problem in verify(pack(entries))]


def test_another_head_or_anchor_than_the_trusted_one_is_told(told: Told):
    (problem,) = verify(told.data, head="00" * 32)
    assert problem.kind == "unproven"
    chain = read_lines(entries_of(told.data)["chain.jsonl"])[0]
    forged = {"chain_id": chain["chain_id"], "block_no": told.exported.head_block_no, "block_hash": "00" * 32}
    (by_anchor,) = verify(told.data, anchored=[forged])
    assert by_anchor == (
        "altered",
        f"block {told.exported.head_block_no}",
        "the anchor has another hash for it",
    )


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip at all", pack({}), pack({"manifest.json": b"{}"})])
def test_what_is_no_bundle_is_said_to_be_none(data: bytes):
    assert verify(data) != []
