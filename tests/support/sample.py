"""How many random examples a test draws: receives the size for `make test`, returns settings of Hypothesis.

`make test` draws the same small sample each time, so its result depends on nothing but the code. `make chaos`
sets STEPWELL_EXAMPLES: that many examples, other ones each time, and a failing one is made smaller.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings

WANTED = int(os.environ.get("STEPWELL_EXAMPLES", "0"))


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
