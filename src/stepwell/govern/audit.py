"""Check the log against its seal: receives a reader, returns a verdict that names the wrong records.

The same code that checks a bundle offline computes the hashes here, from the raw rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from stepwell.errors import NotFound
from stepwell.govern.audit_blocks import BlockWalk
from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import PROBLEM_LIMIT, believed_lines
from stepwell.store.calls import audit, audit_relations, audit_rights
from stepwell.store.calls.audit import AuditReader


@dataclass(frozen=True, slots=True)
class Anchored:
    """The lines of an anchor, and the keys that must have signed them, oldest first; None: all count."""

    lines: Sequence[dict[str, Any]]
    keys: Sequence[str] | None = None


def verify_tenants(
    conninfo: str,
    tenant: str | int | None,
    head: str | None,
    anchored: Anchored | None,
    token: str | None = None,
) -> tuple[dict[str, Verdict], list[str]]:
    """Check the chain of one tenant, by name or number, or of all (None) that the caller may read.

    Returns verdicts by name, and the tenants not read.
    """
    with audit.reading(conninfo, 0, token) as reader:
        known = reader.tenants()
        lost = audit_relations.lost_tenants(reader.connection) if tenant is None else []
    chosen = {name: number for name, number in known.items() if tenant is None or tenant in (name, number)}
    if not chosen:
        raise NotFound(
            f"tenant {tenant} does not exist", field="tenant", hint="'stepwell tenants list' shows them"
        )
    verdicts = {}
    for name, tenant_id in chosen.items():
        with audit.reading(conninfo, tenant_id, token) as reader:
            verdicts[name] = verify_log(reader, head, anchored)
    for tenant_id in lost:
        verdict = verdicts[f"number {tenant_id}"] = Verdict()
        verdict.say("missing", f"tenant {tenant_id}", "rows of it are there, but not its own row")
    return verdicts, [name for name in known if name not in chosen]


def verify_log(reader: AuditReader, head: str | None = None, anchored: Anchored | None = None) -> Verdict:
    """Check the whole chain of one tenant; stop at PROBLEM_LIMIT problems."""
    verdict = Verdict(is_owner=audit_rights.is_owner(reader.connection))
    odd = audit_relations.odd_relations(reader.connection)
    for name, why in odd:
        verdict.say("altered", f"the table {name}", f"{why}: what is read here is not what the engine reads")
    if odd:
        return verdict
    chain = reader.chain()
    hashes: dict[int, str] = {}
    if chain is not None and not chain.is_whole:
        verdict.say("altered", "the row of the chain", "a field is missing, or the row is there twice")
        return verdict
    if chain is None and reader.stream_blocks():
        verdict.say("missing", "the row of the chain", "the log was sealed")
        return verdict
    if chain is not None and chain.chain_id in reader.other_chains():
        verdict.say("altered", "the row of the chain", "another tenant has the same chain")
    if chain is not None:
        verdict.chain_id = chain.chain_id
        walk = BlockWalk(reader, chain, verdict)
        walk.walk()
        hashes = walk.hashes
        verdict.unsealed_count = reader.unsealed_count(chain)
    if hashes:
        verdict.head_hash = hashes[max(hashes)]
    verdict.views = list(reader.views or ())
    if head is not None:
        verdict.head_no = next((number for number, found in hashes.items() if found == head), None)
        if verdict.head_no is None:
            detail = f"no block has the hash {head}: the chain was cut off or made again"
            verdict.say("truncated", "the chain", detail)
    if anchored is not None:
        _check_anchor(verdict, reader.tenant_id, hashes, anchored, reader.other_chains())
    return verdict


def _check_anchor(
    verdict: Verdict, tenant_id: int, hashes: dict[int, str], anchored: Anchored, others: set[str]
) -> None:
    """`others` are the chains of other tenants: an anchor may have the blocks of all tenants."""
    mine = [line for line in anchored.lines if line["chain_id"] == verdict.chain_id]
    strange = [line for line in anchored.lines if line["chain_id"] not in {verdict.chain_id, *others}]
    if any(line.get("tenant_id", tenant_id) == tenant_id for line in strange):
        verdict.say(
            "truncated", "the chain",
            f"the anchor has chain {strange[0]['chain_id']} for this tenant: it was removed or started again",
        )  # fmt: skip
    believed, findings = believed_lines(mine, anchored.keys)
    for finding in findings[:PROBLEM_LIMIT]:
        verdict.say(finding.kind, finding.place, finding.detail)
    numbers = sorted({line["block_no"] for line in mine})
    verdict.anchored_count = len({line["block_no"] for line in believed})
    verdict.anchored_until = max((line["block_no"] for line in believed), default=0)
    for line in sorted(mine, key=lambda line: int(line["block_no"])):
        place = f"block {line['block_no']}"
        found = hashes.get(line["block_no"])
        if found is None:
            verdict.say(
                "truncated", place, f"it is anchored, but the chain ends with block {max(hashes, default=0)}"
            )
        elif found != line["block_hash"]:
            verdict.say("altered", place, "the anchor has another hash for it: the chain was made again")
    for before, after in pairwise(numbers):
        if after != before + 1:
            verdict.say("missing", f"block {before + 1}", "the anchor does not have it")
