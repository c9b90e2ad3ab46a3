"""Each SQLSTATE of the database becomes one exception class."""

from __future__ import annotations

import inspect
import traceback

import psycopg
import pytest

from stepwell import errors

SQLSTATES = {
    "SW001": errors.InvalidInput,
    "SW002": errors.NotFound,
    "SW003": errors.Conflict,
    "SW004": errors.Refused,
    "SW005": errors.LeaseLost,
    "SW006": errors.LimitExceeded,
    "SW007": errors.PermissionDenied,
    "SW008": errors.UnsupportedDatabase,
}


@pytest.mark.parametrize(("sqlstate", "expected"), SQLSTATES.items())
def test_each_own_sqlstate_becomes_one_exception(db, sqlstate, expected):
    statement = (
        f"do $$ begin raise exception 'the lease of job 7 ended' using errcode = '{sqlstate}',"
        " detail = 'at noon', hint = 'claim it again', column = 'p_job'; end $$"
    )
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement)
    found = errors.from_database(caught.value)
    assert type(found) is expected
    assert (str(found), found.detail, found.hint, found.field) == (
        "the lease of job 7 ended",
        "at noon",
        "claim it again",
        "p_job",
    )
    assert found.sqlstate == sqlstate
    assert not found.is_transient


def test_every_exception_with_a_sqlstate_is_in_the_list():
    with_state = {cls for cls in _all_errors() if cls.__dict__.get("sqlstate")}
    assert with_state - {errors.StepwellError} == set(SQLSTATES.values())


def test_a_traceback_ends_with_the_hint():
    error = errors.NotFound("workflow greting is not published", hint="did you mean greeting?")
    shown = "".join(traceback.format_exception(error))
    assert shown.endswith("workflow greting is not published\nHint: did you mean greeting?\n")
    assert str(error) == "workflow greting is not published"


def test_codes_are_unique():
    codes = [cls.code for cls in _all_errors()]
    assert len(codes) == len(set(codes))


def test_the_docstring_lists_every_exception():
    for cls in _all_errors():
        assert cls.__name__ in (errors.__doc__ or "")


def test_a_deadlock_is_transient_and_a_syntax_error_is_not():
    assert errors.from_database(psycopg.errors.DeadlockDetected("x")).is_transient
    syntax = errors.from_database(psycopg.errors.SyntaxError("x"))
    assert type(syntax) is errors.DatabaseFailure
    assert not syntax.is_transient


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.AdminShutdown("x"),
        psycopg.errors.TooManyConnections("x"),
        psycopg.OperationalError("x"),
    ],
)
def test_a_server_that_shuts_down_is_unavailable(error):
    found = errors.from_database(error)
    assert type(found) is errors.DatabaseUnavailable
    assert found.is_transient


def test_a_missing_privilege_is_permission_denied():
    found = errors.from_database(psycopg.errors.InsufficientPrivilege("x"))
    assert type(found) is errors.PermissionDenied
    assert "stepwell doctor" in str(found.hint)


def test_the_message_leaves_out_the_question_of_the_driver():
    said = psycopg.OperationalError(
        'connection to "a" failed: refused\n\tIs the server running on that host?'
    )
    assert (
        errors.from_database(said).message
        == 'the database cannot be reached: connection to "a" failed: refused'
    )


def test_our_own_errors_are_returned_unchanged():
    error = errors.Refused("no")
    assert errors.from_database(error) is error


def test_a_sentence_holds_message_and_hint_on_one_line():
    error = errors.UsageError("two\n  lines.", hint="do this\nnow.")
    assert error.sentence() == "two lines: do this now."


def _all_errors():
    found = [value for value in vars(errors).values() if inspect.isclass(value)]
    return [cls for cls in found if issubclass(cls, errors.StepwellError)]
