"""Test workflows on a real Postgres, in the process of the test, with a clock that only the test moves."""

from stepwell.store.calls.rehearsal import broken_invariants as check_invariants
from stepwell.testing.harness import Ended, Harness, Signal
from stepwell.testing.stuck import Stuck

__all__ = ["Ended", "Harness", "Signal", "Stuck", "check_invariants"]
