"""Receives the reports of the tests of a run, prints the ten slowest files."""

from __future__ import annotations

from collections import Counter

import pytest

SHOWN = 10
# A run of a few tests needs no table.
MANY_TESTS = 200


class SlowestFiles:
    """Sums setup, call and teardown for each file, for all xdist workers."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path = report.nodeid.partition("::")[0]
        self._seconds[path] += report.duration  # type: ignore[assignment]
        self._tests[path] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._tests.total() < MANY_TESTS:
            return
        terminalreporter.section("slowest test files")
        for path, seconds in self._seconds.most_common(SHOWN):
            terminalreporter.line(f"{seconds:8.1f} s  {self._tests[path]:5d} tests  {path}")
