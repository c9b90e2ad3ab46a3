"""The retry rule of a step: receives durations and counts, checks them; frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from stepwell.define.duration import Duration, parse_duration
from stepwell.define.limits import (
    DEFAULT_ATTEMPTS,
    MAX_ATTEMPTS,
    MAX_DELAYS,
    MAX_MULTIPLIER,
    MAX_NON_RETRYABLE,
)
from stepwell.define.names import require_id, require_int, require_number
from stepwell.define.problem import DefinitionError

__all__ = ["Retry"]


@dataclass(frozen=True)
class Retry:
    """How a failed step is tried again: the pauses grow from `initial` by `multiplier` up to `max`.

    `delays` lists the pauses instead, such as `[5, 30, 120, 600]`; the last one repeats.
    """

    max_attempts: int = DEFAULT_ATTEMPTS
    _: KW_ONLY
    initial: Duration = 1
    max: Duration = 300
    multiplier: float = 2
    delays: Sequence[Duration] = ()
    non_retryable: tuple[str | type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        require_int(self.max_attempts, "retry.max_attempts", 1, MAX_ATTEMPTS)
        initial = parse_duration(self.initial, "retry.initial", zero=True)
        longest = parse_duration(self.max, "retry.max", zero=True)
        if longest < initial:
            raise DefinitionError.one("is shorter than retry.initial", field="retry.max")
        factor = require_number(self.multiplier, "retry.multiplier", 1, MAX_MULTIPLIER)
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "max", longest)
        object.__setattr__(self, "multiplier", factor)
        object.__setattr__(self, "delays", self._checked_delays())
        object.__setattr__(self, "non_retryable", _exception_names(self.non_retryable))

    def _checked_delays(self) -> tuple[float, ...]:
        if not isinstance(self.delays, list | tuple) or len(self.delays) > MAX_DELAYS:
            message = f"is not accepted; accepted: a list of at most {MAX_DELAYS} durations"
            raise DefinitionError.one(message, field="retry.delays")
        if self.delays and (self.initial, self.max, self.multiplier) != (1, 300, 2):
            message = "is not accepted together with initial, max or multiplier; give one of the two"
            raise DefinitionError.one(message, field="retry.delays")
        return tuple(parse_duration(delay, "retry.delays", zero=True) for delay in self.delays)


def _exception_names(given: object) -> tuple[str, ...]:
    if isinstance(given, str | type):
        given = (given,)
    if not isinstance(given, tuple | list | set | frozenset) or len(given) > MAX_NON_RETRYABLE:
        raise DefinitionError.one(
            f"is not accepted; accepted: at most {MAX_NON_RETRYABLE} exception classes or their names",
            field="retry.non_retryable",
        )
    names = [item.__name__ if isinstance(item, type) else item for item in given]
    return tuple(sorted({require_id(name, "retry.non_retryable") for name in names}))
