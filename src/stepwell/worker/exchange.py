"""Exchange reports for leases: send finished reports and receive the next leases in one call and commit.

Reports that arrive during a call are sent together in the next call: the batch grows with the load. The
worker leases no more than its free slots and what `ahead` allows. An idle loop also starts runs for a client
in the same process, and leases their first steps in the same commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stepwell import json_text, logs
from stepwell.errors import DatabaseUnavailable, LeaseLost, StepwellError
from stepwell.store.calls.leases import (
    Answer,
    Busy,
    Ended,
    Failed,
    Lease,
    LeaseCalls,
    LeaseKey,
    Refused,
    Report,
)
from stepwell.store.calls.runs import RunStart, Started
from stepwell.worker.calls_under_way import CallsUnderWay
from stepwell.worker.demand import Demand
from stepwell.worker.held_leases import HeldLeases
from stepwell.worker.patience import ATTEMPT_LIMIT, Patience
from stepwell.worker.report_lines import ReportLines
from stepwell.worker.second_tries import SecondTries
from stepwell.worker.slots import Slots
from stepwell.worker.start_requests import StartRequest, StartRequests
from stepwell.worker.wake_ups import WakeUps

BATCH_LIMIT = 500
RETRY_FIRST_SECONDS = 0.1
# Short, so that work goes on soon after the database is back, or has room on its disk again.
RETRY_LIMIT_SECONDS = 2.0

T = TypeVar("T")


class Exchange:
    """The loops that send reports and receive leases. All run on one event loop, so they need no locks."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[LeaseCalls]],
        slot_count: int,
        start: Callable[[Lease], None],
        on_lost_session: Callable[[int], Awaitable[None]],
        on_answer: Callable[[Failed | Refused | Ended], None],
        loop_count: int = 1,
        ahead: Callable[[], int] = lambda: 0,
    ) -> None:
        self._loop_count = loop_count
        self._connect = connect
        self._start = start
        self._on_lost_session = on_lost_session
        self._on_answer = on_answer
        self._slots = Slots(slot_count, ahead)
        self._held = HeldLeases()
        self._wake_ups = WakeUps(loop_count)
        self._lines = ReportLines(loop_count, self._wake_ups.wake)
        self._second = SecondTries(self._wake_ups.wake_all)
        self._patience = Patience()
        self._starts = StartRequests()
        self._demand = Demand()
        self._calls = CallsUnderWay(self._held)
        self._settling_doubt = asyncio.Lock()
        self._log = logs.get_logger("stepwell.worker")
        self.session_key = 0
        self.is_claiming = True
        self.is_stopping = False
        self.refused_count = 0
        self.reported_count = 0

    def held(self) -> list[LeaseKey]:
        """(tenant_id, unit_id, lease_no) of all leases of this worker."""
        return self._held.keys()

    def holds_unit_of(self, run_id: int) -> bool:
        return self._held.has_unit_of(run_id)

    @property
    def known_batch_id(self) -> int:
        """Every batch of leases up to this one has arrived here."""
        return self._calls.known_batch_id

    @property
    def busy_count(self) -> int:
        return self._slots.busy_count

    @property
    def resting_count(self) -> int:
        """The number of idle loops."""
        return self._wake_ups.resting_count

    def finish(self, lease: Lease, report: Report | None) -> None:
        """A handler ended. Its slot is free when its report is accepted; at once if there is no report."""
        if report is None:
            self._held.forget(lease.unit_id, lease.lease_no)
            self.free_slot()
        else:
            self._lines.add(report)

    def hold(self) -> None:
        """Take one more slot for a call that cannot be stopped and still runs after its report."""
        self._slots.take(1)

    def free_slot(self) -> None:
        """Free a slot without a report."""
        self._slots.free(1)
        self._wake_ups.wake_all()

    def hint(self) -> None:
        """Something may have become claimable."""
        self._demand.hint()
        self._wake_ups.wake_all()

    async def start(self, start: RunStart) -> Started | None:
        """Start a run if a loop is idle and slots are free; None if nothing was done."""
        if self._wake_ups.resting_count <= len(self._starts) or not self._has_room():
            return None
        request = self._starts.add(start)
        self._wake_ups.wake_all()
        return await request.answer

    def close(self) -> None:
        """All loops have ended: refuse the requests to start a run; their callers start it themselves."""
        self._starts.close()

    async def run(self, loop_no: int = 0) -> None:
        """Run one loop on one connection; several may run at the same time. It retries after an error."""
        pause = RETRY_FIRST_SECONDS
        while not self._is_through():
            try:
                calls = await self._connect()
                try:
                    while await self._turn(calls, loop_no):
                        pause = RETRY_FIRST_SECONDS
                finally:
                    await calls.close()
            except StepwellError as error:
                self._log.warning("exchange failed, retrying", error=error.sentence(), pause_seconds=pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_LIMIT_SECONDS)
        # Wake the loops that became idle before the last report was accepted, so that they end too.
        self._wake_ups.wake_all()

    def _is_through(self) -> bool:
        """A call under way may bring leases that another loop must release, so no loop ends before it."""
        is_idle = self._lines.is_empty and self._second.is_empty and not self._calls.are_under_way
        return self.is_stopping and is_idle

    async def _turn(self, calls: LeaseCalls, loop_no: int) -> bool:
        """Wait until there is something to do and do it once; false if the worker stops and all is done."""
        while not self._is_through():
            if self._calls.doubtful_after is not None:
                await self._settle_doubt(calls)
            if self._second:
                await self._trade_again(calls, self._second.take())
                return True
            if self._lines.has_any(loop_no):
                await self._trade(calls, loop_no)
                return True
            if self._starts:
                await self._trade_start(calls, self._starts.take())
                return True
            if self._wants_more() and not self._demand.is_asking:
                self._demand.is_asking = True
                try:
                    await self._trade(calls, loop_no)
                finally:
                    self._demand.is_asking = False
                    self._wake_ups.wake_all()
                return True
            await self._wake_ups.rest(loop_no)
        return False

    def _has_room(self) -> bool:
        return self.is_claiming and not self.is_stopping and self._slots.free_count > 0

    def _may_claim(self) -> bool:
        return self.is_claiming and not self._demand.is_resting

    def _wants_more(self) -> bool:
        return self._has_room() and not self._demand.is_dry and not self._demand.is_resting

    @property
    def _batch_limit(self) -> int:
        """Each loop takes a part of the slots, so that the database works on several batches at once."""
        return min(BATCH_LIMIT, max(1, -(-self._slots.count // self._loop_count)))

    async def _trade(self, calls: LeaseCalls, loop_no: int) -> None:
        limit = self._batch_limit
        batch = self._lines.take(loop_no, limit)
        free_count = max(self._slots.free_count + len(batch), 0)
        asked = min(free_count, limit) if self._may_claim() else 0
        # The slots of the batch stay taken until its reports are accepted; take the further slots now.
        extra = max(asked - len(batch), 0)
        self._slots.take(extra)
        if self._wants_more():
            self._wake_ups.wake_all()
        hint_count = self._demand.hint_count
        try:
            answers = await self._exchange(calls, batch, asked)
        except BaseException as error:
            self._slots.free(extra)
            if not isinstance(error, StepwellError) or isinstance(error, DatabaseUnavailable):
                self._lines.put_back(loop_no, batch)
                raise
            if batch:
                self._second.add(batch)
            else:
                await self._claim_each(calls, asked, error)
            return
        self._settle(answers, batch, asked)
        self._demand.note_hints_since(hint_count)
        self._demand.note_success()
        if self._wants_more():
            self._wake_ups.wake_all()

    async def _trade_start(self, calls: LeaseCalls, request: StartRequest) -> None:
        if request.answer.done() or not self._has_room():
            request.succeed(None)
            return
        asked = min(self._slots.free_count, self._batch_limit)
        self._slots.take(asked)
        # The answer if the session was lost: nothing was started.
        lost: tuple[Started | None, list[Lease]] = (None, [])
        try:
            started, granted = await self._call(
                lambda session_key: calls.start_and_claim(session_key, asked, request.start), lost
            )
        except BaseException as error:
            self._slots.free(asked)
            if not isinstance(error, StepwellError):
                # It is unknown whether the run was started: the caller must not try again without a key.
                request.fail(DatabaseUnavailable("the worker stopped while it started the run"))
                raise
            request.fail(error)
            if isinstance(error, DatabaseUnavailable):
                raise
            return
        self._settle(granted, [], asked)
        request.succeed(started)

    async def _claim_each(self, calls: LeaseCalls, asked: int, error: StepwellError) -> None:
        """A claim failed. Claim unit by unit, so that the wrong unit is set aside; else pause."""
        self._log.warning("a claim failed", error=error.sentence())
        if not error.is_transient:
            self._slots.take(asked)
            try:
                nothing: Sequence[Answer] = ()
                granted = await self._call(lambda session_key: calls.claim_each(session_key, asked), nothing)
            except BaseException as again:
                self._slots.free(asked)
                if not isinstance(again, StepwellError) or isinstance(again, DatabaseUnavailable):
                    raise
                self._log.error("units cannot be claimed one by one", error=again.sentence())
            else:
                self._settle(granted, [], asked)
                return
        self._demand.rest(self.hint)

    async def _trade_again(self, calls: LeaseCalls, part: list[Report]) -> None:
        """Send reports of a failed batch. Reports whose run is locked are sent again later."""
        try:
            answers = await self._report_free(calls, part)
            if answers is None:
                return
            busy = {(answer.unit_id, answer.lease_no) for answer in answers if isinstance(answer, Busy)}
        except BaseException:
            self._second.put_back(part)
            raise
        for report in part:
            if (report.unit_id, report.lease_no) in busy:
                self._second.put_off(report)
            else:
                self._second.forget(report)
        done = [report for report in part if (report.unit_id, report.lease_no) not in busy]
        self._settle(answers, done, 0)

    async def _report_free(self, calls: LeaseCalls, part: list[Report]) -> Sequence[Answer] | None:
        """None if the part was halved or postponed."""
        nothing: Sequence[Answer] = ()
        try:
            return await self._call(lambda session_key: calls.report_free(session_key, part), nothing)
        except DatabaseUnavailable:
            raise
        except StepwellError as error:
            if len(part) > 1:
                self._second.halve(part)
                return None
            if error.is_transient and not self._second.is_hopeless(part[0], error):
                self._second.put_off(part[0])
                return None
            return await self._refuse(calls, part[0], error)

    async def _refuse(self, calls: LeaseCalls, report: Report, error: StepwellError) -> Sequence[Answer]:
        """Report the refusal as a failure of the unit; if that is refused too, set the unit aside."""
        self._log.error("a report was not accepted", unit=report.unit_id, error=error.sentence())
        nothing: Sequence[Answer] = ()
        failed = _failed(report, error)
        try:
            return await self._call(lambda session_key: calls.report_free(session_key, [failed]), nothing)
        except DatabaseUnavailable:
            raise
        except StepwellError as again:
            if again.is_transient and not self._second.is_hopeless(report, again):
                return [Busy(report.tenant_id, report.unit_id, report.lease_no)]
            self._log.error("a unit is set aside", unit=report.unit_id, error=again.sentence())
        try:
            await self._call(lambda session_key: calls.set_aside(session_key, report, error), False)
        except DatabaseUnavailable:
            raise
        except StepwellError as last:
            # The unit is recovered when this session has ended.
            self._log.error("a unit cannot be set aside", unit=report.unit_id, error=last.sentence())
        return nothing

    async def _exchange(self, calls: LeaseCalls, batch: list[Report], asked: int) -> Sequence[Answer]:
        nothing: Sequence[Answer] = ()
        if batch:
            return await self._call(
                lambda session_key: calls.report_and_claim(
                    session_key, batch, asked, locks_up=self._patience.locks_up()
                ),
                nothing,
            )
        return await self._call(lambda session_key: calls.claim(session_key, asked), nothing)

    async def _call(self, ask: Callable[[int], Awaitable[T]], when_lost: T) -> T:
        """One call, repeated after a collision; returns `when_lost` if the session has ended."""
        with self._calls.one_more():
            for attempt in range(1, ATTEMPT_LIMIT + 1):
                session_key = self.session_key
                begun = time.monotonic()
                try:
                    return await ask(session_key)
                except LeaseLost:
                    await self._on_lost_session(session_key)
                    return when_lost
                except DatabaseUnavailable:
                    raise
                except StepwellError as error:
                    self._patience.note(error)
                    if not self._patience.may_repeat(error, attempt, time.monotonic() - begun):
                        raise
                await asyncio.sleep(self._patience.pause_seconds(attempt))
        raise AssertionError("the last attempt returns or raises")

    async def _settle_doubt(self, calls: LeaseCalls) -> None:
        """Wait until every call has its answer, then release the leases whose answer was lost."""
        async with self._settling_doubt:
            batch_id = await self._calls.until_doubt_can_be_settled()
            if batch_id is None:
                return
            for key in await calls.leased_since(self.session_key, batch_id):
                if self._held.add_unknown(key):
                    self._slots.take(1)
                    self._lines.add(Report(*key, "released", None))
            self._calls.settle_doubt()

    def _settle(self, answers: Sequence[Answer], batch: list[Report], asked: int) -> None:
        held = self._held
        for report in batch:
            held.forget(report.unit_id, report.lease_no)
        got = 0
        for answer in answers:
            if isinstance(answer, Lease):
                got += 1
                held.add(answer)
                if self.is_claiming:
                    self._start(answer)
                else:
                    # This claim was sent before the worker began to stop.
                    self._lines.add(
                        Report(answer.tenant_id, answer.unit_id, answer.lease_no, "released", None)
                    )
            elif not isinstance(answer, Busy):
                self.refused_count += isinstance(answer, Refused)
                self._on_answer(answer)
        self.reported_count += len(batch)
        self._slots.free(max(asked, len(batch)) - got)
        self._demand.note_answer(got, asked)


def _failed(report: Report, error: StepwellError) -> Report:
    reason = {"type": "ReportRefused", "message": error.sentence()}
    return report._replace(outcome="failed", body=json_text.encode({"error": reason}, "report"))
