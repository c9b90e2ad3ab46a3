"""No change of a bundle is silent, and both verifiers say the same about each.

The cases come from the bundle itself. `make test` takes a seeded sample, `make chaos` all of them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwell.govern import verify as verifier
from stepwell.govern.verify import reading, story, words
from tests.govern.both_verifiers import SCRIPT, Both, both_verifiers
from tests.govern.bundle_tamper import Case, Entries, cases
from tests.govern.conftest import Sample

SAMPLE = 400
PACKED = 20
# The whole product is cut into so many slices, each a test of its own: they can run beside each other.
SLICES = 8
SEED = int(os.environ.get("STEPWELL_TAMPER_SEED", "18"))
IS_WHOLE = os.environ.get("STEPWELL_TAMPER") == "all"


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that did not change is read once, as the JavaScript verifier does."""
    monkeypatch.setattr(reading, "parse_file", functools.lru_cache(maxsize=64)(reading.parse_file))


def chosen(data: bytes, slice_no: int) -> list[Case]:
    """The cases of one slice, in an order that the seed chooses; in a sample, some of all."""
    every = list(cases(data))
    random.Random(SEED).shuffle(every)
    return every[slice_no::SLICES] if IS_WHOLE else every[:SAMPLE]


def distinct(picked: list[Case], data: bytes) -> Iterator[tuple[str, Entries]]:
    """The files of each case; not of a case that changes nothing, or the same as another one."""
    entries = verifier.unpack(data)
    assert entries is not None
    seen = {_mark(entries)}
    for case in picked:
        files = {
            name: entries[name] if found == entries.get(name) else found
            for name, found in case.files().items()
        }
        if _mark(files) not in seen:
            seen.add(_mark(files))
            yield case.name, files


def _mark(files: Entries) -> bytes:
    return hashlib.sha256(repr(sorted((name, hash(data)) for name, data in files.items())).encode()).digest()


@pytest.mark.requirement("RT-10")
@pytest.mark.parametrize("slice_no", range(SLICES if IS_WHOLE else 1))
@pytest.mark.parametrize("kind", ["metadata", "values"])
@pytest.mark.usefixtures("read_once")
def test_no_change_is_silent(
    sample: Sample, both: Both, kind: str, slice_no: int, record_property: Any, tell: Callable[[str], None]
):
    """With the head that the owner trusts, every change of any field has a finding of both verifiers."""
    data, head = (
        (sample.data, sample.exported.head_hash)
        if kind == "metadata"
        else (sample.data_with_payloads, sample.exported_with_payloads.head_hash)
    )
    assert both.verify(data, head=head) == []
    picked = chosen(data, slice_no)
    silent, count = [], 0
    for name, found in both.verify_changes(data, distinct(picked, data), head=head):
        count += 1
        if not found:
            silent.append(name)
            tell(f"silent: {name}")
    record_property("cases", len(picked))
    record_property("distinct", count)
    assert silent == []
    assert count > len(picked) // 2


@pytest.mark.parametrize("kind", ["metadata", "values"])
def test_a_packed_case_has_the_findings_of_its_files(sample: Sample, both: Both, kind: str):
    """The cases above are not packed into archives; for some of them, that makes no difference."""
    data = sample.data if kind == "metadata" else sample.data_with_payloads
    for case in random.Random(SEED).sample(list(cases(data)), PACKED):
        files = case.files()
        assert both.verify(verifier.pack(files)) == verifier.verify_files(files)


def test_every_byte_counts(sample: Sample, both: Both):
    """One changed byte, anywhere in the file, and every length of a cut."""
    draw = random.Random(SEED)
    for _ in range(60):
        forged = bytearray(sample.data)
        forged[draw.randrange(len(forged))] ^= draw.randrange(1, 256)
        assert both.verify(bytes(forged)) != []
        assert both.verify(sample.data[: draw.randrange(len(sample.data))]) != []


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip", verifier.pack({}), verifier.pack({"manifest.json": b"{}\n"})]
)
def test_what_is_no_bundle_is_refused(both: Both, data: bytes):
    assert both.verify(data) != []


def test_an_older_format_is_named(sample: Sample, both: Both):
    entries = verifier.unpack(sample.data)
    assert entries is not None
    for told, code in (("stepwell.evidence.1", "format.old"), ("stepwell.evidence.9", "format.unknown")):
        entries["manifest.json"] = verifier.write_json({"format": told, "run_id": 1})
        (found,) = both.verify(verifier.pack(entries))
        assert (found.code, found.kind) == (code, "unproven")


NAMES_OF_TYPES = {
    "i": "integer", "t": "text", "h": "hash", "z": "time", "b": "boolean", "h*": "path",
    "t*": "list of text", "s?*": "list of text, integer or null",
}  # fmt: skip


def test_the_fields_are_those_of_the_document():
    """Somebody who has only the document finds every field that is read, with its type, in this order."""
    text = Path("docs/evidence-format.md").read_text(encoding="utf-8")
    listed = dict(
        line.strip("| ").split(" | ", 1)
        for line in text.splitlines()
        if line.startswith("| ") and " | " in line
    )
    read = {
        "beginning": words.TYPES["genesis"], "header": words.TYPES["block"], "event": words.TYPES["event"],
        "proof": words.TYPES["proof"], "entry of a stream": words.TYPES["entry"],
        "value": words.TYPES["value"], "stream of `run.json`": words.TYPES["stream"],
        "of `approval.requested`": story.APPROVAL, "of `action.judged`": story.VERDICT,
        "of a receipt that becomes `intended`": story.INTENT, "and, if it has a `connector`": story.ACTION,
        "of another outcome of a receipt, if it has `reversible`": story.OUTCOME,
    }  # fmt: skip
    for name, kinds in read.items():
        told = [
            f"`{field}` {NAMES_OF_TYPES.get(kind) or NAMES_OF_TYPES[kind.rstrip('?')] + '?'}"
            for field, kind in kinds.items()
        ]
        assert listed[name] == ", ".join(told), name


def test_the_codes_are_those_of_the_document():
    """The document lists every code with its kind; the JavaScript file has the same table."""
    text = Path("docs/evidence-format.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    kinds = {kind for kind, _ in verifier.CODES.values()}
    listed = {row[0].strip("`"): row[1] for row in rows if len(row) == 3 and row[1] in kinds}
    assert listed == {code: kind for code, (kind, _) in verifier.CODES.items()}
    script = SCRIPT.read_text(encoding="utf-8")
    for code, (kind, sentence) in verifier.CODES.items():
        assert f"'{code}': ['{kind}', '{sentence}']" in script
