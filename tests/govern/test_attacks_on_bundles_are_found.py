"""Bundles forged by hand, beside the generated ones: both verifiers say the same, and never nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepwell.govern import verify as v
from tests.govern.both_verifiers import Both, both_verifiers
from tests.govern.bundle_tamper import Entries, forge
from tests.govern.conftest import Sample

LINES = ("chain.jsonl", "events.jsonl", "proofs.jsonl", "streams.jsonl")
Lines = dict[str, list[Any]]
ATTACKS: list[Callable[[Lines, Lines], None]] = []
HUGE = 2**63 - 1


def attack(act: Callable[[Lines, Lines], None]) -> Callable[[Lines, Lines], None]:
    ATTACKS.append(act)
    return act


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


def entries_of(data: bytes) -> Entries:
    found = v.unpack(data)
    assert found is not None
    return found


def lines_of(data: bytes) -> Lines:
    entries = entries_of(data)
    return {name: v.read_lines(entries[name]) for name in LINES}


@attack
def blocks_swapped(mine: Lines, other: Lines) -> None:
    chain = mine["chain.jsonl"]
    chain[1:] = chain[:0:-1]


@attack
def first_block_twice(mine: Lines, other: Lines) -> None:
    mine["chain.jsonl"].insert(1, mine["chain.jsonl"][1])


@attack
def head_of_the_other_bundle(mine: Lines, other: Lines) -> None:
    mine["chain.jsonl"][-1] = other["chain.jsonl"][-1]


@attack
def chain_of_the_other_bundle(mine: Lines, other: Lines) -> None:
    mine["chain.jsonl"] = other["chain.jsonl"]


@attack
def all_proofs_of_the_other_bundle(mine: Lines, other: Lines) -> None:
    mine.update(other)


@attack
def chain_cut_off_before_its_head(mine: Lines, other: Lines) -> None:
    gone = mine["chain.jsonl"].pop()
    mine["chain.jsonl"][-1]["history_path"] = []
    mine["proofs.jsonl"] = [one for one in mine["proofs.jsonl"] if one["block_no"] != gone["block_no"]]
    kept = {(one["tx"], one["event_id"]) for one in mine["proofs.jsonl"]}
    mine["events.jsonl"] = [one for one in mine["events.jsonl"] if (one["tx"], one["event_id"]) in kept]
    mine["streams.jsonl"] = [one for one in mine["streams.jsonl"] if one["block_no"] != gone["block_no"]]


@attack
def own_chain_id(mine: Lines, other: Lines) -> None:
    mine["chain.jsonl"][0]["chain_id"] = "00000000-0000-4000-8000-000000000000"


@attack
def another_tenant(mine: Lines, other: Lines) -> None:
    mine["chain.jsonl"][0]["tenant_id"] += 1


@attack
def event_of_transaction_zero(mine: Lines, other: Lines) -> None:
    mine["events.jsonl"].insert(0, {**mine["events.jsonl"][0], "tx": 0})


@attack
def event_with_a_huge_number(mine: Lines, other: Lines) -> None:
    mine["events.jsonl"].append({**mine["events.jsonl"][-1], "event_id": HUGE, "tx": HUGE})


@attack
def event_with_its_proof_twice(mine: Lines, other: Lines) -> None:
    for name in ("events.jsonl", "proofs.jsonl"):
        mine[name].insert(1, mine[name][0])


@attack
def a_vote_gone_with_its_proof(mine: Lines, other: Lines) -> None:
    at = max(
        at for at, one in enumerate(mine["events.jsonl"]) if one["event_type"] == "approval.vote_recorded"
    )
    for name in ("events.jsonl", "proofs.jsonl"):
        del mine[name][at]


@attack
def votes_exchanged(mine: Lines, other: Lines) -> None:
    votes = [one for one in mine["events.jsonl"] if one["event_type"] == "approval.vote_recorded"]
    for field in ("payload", "salt", "payload_size", "payload_commitment"):
        votes[0][field], votes[1][field] = votes[1][field], votes[0][field]


@attack
def actor_with_a_combining_mark(mine: Lines, other: Lines) -> None:
    for one in mine["events.jsonl"]:
        if one["actor"] == "bob":
            one["actor"] = "bo\u0301b"


@attack
def actor_in_another_script(mine: Lines, other: Lines) -> None:
    for one in mine["events.jsonl"]:
        if one["actor"] == "bob":
            one["actor"] = "b\u043eb"


@attack
def leaf_numbers_beyond_the_block(mine: Lines, other: Lines) -> None:
    for one in mine["proofs.jsonl"]:
        one["leaf_no"] = HUGE


@attack
def path_with_the_root_itself(mine: Lines, other: Lines) -> None:
    for one in mine["proofs.jsonl"]:
        one["path"] = [mine["chain.jsonl"][-1]["event_root"]]


@attack
def blocks_of_one_event(mine: Lines, other: Lines) -> None:
    for one in mine["chain.jsonl"][1:]:
        one["event_count"] = 1


@attack
def streams_that_end_at_once(mine: Lines, other: Lines) -> None:
    for one in mine["streams.jsonl"]:
        one["previous_block_no"] = 0


@attack
def streams_that_lead_forward(mine: Lines, other: Lines) -> None:
    for one in mine["streams.jsonl"]:
        one["previous_block_no"] = one["block_no"] + 1


@attack
def later_times(mine: Lines, other: Lines) -> None:
    for one in mine["events.jsonl"]:
        one["at"] = "9" + one["at"]


@attack
def nobody_carries_values(mine: Lines, other: Lines) -> None:
    for one in mine["events.jsonl"]:
        one["values"] = []


@attack
def first_event_carries_all_values(mine: Lines, other: Lines) -> None:
    every = [value for one in mine["events.jsonl"] for value in one["values"]]
    for one in mine["events.jsonl"]:
        one["values"] = []
    mine["events.jsonl"][0]["values"] = every


def made(sample: Sample, act: Callable[[Lines, Lines], None], *, is_forged: bool) -> bytes:
    entries = entries_of(sample.data)
    mine = lines_of(sample.data)
    act(mine, lines_of(sample.data_with_payloads))
    for name, lines in mine.items():
        entries[name] = v.write_lines(lines)
    if is_forged:
        try:
            forge(entries)
        except (KeyError, ValueError, IndexError):
            pytest.skip("an attacker cannot make blocks of this")
    entries["manifest.json"] = v.manifest(entries)
    return v.pack(entries)


@pytest.mark.parametrize("act", ATTACKS)
@pytest.mark.parametrize("is_forged", [False, True], ids=["changed", "with all hashes made again"])
def test_it_is_found(sample: Sample, both: Both, act: Callable[[Lines, Lines], None], is_forged: bool):
    """Without its head the bundle may fit itself, if everything is made again; with the head never."""
    data = made(sample, act, is_forged=is_forged)
    assert both.verify(data, head=sample.exported.head_hash) != []
    if not is_forged:
        assert both.verify(data) != []


@pytest.fixture(scope="module")
def lines(sample: Sample) -> list[dict[str, Any]]:
    chain, *blocks = v.read_lines(entries_of(sample.data_with_payloads)["chain.jsonl"])
    return [{**block, "chain_id": chain["chain_id"], "tenant_id": chain["tenant_id"]} for block in blocks]


def text_of(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


TRUSTED: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "an empty anchor": lambda lines: b"",
    "an anchor of blanks": lambda lines: b"\n \n\t\n",
    "an anchor that is no text": lambda lines: b"\xff\xfe\x00",
    "an older anchor": lambda lines: text_of(lines[:-1]),
    "an anchor of another chain": lambda lines: text_of([{**line, "chain_id": "x"} for line in lines]),
    "an anchor with upper-case hashes": lambda lines: text_of(
        [{**line, "block_hash": line["block_hash"].upper()} for line in lines]
    ),
    "an anchor with numbers as texts": lambda lines: text_of(
        [{**line, "block_no": str(line["block_no"])} for line in lines]
    ),
    "an anchor with fractions": lambda lines: text_of(
        [{**line, "block_no": float(line["block_no"])} for line in lines]
    ),
    "an anchor with another hash for the head": lambda lines: text_of(
        [*lines[:-1], {**lines[-1], "block_hash": "00" * 32}]
    ),
    "an anchor with two hashes for the head": lambda lines: text_of(
        [*lines, {**{name: lines[-1][name] for name in ("chain_id", "block_no")}, "block_hash": "00" * 32}]
    ),
    "an anchor with another header for the hash": lambda lines: text_of(
        [*lines[:-1], {**lines[-1], "event_count": 99}]
    ),
    "an anchor with a name twice": lambda lines: text_of(lines).replace(
        b'"block_hash": ', b'"block_hash": "", "block_hash": "00", "x": '
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUSTED)
def test_such_an_anchor_proves_nothing(sample: Sample, both: Both, lines: list[dict[str, Any]], name: str):
    data, anchor = sample.data_with_payloads, TRUSTED[name](lines)
    assert both.verify(data, anchored=v.read_anchor(text_of(lines))) == []
    assert both.verify(data, anchored=v.read_anchor(anchor)) != []


@pytest.mark.parametrize("head", ["", "00" * 32, "x", "HEAD", "prefix"])
def test_such_a_head_proves_nothing(sample: Sample, both: Both, head: str):
    mine = sample.exported.head_hash
    other = {"HEAD": mine.upper(), "prefix": mine[:-1]}.get(head, head)
    assert both.verify(sample.data, head=other) != []
