"""Chance that is the same every time: receives what it is about, returns a number or a choice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def chance(*about: object) -> float:
    """A number from 0 to 1, always the same for the same words."""
    digest = hashlib.sha256("/".join(map(str, about)).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def between(low: float, high: float, *about: object) -> float:
    return low + (high - low) * chance(*about)


def choice(among: Sequence[T], *about: object) -> T:
    return among[int(chance(*about) * len(among))]
