"""Sign headers for an anchor: receives the file of a private key, returns signatures.

Ed25519 (RFC 8032) with the arithmetic of the verifier. Big integers of Python do not take constant time: keep
the key on the machine of the keeper, where nobody else can measure.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell import storage
from stepwell.errors import Conflict, InvalidInput
from stepwell.govern.verify import BASE, ORDER, anchor_message, challenge, point_bytes, point_times, read_keys

HEADING = "stepwell seal key 1"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key: its secret number and prefix, which are never printed, and its public key."""

    number: int
    prefix: bytes
    public_key: str

    def sign(self, message: bytes) -> str:
        once = challenge(self.prefix, message)
        point = _times_base(once)
        answer = (once + challenge(point, bytes.fromhex(self.public_key), message) * self.number) % ORDER
        return (point + answer.to_bytes(32, "little")).hex()

    def signed(self, header: dict[str, Any]) -> dict[str, Any]:
        """The header with public key and signature."""
        return {**header, "public_key": self.public_key, "signature": self.sign(anchor_message(header))}

    def __repr__(self) -> str:
        return f"Signer({self.public_key})"


def signer_of(seed: bytes) -> Signer:
    """The key of 32 secret bytes."""
    made = hashlib.sha512(seed).digest()
    number = int.from_bytes(made[:32], "little") & (1 << 254) - 8 | 1 << 254
    return Signer(number, made[32:], _times_base(number).hex())


def _times_base(number: int) -> bytes:
    found = point_times(number, BASE)
    assert found is not None, "the base is a point"
    return point_bytes(found)


def read_signer(path: str) -> Signer:
    """The private key in a file that only its owner can read."""
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"audit key: {path} cannot be read: {error}",
            hint="'stepwell audit key' makes one",
            field="audit_key",
        ) from error
    if mode & 0o077:
        raise InvalidInput(
            f"audit key: {path} can be read by others", hint=f"chmod 600 {path}", field="audit_key"
        )
    if len(lines) < 2 or lines[0] != HEADING or len(lines[1]) != 64:
        raise InvalidInput(
            f"audit key: {path} is no key of stepwell",
            hint="'stepwell audit key' makes one",
            field="audit_key",
        )
    try:
        return signer_of(bytes.fromhex(lines[1]))
    except ValueError as error:
        raise InvalidInput(f"audit key: {path} is damaged", field="audit_key") from error


def keys_of(path: str) -> list[str]:
    """The public keys in a file, oldest first."""
    try:
        return read_keys(storage.read(path))
    except ValueError as error:
        raise InvalidInput(f"{path}: {error}", field="keys") from error


def make_key(path: str, keys_path: str) -> Signer:
    """Make a private key in a new file, and append its public key to the list that verifiers get."""
    listed = Path(keys_path)
    if listed.exists():
        keys_of(keys_path)
    seed = secrets.token_bytes(32)
    signer = signer_of(seed)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{HEADING}\n{seed.hex()}\n")
    except FileExistsError as error:
        raise Conflict(f"{path} exists; a key is never overwritten", hint="give another path") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error}", field="path") from error
    with listed.open("a", encoding="utf-8") as file:
        file.write(f"{signer.public_key}\n")
    return signer
