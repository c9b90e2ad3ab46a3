"""Perform several calls in one round trip: receives calls, returns the value or the error of each.

Each call has a transaction of its own, so that one that fails ends nothing but itself, and holds its locks no
longer than alone. None of several waits for the disk; a commit behind them, with a mark of its own, does:
in the log of the server it comes after theirs, so all are stored when it is. Nothing is returned before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from stepwell.errors import from_database
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import LIMIT
from stepwell.store.connection.wire import Wire

NOT_WAITING: Final = "select set_config('synchronous_commit', 'off', true)"
LIMIT_NOT_WAITING: Final = "select stepwell.fn_action_limit(), set_config('synchronous_commit', 'off', true)"
# A commit that writes something and waits for the disk: the last call itself may have only read, or failed.
WAIT: Final = "select pg_logical_emit_message(true, 'stepwell', 'stored')"

Statement = tuple[str, Sequence[bytes | None]]


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that was ended by an error; nothing of it is stored."""

    error: psycopg.Error


class Together(Wire):
    """A connection that nothing else uses; one round trip at a time."""

    _open_count = 0

    async def each(self, calls: Sequence[tuple[Call[Any], bool]]) -> list[Any]:
        """The value of each call, or that it failed. True: with the limit of a verdict."""
        work: list[list[Statement]] = []
        for call, is_limited in calls:
            call_itself = (_numbered(call.text), [_text(given) for given in call.parameters])
            if len(calls) == 1:
                work.append([(LIMIT, ()), call_itself] if is_limited else [call_itself])
            else:
                work.append([(LIMIT_NOT_WAITING if is_limited else NOT_WAITING, ()), call_itself])
        if len(calls) > 1:
            work.append([(WAIT, ())])
        found = await self._pass(work)
        if len(calls) > 1:
            waited = found.pop()
            if isinstance(waited, psycopg.Error):
                raise from_database(waited) from waited
        return [
            Failed(answer) if isinstance(answer, psycopg.Error) else call.decode(self._rows(answer, tuple))
            for (call, _), answer in zip(calls, found, strict=True)
        ]

    async def close(self) -> None:
        with suppress(psycopg.Error):
            await super().close()

    async def _pass(self, work: Sequence[Sequence[Statement]]) -> list[PGresult | psycopg.Error]:
        """The last result of each transaction, or the error that ended it."""
        if self._is_calling:
            raise RuntimeError("a wire performs one call at a time")
        self._is_calling = True
        try:
            if self._broken is not None:
                raise psycopg.OperationalError(self._broken)
            named = [
                [(await self._name_of(text), given) for text, given in statements] for statements in work
            ]
            self._libpq.enter_pipeline_mode()
            for statements in named:
                for name, given in statements:
                    self._send(name, given)
                self._libpq.pipeline_sync()
            self._open_count = len(work)
            results = await self._received()
            if self._broken is not None:
                raise psycopg.OperationalError(self._broken)
            self._libpq.exit_pipeline_mode()
            return _by_transaction(results)
        except psycopg.Error as error:
            # What was sent in part cannot be taken back.
            self._break(str(error))
            raise from_database(error) from error
        finally:
            self._is_calling = False

    def _is_last(self, result: PGresult | None) -> bool:
        """A transaction ends with a mark, and everything with the mark of the last transaction."""
        if self._open_count == 0:
            return super()._is_last(result)
        if result is not None:
            self._results.append(result)
            if result.status == ExecStatus.PIPELINE_SYNC:
                self._open_count -= 1
                return self._open_count == 0
        return False


def _by_transaction(results: Sequence[PGresult]) -> list[PGresult | psycopg.Error]:
    found: list[PGresult | psycopg.Error] = []
    answer: PGresult | psycopg.Error | None = None
    for result in results:
        if result.status == ExecStatus.PIPELINE_SYNC:
            assert answer is not None, "a transaction has a statement"
            found.append(answer)
            answer = None
        elif result.status == ExecStatus.FATAL_ERROR:
            answer = error_from_result(result)
        elif not isinstance(answer, psycopg.Error):
            answer = result
    return found


def _numbered(text: str) -> str:
    """The statement with $1, $2, ... where a driver has %s."""
    first, *rest = text.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


def _text(given: int | str | None) -> bytes | None:
    return None if given is None else str(given).encode()
