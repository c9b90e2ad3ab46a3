"""A forged bundle fits itself; only a block that somebody else has shows the forgery."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.client import Client
from stepwell.govern import verify as verifier
from stepwell.govern.anchor import open_anchor, tell
from stepwell.govern.evidence import later
from stepwell.store.calls.keep import keeper_connection
from tests.govern.both_verifiers import NODE, Both, both_verifiers
from tests.govern.bundle_tamper import Entries, forge
from tests.govern.conftest import Sample
from tests.govern.sealing import append, seal
from tests.sql.drive import Engine


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


@pytest.fixture(scope="module")
def anchored(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the anchor has: every block of the genuine chain."""
    address = str(tmp_path_factory.mktemp("anchor") / "seals.jsonl")
    with keeper_connection(sample.dsn) as connection:
        tell(connection, address)
    return open_anchor(address).read()


def entries_of(data: bytes) -> Entries:
    found = verifier.unpack(data)
    assert found is not None
    return found


def with_other_votes(sample: Sample) -> Entries:
    """The approvers are now the-ceo and the-cfo: in the events, in the documents, in all hashes."""
    entries = entries_of(sample.data)
    events = verifier.read_lines(entries["events.jsonl"])
    names = {"bob": "the-ceo", "cleo": "the-cfo"}
    for event in events:
        for name, other in names.items():
            for field in ("actor", "audit_ref"):
                event[field] = event[field] and event[field].replace(name, other)
            if event["payload"] is not None and f'"{name}"' in event["payload"]:
                event["payload"] = event["payload"].replace(f'"{name}"', f'"{other}"')
                event["payload_size"] = len(event["payload"].encode())
                event["payload_commitment"] = verifier.commitment(
                    bytes.fromhex(event["salt"]), event["payload"]
                )
    entries["events.jsonl"] = verifier.write_lines(events)
    run = json.loads(entries["run.json"])
    values = json.loads(entries["values.json"])
    story = verifier.Story(run["run_id"], events)
    claims = {name: run[name] for name in ("run_id", "streams", "with_payloads")}
    facts, graph = verifier.run_facts(run["run_id"], values), json.loads(entries["graph.json"])
    for name, document in story.documents(claims, run["tenant_id"], facts, graph).items():
        entries[name] = verifier.write_json(document)
    assert b"the-ceo" in entries["approvals.json"]
    return entries


def forged(sample: Sample, **chain: str) -> bytes:
    entries = with_other_votes(sample)
    forge(entries, **chain)
    entries["manifest.json"] = verifier.manifest(entries)
    return verifier.pack(entries)


def test_a_genuine_bundle_is_proven_by_its_head_and_its_anchor(sample: Sample, both: Both, anchored: Any):
    assert both.verify(sample.data, head=sample.exported.head_hash, anchored=anchored) == []


def test_a_forged_bundle_fits_itself(sample: Sample, both: Both):
    """This is why an intact bundle without an anchor says that its head was compared with nothing."""
    assert both.verify(forged(sample)) == []


def test_a_chain_of_its_own_is_not_anchored(sample: Sample, both: Both, anchored: Any):
    data = forged(sample, chain_id="00000000-0000-4000-8000-000000000000")
    assert both.verify(data) == []
    found = both.verify(data, head=sample.exported.head_hash, anchored=anchored)
    assert [(one.code, one.kind) for one in found] == [
        ("head.other", "unproven"),
        ("anchor.none", "unproven"),
    ]


def test_a_forged_block_in_the_genuine_chain_has_another_hash(sample: Sample, both: Both, anchored: Any):
    codes = [one.code for one in both.verify(forged(sample), anchored=anchored)]
    assert "anchor.other" in codes
    assert "anchor.head" in codes


def test_a_forged_later_block_after_genuine_headers_is_unproven(sample: Sample, both: Both, anchored: Any):
    """The head is a block that the attacker appended; every header before it is genuine."""
    head_no = sample.exported.head_block_no
    before = [block for block in anchored if block["block_no"] < head_no]
    (found,) = both.verify(sample.data, anchored=before)
    assert (found.code, found.place) == ("anchor.head", f"block {head_no}")
    earlier = next(block["block_hash"] for block in before)
    (found,) = both.verify(sample.data, head=earlier)
    assert found.code == "head.other"


@pytest.mark.parametrize("other", [[], [{"chain_id": "x", "block_no": 1, "block_hash": "00" * 32}]])
def test_an_empty_or_foreign_anchor_proves_nothing(sample: Sample, both: Both, other: Any):
    (found,) = both.verify(sample.data, anchored=other)
    assert found.code == "anchor.none"


def test_the_next_anchored_block_proves_the_head(sample: Sample, both: Both, anchored: Any):
    head_no = sample.exported.head_block_no
    after = [block for block in anchored if block["block_no"] == head_no + 1]
    assert after
    assert both.verify(sample.data, anchored=after) == []


def test_a_later_trusted_block_needs_a_proof(sample: Sample, both: Both, anchored: Any):
    with psycopg.connect(sample.dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        for _ in range(3):
            append(db, Engine(db).start("order.process", {}) << 20)
            seal(db)

    async def ask() -> dict[str, Any]:
        client = await Client.connect(sample.dsn)
        try:
            return await later(client, sample.exported.head_block_no, sample.exported.head_hash)
        finally:
            await client.close()

    proof = asyncio.run(ask())
    trusted = proof["block_hash"]
    assert [one.code for one in both.verify(sample.data, head=trusted)] == ["head.other"]
    assert both.verify(sample.data, head=trusted, later=proof) == []
    only = [{name: proof[name] for name in ("chain_id", "block_no", "block_hash")}]
    assert [one.code for one in both.verify(sample.data, anchored=only)] == ["anchor.head"]
    assert both.verify(sample.data, anchored=only, later=proof) == []
    for name in proof:
        wrong = {**proof, name: [] if name == "history_path" else "00" * 32}
        assert "later.proof" in [one.code for one in both.verify(sample.data, head=trusted, later=wrong)]


@pytest.mark.parametrize("command", [(sys.executable, "-I"), (NODE,)])
def test_the_commands_exit_with_one(sample: Sample, tmp_path: Path, anchored: Any, command: tuple[str, ...]):
    """The verifiers of the bundle itself."""
    bundle, anchor = tmp_path / "b.zip", tmp_path / "anchor.jsonl"
    bundle.write_bytes(sample.data)
    name = "verify.mjs" if command == (NODE,) else "verify.py"
    program = tmp_path / name
    program.write_bytes(entries_of(sample.data)[name])

    def run(*more: str) -> tuple[int, str]:
        done = subprocess.run([*command, program, bundle, *more], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    anchor.write_text("")
    code, said = run("--anchor", str(anchor))
    assert (code, "[anchor.none]" in said) == (1, True)
    anchor.write_bytes(verifier.write_lines(anchored) + b'{"chain_id": "cut o')
    code, said = run("--anchor", str(anchor), "--head", sample.exported.head_hash)
    assert code == 0, said
    assert "verified: run" in said
    code, said = run()
    assert (code, "compared with nothing" in said) == (0, True)
    assert run("--anchor", "none.jsonl")[0] == 2
