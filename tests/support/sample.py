"""How much a long test does: receives the size for `make test`, returns it, or settings of Hypothesis.

`make test` draws the same small sample each time, so its result depends on nothing but the code. `make chaos`
sets STEPWELL_EXAMPLES: that many examples, other ones each time, and a failing one is made smaller.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings

WANTED = int(os.environ.get("STEPWELL_EXAMPLES", "0"))


def by_default() -> None:
    """The same rule for tests that do not name a size: the same examples each time, and no limit of time."""
    settings.register_profile("stepwell", deadline=None, derandomize=not WANTED)
    settings.load_profile("stepwell")


def some(count: int, whole: int) -> int:
    """The size of a long test: `count` for `make test`, the `whole` for `make chaos`."""
    return whole if WANTED else count


def sample(count: int, **more: Any) -> settings:
    """To make an example smaller takes minutes: useful only when somebody looks for a fault."""
    return settings(
        max_examples=WANTED or count,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=list(Phase) if WANTED else [Phase.explicit, Phase.generate],
        derandomize=not WANTED,
        print_blob=True,
        **more,
    )
