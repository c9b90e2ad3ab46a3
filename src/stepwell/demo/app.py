"""The app of the demo: all its workflows, and the desk as the other system. `stepwell up --demo` runs it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import stepwell as sw
from stepwell.demo import orders, plant, refunds, triage
from stepwell.demo.begin import FOLDER_SETTING
from stepwell.demo.desk import DeskConnector
from stepwell.demo.people import SERVICE


def make(folder: Path) -> sw.App:
    """An app whose desk keeps its files in this folder."""
    made = sw.App(name="demo", actor=SERVICE)
    made.connector(DeskConnector(folder))
    for part in (triage, orders, refunds, plant):
        part.register(made)
    return made


app = make(Path(os.environ.get(FOLDER_SETTING) or Path(tempfile.gettempdir()) / "stepwell-demo-desk"))
