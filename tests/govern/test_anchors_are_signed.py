"""The lines of an anchor have the whole header and a signature; a replaced key ends where the next begins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.errors import Conflict, InvalidInput
from stepwell.govern import verify as verifier
from stepwell.govern.anchor import open_anchor, tell
from stepwell.govern.signing import keys_of, make_key, read_signer, signer_of
from stepwell.store.calls.keep import keeper_connection
from tests.govern.both_verifiers import Both, both_verifiers
from tests.govern.conftest import Sample
from tests.govern.sealing import append, check, seal, without_rows

# RFC 8032, section 7.1: secret, public, message, signature.
KNOWN = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


@pytest.mark.parametrize(("secret", "public", "message", "signature"), KNOWN)
def test_signatures_are_those_of_the_standard(secret: str, public: str, message: str, signature: str):
    signer = signer_of(bytes.fromhex(secret))
    assert signer.public_key == public
    assert signer.sign(bytes.fromhex(message)) == signature
    assert verifier.is_signed(public, signature, bytes.fromhex(message))
    assert not verifier.is_signed(public, signature, bytes.fromhex(message) + b"x")
    # The same signature with the order of the group added to its number is not accepted.
    more = int.from_bytes(bytes.fromhex(signature)[32:], "little") + verifier.ORDER
    assert not verifier.is_signed(
        public, signature[:64] + more.to_bytes(32, "little").hex(), bytes.fromhex(message)
    )
    assert secret not in repr(signer)


def test_a_key_is_made_once_and_read_only_by_its_owner(tmp_path: Path):
    keys = str(tmp_path / "seals.keys")
    first = make_key(str(tmp_path / "1.key"), keys)
    second = make_key(str(tmp_path / "2.key"), keys)
    assert keys_of(keys) == [first.public_key, second.public_key]
    assert read_signer(str(tmp_path / "2.key")) == second
    assert (tmp_path / "1.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Conflict, match="never overwritten"):
        make_key(str(tmp_path / "1.key"), keys)
    (tmp_path / "1.key").chmod(0o644)
    with pytest.raises(InvalidInput, match="can be read by others"):
        read_signer(str(tmp_path / "1.key"))
    (tmp_path / "3.key").write_text("no key")
    (tmp_path / "3.key").chmod(0o600)
    with pytest.raises(InvalidInput, match="is no key"):
        read_signer(str(tmp_path / "3.key"))


class Signed:
    """A database with blocks, and what its keeper wrote to an anchor, with one key, then with another."""

    def __init__(self, dsn: str, db: psycopg.Connection, folder: Path) -> None:
        self.dsn, self.db, self.folder = dsn, db, folder
        self.keys: list[str] = []
        self.address = str(folder / "seals.jsonl")
        self.key_file: str | None = None
        without_rows(db)

    def use_new_key(self) -> None:
        self.key_file = str(self.folder / f"{len(self.keys)}.key")
        self.keys.append(make_key(self.key_file, str(self.folder / "seals.keys")).public_key)

    def seal(self) -> int:
        append(self.db, 5 << 20)
        seal(self.db)
        return self.write()

    def write(self) -> int:
        with keeper_connection(self.dsn) as connection:
            return tell(connection, self.address, self.key_file)

    def lines(self) -> list[dict[str, Any]]:
        return open_anchor(self.address).read()

    def problems(self, lines: list[dict[str, Any]], keys: list[str] | None = None) -> list[str]:
        found = check(self.db, anchored=lines, keys=self.keys if keys is None else keys).problems
        return [f"{one.kind} {one.place}" for one in found]


@pytest.fixture
def signed(dsn: str, db: psycopg.Connection, tmp_path: Path) -> Signed:
    """Block 1 without a signature; 1, 2 and 3 by the first key; 3 again, 4 and 5 by the second."""
    made = Signed(dsn, db, tmp_path)
    assert made.seal() == 1
    made.use_new_key()
    assert (made.write(), made.write()) == (1, 0)
    assert (made.seal(), made.seal()) == (1, 1)
    made.use_new_key()
    assert (made.write(), made.write()) == (1, 0)
    assert (made.seal(), made.seal()) == (1, 1)
    return made


def test_a_replaced_key_ends_where_the_next_one_begins(signed: Signed):
    lines = signed.lines()
    first, second = signed.keys
    assert [(line["block_no"], line.get("public_key")) for line in lines] == [
        (1, None), (1, first), (2, first), (3, first), (3, second), (4, second), (5, second),
    ]  # fmt: skip
    assert all(verifier.block_hash(line["chain_id"], line) == line["block_hash"] for line in lines)
    assert signed.problems(lines) == []
    verdict = check(signed.db, anchored=lines, keys=signed.keys)
    assert (verdict.anchored_count, verdict.anchored_until) == (5, 5)
    # The first key leaked: its owner signs a block after it was replaced, or cuts the second key off.
    old = read_signer(str(signed.folder / "0.key"))
    plain = {name: value for name, value in lines[-1].items() if name not in ("public_key", "signature")}
    assert signed.problems([*lines[:-1], old.signed(plain)]) == ["unproven block 5 in the anchor"]
    assert signed.problems(lines[:4]) == ["unproven the anchor"]
    # Verifiers who no longer trust it take it off their list: then its lines do not count.
    assert signed.problems(lines, [second]) == [f"unproven block {no} in the anchor" for no in (1, 2, 3)]


def test_every_field_of_a_line_is_covered(signed: Signed):
    """Any change of a signed line, and any line that is removed between others, is found."""
    lines = signed.lines()
    for at, name in ((no, field) for no in (1, 4, 6) for field in lines[no]):
        value = lines[at][name]
        if name == "chain_id":
            other: Any = "00000000-0000-4000-8000-000000000000"
        else:
            first = "1" if str(value)[0] == "0" else "0"
            other = value + 1 if isinstance(value, int) else first + value[1:]
        for changed in ({**lines[at], name: other}, {n: v for n, v in lines[at].items() if n != name}):
            if {"chain_id", "block_no", "block_hash"} <= changed.keys():
                told = [*lines[:at], changed, *lines[at + 1 :]]
                assert signed.problems(told) != [], (at, name, changed)
    assert signed.problems([*lines[:2], *lines[3:]]) == ["missing block 2"]
    assert signed.problems([lines[0], *lines]) == []
    assert signed.problems(lines[::-1]) == []


def test_lines_without_a_signature_do_not_count(signed: Signed):
    lines = signed.lines()
    bare = [{n: v for n, v in line.items() if n not in ("public_key", "signature")} for line in lines]
    assert "unproven the anchor" in signed.problems(bare)
    assert check(signed.db, anchored=bare).problems == []
    assert signed.problems([*lines, {**bare[-1], "public_key": []}]) == ["unproven block 5 in the anchor"]


def test_a_key_that_cannot_be_read_is_an_error_of_the_anchor(signed: Signed):
    append(signed.db, 5 << 20)
    seal(signed.db)
    signed.key_file = "none.key"
    with pytest.raises(InvalidInput, match="cannot be read"):
        signed.write()
    row = signed.db.execute("select last_error, last_block_no, public_key from audit_anchor").fetchone()
    assert row is not None
    assert ("none.key" in row[0], row[1], row[2]) == (True, 5, signed.keys[1])


def test_a_chain_that_no_tenant_has_is_found(signed: Signed):
    """Somebody removed a whole tenant, or started its chain again; the anchor still has its blocks."""
    gone = [{**line, "chain_id": "00000000-0000-4000-8000-000000000000"} for line in signed.lines()]
    assert "truncated the chain" in signed.problems([*signed.lines(), *gone])


def test_both_verifiers_check_the_signatures(sample: Sample, both: Both, tmp_path: Path):
    """With keys, only a line that the newest key signed vouches for the head of a bundle."""
    address, keys_file = str(tmp_path / "seals.jsonl"), str(tmp_path / "seals.keys")
    for name in ("old.key", "new.key"):
        make_key(str(tmp_path / name), keys_file)
        with keeper_connection(sample.dsn) as connection:
            tell(connection, address, str(tmp_path / name))
    old, new = keys_of(keys_file)
    lines = open_anchor(address).read()
    head_no = sample.exported_with_payloads.head_block_no

    def codes(lines: list[dict[str, Any]], keys: list[str] | None) -> list[str]:
        return [one.code for one in both.verify(sample.data_with_payloads, anchored=lines, keys=keys)]

    assert codes(lines, [old, new]) == []
    assert codes(lines, None) == []
    assert "anchor.signature" in codes(lines, [new])
    assert codes([line for line in lines if line["public_key"] == new], [new]) == []
    assert codes([line for line in lines if line["public_key"] == old], [old, new]) == ["anchor.key"]
    assert codes(lines, ["11" * 32]) == [*["anchor.signature"] * (head_no + 1), "anchor.key", "anchor.head"]
    for name, value in (
        ("signature", "00" * 64), ("signature", None), ("signature", "x"), ("public_key", old),
        ("public_key", 7), ("public_key", []), ("tenant_id", 2), ("event_root", None),
        ("sealed_at", "2001-01-01T00:00:00.000000Z"),
    ):  # fmt: skip
        wrong = [{**line, name: value} if line["public_key"] == new else line for line in lines]
        assert codes(wrong, [old, new]) != [], name
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    for junk in (b'{"chain_id": "', b"[1]", b'{"x": 1e400}', b'{"x": 1, "x": NaN}', b'"\\ud800"', b"[" * 99):
        assert verifier.read_anchor(data + b"\n" + junk + b"\n") == lines
