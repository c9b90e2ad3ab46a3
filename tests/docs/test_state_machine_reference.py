"""The reference of the state machines equals the registry of a new database."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.machines.reference import page
from stepwell.store.calls import registry
from tests.tidy.sources import read


@pytest.mark.requirement("SM-01")
def test_the_page_of_state_machines_is_up_to_date(dsn: str):
    assert read(Path("docs/state-machines.md")) == page(registry.read(dsn)), (
        "run `stepwell machine reference --fresh > docs/state-machines.md`"
    )
