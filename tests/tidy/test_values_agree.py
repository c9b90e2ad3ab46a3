"""A list of values that both Python and SQL hold is the same in both."""

from __future__ import annotations

import importlib
import pkgutil
import re
from enum import StrEnum
from pathlib import Path

import pytest

import stepwell
from stepwell import errors
from tests.tidy import sql_source
from tests.tidy.sources import files, read

# "module:name" in Python → the constraint that lists the same values in SQL.
AGREEMENTS = {
    "stepwell.define.graph:KINDS": "step_kind_is_known",
    "stepwell.define.template:FAILURE_POLICIES": "failure_policy_is_known",
}

# "module:name" in Python → the routine whose comment names the same words after this label.
ROUTINE_WORDS = {
    "stepwell.outcome:OutcomeKind": (
        "src/stepwell/sql/routines/report/report.sql",
        "fn_job_report",
        "Outcomes:",
    ),
}

# "module:name" in Python → the rows that hold the same values in a fresh database.
SEED_ROWS = {
    "stepwell.outcome:WaitFacet": (
        "select facet_code from state_facet_def where state_machine_id = 'step.1' and state_code = 'waiting'"
    ),
    "stepwell.reactive.protocol:NodeStatus": (
        "select dialect_code from state_dialect where dialect = 'node' and scope = 'step'"
    ),
}

# "module:name" → why no constraint lists the values.
PYTHON_ONLY = {
    "stepwell.reactive.protocol:CallEventType": "the call protocol of the in-memory engine; never stored",
    "stepwell.reactive.protocol:CallStatus": "the status of a call of the in-memory engine; never stored",
    "stepwell.reactive.protocol:RunStatus": "the status of a run of the in-memory engine; never stored",
    "stepwell.connectors.email:SmtpSecurity": "how a connection to a mail server is encrypted; never stored",
    "stepwell.store.health.finding:Level": "the result of a check of `stepwell doctor`; never stored",
    "stepwell.store.connection.target:Process": "which process connects; the roles are named after it",
    "stepwell.store.connection.listen:WakeReason": "why a wait in this process ended; never stored",
}


def values_in_sql(constraint: str) -> set[str]:
    """The literals of a named check, from the last migration that defines it."""
    for path in reversed(files(".sql", under="src/stepwell/sql/migrations")):
        for statement in sql_source.statements(sql_source.tokens(read(path))):
            texts = sql_source.words(statement)
            for at, word in enumerate(texts):
                if word == constraint and texts[at - 1] == "constraint" and "check" in texts[at:]:
                    following = texts[at : at + texts[at:].index(")")]
                    return {text.strip("'") for text in following if text.startswith("'")}
    raise AssertionError(f"no migration defines the constraint {constraint}")


def values_in_python(name: str) -> set[str]:
    module, _, attribute = name.partition(":")
    return {str(value) for value in getattr(importlib.import_module(module), attribute)}


def enums() -> set[str]:
    """Every StrEnum of the package, as module:name."""
    found = set()
    for info in pkgutil.walk_packages(stepwell.__path__, "stepwell."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        found |= {
            f"{value.__module__}:{value.__name__}"
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, StrEnum) and value.__module__ == info.name
        }
    return found


@pytest.mark.parametrize(("name", "constraint"), AGREEMENTS.items())
def test_python_and_sql_list_the_same_values(name, constraint):
    assert values_in_python(name) == values_in_sql(constraint)


@pytest.mark.parametrize(("name", "place"), ROUTINE_WORDS.items())
def test_python_and_a_routine_name_the_same_words(name, place):
    path, routine, label = place
    (comment,) = [d.comment for d in sql_source.definitions(read(Path(path))) if d.name == routine]
    sentence = comment.partition(label)[2].partition(".")[0]
    assert values_in_python(name) == set(re.findall(r"\w+", sentence))


@pytest.mark.parametrize(("name", "query"), SEED_ROWS.items())
def test_python_and_the_state_registry_hold_the_same_values(name, query, db):
    assert values_in_python(name) == {code for (code,) in db.execute(query)}


def test_every_enum_has_a_counterpart_in_sql_or_a_reason():
    assert enums() <= {*AGREEMENTS, *ROUTINE_WORDS, *SEED_ROWS, *PYTHON_ONLY}, (
        "name the constraint in AGREEMENTS, or a reason in PYTHON_ONLY"
    )


def test_every_error_code_that_sql_raises_has_an_exception():
    known = {
        found.sqlstate
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, errors.StepwellError)
    }
    raised = {
        code
        for path in files(".sql", under="src/stepwell/sql")
        for code in re.findall(r"'(SW\d{3})'", read(path))
    }
    assert raised <= known
