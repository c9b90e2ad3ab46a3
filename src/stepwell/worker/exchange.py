"""Trade outcomes for leases: receives finished reports, hands on the next leases, in one call and one commit.

Outcomes that finish while a call is under way travel together in the next one: the batch grows with the load
and is one outcome when the worker is idle. Never more is leased than there are free slots. A call that was
cut may have leased units nobody here knows of: they are asked for and given back. A run that is started in
this process while a loop rests is started by that loop, which leases its first steps in the same commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

import structlog

from stepwell import json_text
from stepwell.errors import DatabaseUnavailable, LeaseLost, StepwellError
from stepwell.store.calls import leases
from stepwell.store.calls.leases import Lease, Report
from stepwell.store.connection.wire import Wire

BATCH_LIMIT = 500
UNIT_NO_BITS = 20
RETRY_FIRST_SECONDS = 0.1
RETRY_LIMIT_SECONDS = 10.0


class Exchange:
    """Slots, finished reports and the loops that carry them. All on one event loop: no locks."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Wire]],
        slot_count: int,
        start: Callable[[Lease], None],
        on_lost_session: Callable[[int], Awaitable[None]],
        on_ended: Callable[[Lease], None],
        loop_count: int = 1,
    ) -> None:
        # Each loop takes its share, so that the database works on several batches at once.
        self._batch_limit = min(BATCH_LIMIT, max(1, -(-slot_count // loop_count)))
        self._connect = connect
        self._start = start
        self._on_lost_session = on_lost_session
        self._on_ended = on_ended
        self._slot_count = slot_count
        self._free_count = slot_count
        # One line per loop, and a run always joins the same: two loops never wait for one run's lock.
        self._finished: list[deque[Report]] = [deque() for _ in range(loop_count)]
        # Reports that failed as a batch: each goes alone, so that one bad report hurts nobody else.
        self._suspects: deque[Report] = deque()
        # Runs to be started here, and who waits for their rows of kind `started`.
        self._starts: deque[tuple[tuple[Any, ...], asyncio.Future[Lease | None]]] = deque()
        # One per loop: a report stirs the loop of its line only, and lets the others rest.
        self._stirs = [asyncio.Event() for _ in range(loop_count)]
        self._resting_count = 0
        # One loop asks for everybody while nobody has anything to report; a full answer calls the others.
        self._is_asking = False
        self._is_dry = False
        self._was_full = True
        self._hint_count = 0
        self._fault: StepwellError | None = None
        # Everything leased and not yet settled, by unit: also what waits for its report.
        self._held: dict[int, tuple[int, int, int]] = {}
        # Trades under way, each with the last batch known when it began: its own batch comes after that.
        self._under_way: dict[int, int] = {}
        self._trade_count = 0
        self._landed = asyncio.Event()
        # A trade was cut; whatever it leased came after this batch.
        self._doubt: int | None = None
        self._resolving = asyncio.Lock()
        self._log = structlog.get_logger("stepwell.worker")
        self.session_id = 0
        self.is_claiming = True
        self.is_stopping = False
        self.refused_count = 0
        self.reported_count = 0
        self._last_batch_id = 0

    def held(self) -> list[tuple[int, int, int]]:
        """(tenant_id, unit_id, lease_no) of all that would be lost with this process."""
        return list(self._held.values())

    def holds_unit_of(self, run_id: int) -> bool:
        return any(unit_id >> UNIT_NO_BITS == run_id for unit_id in self._held)

    @property
    def known_batch_id(self) -> int:
        """Every batch up to this one has arrived here."""
        floors = [*self._under_way.values(), *([] if self._doubt is None else [self._doubt])]
        return min(floors, default=self._last_batch_id)

    @property
    def busy_count(self) -> int:
        return self._slot_count - self._free_count

    def finish(self, lease: Lease, report: Report | None) -> None:
        """A handler ended. Its slot is free once the report has been taken; at once when there is none."""
        if report is None:
            self._free_count += 1
            self._forget(lease.unit_id, lease.lease_no)
            self._stir_all()
        else:
            self._line_up(report)

    def _line_up(self, report: Report) -> None:
        loop_no = (report.unit_id >> UNIT_NO_BITS) % len(self._finished)
        self._finished[loop_no].append(report)
        self._stirs[loop_no].set()

    def _stir_all(self) -> None:
        for stir in self._stirs:
            stir.set()

    def hold(self) -> None:
        """The call behind a slot cannot be stopped: when its report frees the slot, the slot stays taken."""
        self._free_count -= 1

    def give_back(self) -> None:
        """A held slot is free after all."""
        self._free_count += 1
        self._stir_all()

    def hint(self) -> None:
        """Something may have become claimable."""
        self._hint_count += 1
        self._is_dry = False
        self._stir_all()

    async def start(self, parameters: tuple[Any, ...]) -> Lease | None:
        """Start a run if a loop rests and slots are free; nothing is done where none comes back."""
        if self._resting_count <= len(self._starts) or not self._has_room():
            return None
        waiter: asyncio.Future[Lease | None] = asyncio.get_running_loop().create_future()
        self._starts.append((parameters, waiter))
        self._stir_all()
        return await waiter

    def close(self) -> None:
        """No loop runs any more: whoever wanted to start something here must do it elsewhere."""
        while self._starts:
            _answer(self._starts.popleft()[1], None)

    async def run(self, loop_no: int = 0) -> None:
        """One loop on one wire; several may run side by side. Trouble is waited out."""
        line = self._finished[loop_no]
        pause = RETRY_FIRST_SECONDS
        while not self._is_through():
            try:
                wire = await self._connect()
                try:
                    while await self._turn(wire, line, self._stirs[loop_no]):
                        pause = RETRY_FIRST_SECONDS
                finally:
                    await wire.close()
            except StepwellError as error:
                self._log.warning("cannot trade, trying again", error=error.sentence(), pause_seconds=pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_LIMIT_SECONDS)
        # Whoever looked before the last report was through rests, and would not look again.
        self._stir_all()

    def _is_through(self) -> bool:
        return self.is_stopping and not any(self._finished) and not self._suspects

    async def _turn(self, wire: Wire, line: deque[Report], stir: asyncio.Event) -> bool:
        """One trade when there is something to do; false when all is done."""
        while not self._is_through():
            if self._doubt is not None:
                await self._resolve_doubt(wire)
            if self._suspects:
                await self._trade_alone(wire, self._suspects.popleft())
                return True
            if line:
                await self._trade(wire, line)
                return True
            if self._starts:
                await self._trade_start(wire, *self._starts.popleft())
                return True
            if self._wants_more() and not self._is_asking:
                self._is_asking = True
                try:
                    await self._trade(wire, line)
                finally:
                    self._is_asking = False
                    self._stir_all()
                return True
            stir.clear()
            self._resting_count += 1
            try:
                # A handler that has nothing to wait for has reported by the next turn of the event loop.
                await asyncio.sleep(0)
                if not stir.is_set():
                    await stir.wait()
            finally:
                self._resting_count -= 1
        return False

    def _has_room(self) -> bool:
        return self.is_claiming and not self.is_stopping and self._free_count > 0

    def _wants_more(self) -> bool:
        return self._has_room() and not self._is_dry

    async def _trade(self, wire: Wire, line: deque[Report]) -> None:
        batch = [line.popleft() for _ in range(min(len(line), self._batch_limit))]
        # Every path takes row locks in ascending order.
        batch.sort(key=attrgetter("unit_id"))
        asked = min(max(self._free_count + len(batch), 0), self._batch_limit) if self.is_claiming else 0
        # Slots of the batch stay taken until its report is through; those asked for beyond are taken now.
        extra = max(asked - len(batch), 0)
        self._free_count -= extra
        if self._wants_more():
            self._stir_all()
        hint_count = self._hint_count
        try:
            rows = await self._call(wire, batch, asked)
        except BaseException as error:
            self._free_count += extra
            if len(batch) > 0 and isinstance(error, StepwellError) and not _is_passing(error):
                self._suspects.extend(batch)
                return
            line.extendleft(reversed(batch))
            raise
        self._settle(rows, batch, asked)
        # A hint that came while the call was under way may speak of what the call did not see.
        self._is_dry = self._is_dry and self._hint_count == hint_count
        if self._wants_more():
            self._stir_all()

    async def _trade_start(
        self, wire: Wire, parameters: tuple[Any, ...], waiter: asyncio.Future[Lease | None]
    ) -> None:
        if waiter.done() or not self._has_room():
            _answer(waiter, None)
            return
        asked = min(self._free_count, self._batch_limit)
        self._free_count -= asked
        try:
            rows = await self._call(wire, [], asked, parameters)
        except BaseException as error:
            self._free_count += asked
            if not isinstance(error, StepwellError):
                # Nobody knows whether it was started: not for the caller to try again without a key.
                _answer(waiter, DatabaseUnavailable("the worker stopped while it started the run"))
                raise
            _answer(waiter, error)
            if isinstance(error, DatabaseUnavailable):
                raise
            return
        # Without that row the session was lost, and nothing was started.
        started = next((row for row in rows if row.row_kind == "started"), None)
        self._settle([row for row in rows if row is not started], [], asked)
        _answer(waiter, started)

    async def _trade_alone(self, wire: Wire, report: Report) -> None:
        """A report the database may not take: then the unit fails for that reason, within its attempts."""
        for attempt in (report, None):
            try:
                rows = await self._call(wire, [attempt or self._failed(report)], 0)
            except StepwellError as error:
                if _is_passing(error):
                    self._suspects.appendleft(report)
                    raise
                self._log.error("a report was not taken", unit=report.unit_id, error=error.sentence())
                self._fault = error
                continue
            except BaseException:
                self._suspects.appendleft(report)
                raise
            self._settle(rows, [report], 0)
            return
        # Neither was taken. The slot is free; the unit comes back when this session ends.
        self._settle([], [report], 0)

    def _failed(self, report: Report) -> Report:
        reason = self._fault.sentence() if self._fault else "the report was not taken"
        error = {"type": "ReportRefused", "message": reason}
        return report._replace(outcome="failed", body=json_text.encode({"error": error}, "report"))

    async def _call(
        self, wire: Wire, batch: list[Report], asked: int, start: tuple[Any, ...] | None = None
    ) -> list[Lease]:
        self._trade_count += 1
        number = self._trade_count
        self._under_way[number] = self._last_batch_id
        try:
            return await self._call_through(wire, batch, asked, start)
        except DatabaseUnavailable:
            floor = self._under_way[number]
            self._doubt = floor if self._doubt is None else min(floor, self._doubt)
            raise
        finally:
            del self._under_way[number]
            self._landed.set()

    async def _call_through(
        self, wire: Wire, batch: list[Report], asked: int, start: tuple[Any, ...] | None
    ) -> list[Lease]:
        while True:
            session_id = self.session_id
            try:
                if batch:
                    return await leases.report_and_claim(wire, session_id, batch, asked)
                if start is not None:
                    return await leases.start_and_claim(wire, session_id, asked, start)
                return await leases.claim(wire, session_id, asked)
            except LeaseLost:
                await self._on_lost_session(session_id)
                return []
            except DatabaseUnavailable:
                raise
            except StepwellError as error:
                # Two transactions met; the same call goes through when the other is gone.
                if not error.is_transient:
                    raise

    async def _resolve_doubt(self, wire: Wire) -> None:
        """No trade begins while there is doubt; when the last has landed, what is unknown goes back."""
        async with self._resolving:
            while self._doubt is not None and self._under_way:
                self._landed.clear()
                await self._landed.wait()
            if self._doubt is None:
                return
            for held in await leases.leased_since(wire, self.session_id, self._doubt):
                if self._held.get(held[1]) != held:
                    self._held[held[1]] = held
                    self._free_count -= 1
                    self._line_up(Report(*held, "released", None))
            self._doubt = None

    def _settle(self, rows: list[Lease], batch: list[Report], asked: int) -> None:
        got = 0
        for report in batch:
            self._forget(report.unit_id, report.lease_no)
        for row in rows:
            if row.row_kind == "lease":
                got += 1
                self._last_batch_id = max(self._last_batch_id, row.batch_id)
                self._held[row.unit_id] = (row.tenant_id, row.unit_id, row.lease_no)
                self._take(row)
            elif row.row_kind == "ended":
                self._on_ended(row)
            else:
                self.refused_count += 1
        self.reported_count += len(batch)
        self._free_count += max(asked, len(batch)) - got
        self._is_dry = got < asked and not self._was_full
        # The database counts us as idle from this call on; whatever was made ready before somebody could see
        # that sent no hint, so ask once more.
        self._was_full = got >= asked > 0

    def _forget(self, unit_id: int, lease_no: int) -> None:
        held = self._held.get(unit_id)
        if held is not None and held[2] == lease_no:
            del self._held[unit_id]

    def _take(self, lease: Lease) -> None:
        if self.is_claiming:
            self._start(lease)
        else:
            # Asked for before the worker was told to stop.
            self._line_up(Report(lease.tenant_id, lease.unit_id, lease.lease_no, "released", None))


def _answer(waiter: asyncio.Future[Lease | None], answer: Lease | StepwellError | None) -> None:
    """Whoever asked may have gone meanwhile."""
    if waiter.done():
        return
    if isinstance(answer, StepwellError):
        waiter.set_exception(answer)
    else:
        waiter.set_result(answer)


def _is_passing(error: StepwellError) -> bool:
    """True when the call itself was not at fault."""
    return isinstance(error, LeaseLost) or error.is_transient
