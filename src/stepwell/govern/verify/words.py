"""The words of a bundle: its files, the fields of its records, the codes of findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

FORMAT = "stepwell.evidence.2"
OLD_FORMATS = ("stepwell.evidence.1",)
SEAL_EVENT = "evidence.sealed"
FILES = (
    "approvals.json", "chain.jsonl", "costs.json", "decisions.json", "events.jsonl", "graph.json",
    "manifest.json", "proofs.jsonl", "receipts.json", "report.html", "run.json", "streams.jsonl",
    "values.json", "verify.mjs", "verify.py",
)  # fmt: skip
# The proofs. For all other files, the event that seals the bundle has a digest in the log.
PROOF_FILES = ("chain.jsonl", "events.jsonl", "manifest.json", "proofs.jsonl", "streams.jsonl")
# These files are derived from the sealed events; a verifier derives them again.
DERIVED_FILES = ("run.json", "approvals.json", "decisions.json", "receipts.json", "costs.json")
# The payloads of these events hold no values: a bundle always shows them.
SHOWN_PREFIXES = ("action.", "approval.", "evidence.", "receipt.")
PROBLEM_LIMIT = 20
NESTING_LIMIT = 32
DIGITS_LIMIT = 19
SHAPE_PATHS_LIMIT = 200
SHAPE_DEPTH_LIMIT = 6
SHAPE_NESTING_LIMIT = 500
# In an object with more names than this the names are probably data: they are not shown.
SHAPE_NAMES_LIMIT = 50

EVENT_FIELDS = (
    "tx", "event_id", "at", "stream_id", "unit_id", "request_id", "event_type", "from_state", "to_state",
    "actor_class", "actor", "audit_ref", "trace_id", "correlation_id", "payload_size", "payload_commitment",
)  # fmt: skip
BLOCK_FIELDS = (
    "block_no", "first_tx", "first_event_id", "last_tx", "last_event_id", "first_at", "last_at",
    "event_count", "event_root", "stream_count", "stream_root", "history_root", "previous_hash", "sealed_at",
)  # fmt: skip

VALUE_FIELDS = ("label", "unit_id", "at", "size", "commitment", "facts")

# The fields of each record and their types: i integer, t text, h hash, z time, b boolean, s text or integer;
# with ? it may be null, with * it is a list.
_BLOCK_TYPES = ("i", "i", "i", "i", "i", "z", "z", "i", "h", "i", "h", "h", "h", "z")
_EVENT_TYPES = ("i", "i", "z", "i", "i", "i?", "t", "t?", "t?", "t", "t?", "t?", "t?", "t?", "i?", "h?")
TYPES: dict[str, dict[str, str]] = {
    "genesis": {
        "chain_id": "t", "tenant_id": "i", "salt_sha256": "h", "created_at": "z", "genesis_hash": "h",
    },
    "block": {**dict(zip(BLOCK_FIELDS, _BLOCK_TYPES)), "block_hash": "h", "history_path": "h*"},  # noqa: B905
    "event": {
        **dict(zip(EVENT_FIELDS, _EVENT_TYPES)), "values": "h*", "payload": "t?", "salt": "h?",  # noqa: B905
    },
    "proof": {"tx": "i", "event_id": "i", "block_no": "i", "leaf_no": "i", "path": "h*"},
    "entry": {
        "stream_id": "i", "block_no": "i", "entry_no": "i", "previous_block_no": "i", "event_count": "i",
        "path": "h*",
    },
    "value": {
        "label": "t", "unit_id": "i", "at": "z", "facts": "s?*", "size": "i", "commitment": "h",
        "shape": "t*", "value": "t?", "salt": "h?",
    },
    "stream": {"stream_id": "i", "last_block_no": "i"},
}  # fmt: skip
TYPES["later"] = {**TYPES["block"], "chain_id": "t"}
TYPES["header"] = dict(zip(BLOCK_FIELDS, _BLOCK_TYPES))  # noqa: B905

# Code → kind and sentence.
CODES: dict[str, tuple[str, str]] = {
    "zip.broken": ("truncated", "it is cut off or not a bundle"),
    "zip.bytes": ("altered", "it has bytes or an order that no bundle has"),
    "format.old": ("unproven", "an earlier release made it and proved less; export the run again"),
    "format.unknown": ("unproven", "this verifier does not know the format"),
    "file.missing": ("missing", "every bundle has this file"),
    "file.unknown": ("inserted", "no bundle has this file"),
    "json.form": ("altered", "it is not written in the canonical form"),
    "json.fields": ("altered", "it has other fields or types than the format says"),
    "file.hash": ("altered", "it does not match its size and hash in the manifest"),
    "manifest.differs": ("altered", "it does not match the other files"),
    "chain.genesis": ("altered", "the beginning of the chain does not match its hash"),
    "chain.order": ("reordered", "the blocks are not in the order of their numbers"),
    "block.hash": ("altered", "the header does not match its hash"),
    "block.link": ("altered", "it is not chained to the block before it"),
    "block.history": ("unproven", "it is not in the history of the head"),
    "block.unused": ("inserted", "nothing in the bundle needs it"),
    "event.order": ("reordered", "it does not come after the event before it"),
    "event.no_proof": ("inserted", "it has no proof"),
    "proof.no_event": ("missing", "the bundle has only its proof"),
    "proof.order": ("reordered", "the proofs are not in the order of the events"),
    "event.block": ("unproven", "the header of its block is missing"),
    "event.leaf": ("altered", "it is not the event that its block sealed"),
    "stream.entry": ("missing", "the entry of the stream or the header of the block is missing"),
    "stream.lacks": ("missing", "events of the stream are missing"),
    "stream.more": ("inserted", "it has more events than the block sealed"),
    "stream.leaf": ("altered", "its events differ from the sealed events of the block"),
    "stream.order": ("reordered", "the entries are not in the order of streams and blocks"),
    "stream.unused": ("inserted", "nothing in the bundle needs it"),
    "stream.unknown": ("inserted", "the run does not name this stream"),
    "stream.foreign": ("inserted", "it is no approval and no receipt of the run"),
    "stream.named": ("missing", "an event of the run names it, and the bundle does not have it"),
    "stream.count": ("missing", "the event that seals the bundle counts other events of it"),
    "stream.uncounted": ("unproven", "an earlier release did not count their events; export again"),
    "event.payload": ("altered", "its payload does not match its hash"),
    "event.payload_missing": ("missing", "a bundle of this kind shows its payload"),
    "event.payload_extra": ("inserted", "a bundle of this kind does not show its payload"),
    "contents.unsealed": ("missing", "the head has no event with the digest of the files"),
    "contents.differs": ("altered", "they do not match the digest in the log"),
    "graph.hash": ("altered", "it is not the definition that the run started with"),
    "value.order": ("reordered", "the values are not in the order of their labels"),
    "value.unsealed": ("inserted", "no sealed event has this value"),
    "value.missing": ("missing", "a sealed event has a value that the bundle does not have"),
    "value.hash": ("altered", "the value does not match its size and hash"),
    "value.shape": ("altered", "the names and types are not those of the value"),
    "value.shown": ("altered", "the bundle must show all values with their salts, or none"),
    "document.differs": ("altered", "the sealed events say something else"),
    "head.other": ("unproven", "it is not the trusted block, nor shown to lie in its history"),
    "anchor.line": ("altered", "a line of the anchor does not match its own hash"),
    "anchor.signature": ("unproven", "no key of the list signed this line of the anchor"),
    "anchor.key": ("unproven", "the anchor does not end with blocks that the newest key signed"),
    "anchor.none": ("unproven", "the anchor has no block of this chain"),
    "anchor.other": ("altered", "the anchor has another hash for it"),
    "anchor.head": ("unproven", "it is not anchored, nor shown to lie in the history of an anchored block"),
    "later.proof": ("altered", "it does not show that its block comes after the head of the bundle"),
}  # fmt: skip

Record = Mapping[str, Any]


class Problem(NamedTuple):
    """`kind` is altered, missing, inserted, reordered, truncated or unproven; `place` names the record."""

    kind: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.detail}"


class Finding(NamedTuple):
    """What is wrong with a bundle: `code` names the check, `place` the record."""

    code: str
    place: str

    @property
    def kind(self) -> str:
        return CODES[self.code][0]

    @property
    def detail(self) -> str:
        return CODES[self.code][1]

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.detail} [{self.code}]"
