"""Hash passwords with argon2id: receives parameters and salt of the database, returns the encoded hash.

The database compares hashes; this process never reads a stored one.
"""

from __future__ import annotations

import base64
import re
import secrets

from anyio import CapacityLimiter, to_thread

from stepwell.errors import InvalidInput

LENGTH_MIN = 10
LENGTH_MAX = 200
HASH_BYTES = 32
SALT_BYTES = 16
# One hash takes 64 MB and a core: so many at the same time, the others wait.
AT_ONCE = 2

_PREFIX = re.compile(
    r"\$argon2id\$v=19\$m=(?P<memory>\d{1,7}),t=(?P<passes>\d{1,2}),p=(?P<lanes>\d{1,2})(?:\$(?P<salt>.+))?"
)


class Hasher:
    """One for each process."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None

    async def hash(self, prefix: str, password: str) -> str:
        """The hash of a password. A prefix without a salt gets a new one."""
        found = _PREFIX.fullmatch(prefix)
        if found is None:
            raise InvalidInput("the setting sign_in.argon2id cannot be read", field="sign_in.argon2id")
        given = found["salt"]
        salt = base64.b64decode(given + "=" * (-len(given) % 4)) if given else secrets.token_bytes(SALT_BYTES)
        self._limiter = self._limiter or CapacityLimiter(AT_ONCE)
        return await to_thread.run_sync(
            _hashed, password, salt, int(found["memory"]), int(found["passes"]), int(found["lanes"]),
            limiter=self._limiter,
        )  # fmt: skip


def _hashed(password: str, salt: bytes, memory: int, passes: int, lanes: int) -> str:
    from argon2.low_level import Type, hash_secret

    return hash_secret(password.encode(), salt, passes, memory, lanes, HASH_BYTES, Type.ID).decode()
