"""The reference of the machines says what a fresh database declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.machines.reference import page
from stepwell.store.calls import registry
from tests.tidy.sources import read


@pytest.mark.requirement("SM-01")
def test_the_committed_page_is_what_the_registry_says(dsn: str):
    assert read(Path("docs/state-machines.md")) == page(registry.read(dsn)), (
        "run `stepwell machine reference --fresh > docs/state-machines.md`"
    )
