"""Check signatures with Ed25519 (RFC 8032): receives a key, a signature and a message."""

from __future__ import annotations

import hashlib

from stepwell.govern.verify.hashes import canonical
from stepwell.govern.verify.words import Record

# Signatures: Ed25519 (RFC 8032). Points have the coordinates X, Y, Z and T.

Point = tuple[int, int, int, int]
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
ZERO: Point = (0, 1, 1, 0)
_tables: dict[bytes, list[list[Point]]] = {}


def point_add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % PRIME
    b = (one[1] + one[0]) * (other[1] + other[0]) % PRIME
    c = 2 * one[3] * other[3] * CURVE % PRIME
    d = 2 * one[2] * other[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def point_read(data: bytes) -> Point | None:
    """The point of 32 bytes; None if they are not the one way to write a point."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if len(data) != 32 or y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if x * x % PRIME != square or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else PRIME - x
    return (x, y, 1, x * y % PRIME)


def point_bytes(point: Point) -> bytes:
    over = pow(point[2], -1, PRIME)
    x, y = point[0] * over % PRIME, point[1] * over % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = (4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little")


def point_times(number: int, data: bytes) -> Point | None:
    """A multiple of a point. The multiples of the few points in use are computed once."""
    if data not in _tables:
        point = point_read(data)
        if point is None:
            return None
        rows = []
        for _ in range(64):
            row = [ZERO]
            for _ in range(15):
                row.append(point_add(row[-1], point))
            rows.append(row)
            point = point_add(row[-1], point)
        _tables[data] = rows
    found = ZERO
    for at, row in enumerate(_tables[data]):
        found = point_add(found, row[number >> 4 * at & 15])
    return found


def challenge(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def is_signed(public_key: str, signature: str, message: bytes) -> bool:
    key, sign = bytes.fromhex(public_key), bytes.fromhex(signature)
    number = int.from_bytes(sign[32:], "little")
    if len(sign) != 64 or number >= ORDER:
        return False
    mine = point_times(ORDER - challenge(sign[:32], key, message), key)
    base = point_times(number, BASE)
    return mine is not None and base is not None and point_bytes(point_add(base, mine)) == sign[:32]


def anchor_message(line: Record) -> bytes:
    """What the signature of a line of an anchor covers. The hash of the block covers its whole header."""
    names = ("chain_id", "tenant_id", "block_no", "block_hash")
    return b"\x08" + canonical("stepwell.anchor.1", *(line[name] for name in names))
