"""Exchange reports for leases: send finished reports and receive the next leases in one call and commit.

Reports that arrive during a call are sent together in the next call: the batch grows with the load. The
worker never leases more than its free slots. An idle loop also starts runs for a client in the same process,
and leases their first steps in the same commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stepwell import json_text, logs
from stepwell.errors import DatabaseUnavailable, LeaseLost, StepwellError
from stepwell.store.calls.leases import (
    Answer,
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
from stepwell.worker.report_lines import ReportLines
from stepwell.worker.slots import Slots
from stepwell.worker.start_requests import StartRequest, StartRequests
from stepwell.worker.wake_ups import WakeUps

BATCH_LIMIT = 500
RETRY_FIRST_SECONDS = 0.1
RETRY_LIMIT_SECONDS = 10.0

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
    ) -> None:
        # Each loop takes a part of the slots, so that the database works on several batches at the same time.
        self._batch_limit = min(BATCH_LIMIT, max(1, -(-slot_count // loop_count)))
        self._connect = connect
        self._start = start
        self._on_lost_session = on_lost_session
        self._on_answer = on_answer
        self._slots = Slots(slot_count)
        self._held = HeldLeases()
        self._wake_ups = WakeUps(loop_count)
        self._lines = ReportLines(loop_count, self._wake_ups.wake)
        self._starts = StartRequests()
        self._demand = Demand()
        self._calls = CallsUnderWay(self._held)
        self._settling_doubt = asyncio.Lock()
        self._log = logs.get_logger("stepwell.worker")
        self.session_id = 0
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
            self.give_back()
        else:
            self._lines.add(report)

    def hold(self) -> None:
        """Take one more slot for a call that cannot be stopped and still runs after its report."""
        self._slots.take(1)

    def give_back(self) -> None:
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
        return self.is_stopping and self._lines.is_empty

    async def _turn(self, calls: LeaseCalls, loop_no: int) -> bool:
        """Wait until there is something to do and do it once; false if the worker stops and all is done."""
        while not self._is_through():
            if self._calls.doubtful_after is not None:
                await self._settle_doubt(calls)
            if self._lines.suspects:
                await self._trade_alone(calls, self._lines.suspects.popleft())
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

    def _wants_more(self) -> bool:
        return self._has_room() and not self._demand.is_dry

    async def _trade(self, calls: LeaseCalls, loop_no: int) -> None:
        batch = self._lines.take(loop_no, self._batch_limit)
        free_count = max(self._slots.free_count + len(batch), 0)
        asked = min(free_count, self._batch_limit) if self.is_claiming else 0
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
            if len(batch) > 0 and isinstance(error, StepwellError) and not _is_passing(error):
                self._lines.suspects.extend(batch)
                return
            self._lines.put_back(loop_no, batch)
            raise
        self._settle(answers, batch, asked)
        self._demand.note_hints_since(hint_count)
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
                lambda session_id: calls.start_and_claim(session_id, asked, request.start), lost
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

    async def _trade_alone(self, calls: LeaseCalls, report: Report) -> None:
        """Send one report alone. If the database refuses it, report the refusal as a failed attempt."""
        sent = report
        for _ in range(2):
            try:
                answers = await self._exchange(calls, [sent], 0)
            except StepwellError as error:
                if _is_passing(error):
                    self._lines.suspects.appendleft(report)
                    raise
                self._log.error("a report was not accepted", unit=report.unit_id, error=error.sentence())
                sent = _failed(report, error)
                continue
            except BaseException:
                self._lines.suspects.appendleft(report)
                raise
            self._settle(answers, [report], 0)
            return
        # Neither report was accepted. Free the slot; the unit is recovered when this session ends.
        self._settle([], [report], 0)

    async def _exchange(self, calls: LeaseCalls, batch: list[Report], asked: int) -> Sequence[Answer]:
        nothing: Sequence[Answer] = ()
        if batch:
            return await self._call(
                lambda session_id: calls.report_and_claim(session_id, batch, asked), nothing
            )
        return await self._call(lambda session_id: calls.claim(session_id, asked), nothing)

    async def _call(self, ask: Callable[[int], Awaitable[T]], when_lost: T) -> T:
        with self._calls.one_more():
            while True:
                session_id = self.session_id
                try:
                    return await ask(session_id)
                except LeaseLost:
                    await self._on_lost_session(session_id)
                    return when_lost
                except DatabaseUnavailable:
                    raise
                except StepwellError as error:
                    # The call collided with another transaction; repeat it.
                    if not error.is_transient:
                        raise

    async def _settle_doubt(self, calls: LeaseCalls) -> None:
        """Wait until every call has its answer, then release the leases whose answer was lost."""
        async with self._settling_doubt:
            batch_id = await self._calls.until_doubt_can_be_settled()
            if batch_id is None:
                return
            for key in await calls.leased_since(self.session_id, batch_id):
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
            else:
                self.refused_count += isinstance(answer, Refused)
                self._on_answer(answer)
        self.reported_count += len(batch)
        self._slots.free(max(asked, len(batch)) - got)
        self._demand.note_answer(got, asked)


def _failed(report: Report, error: StepwellError) -> Report:
    reason = {"type": "ReportRefused", "message": error.sentence()}
    return report._replace(outcome="failed", body=json_text.encode({"error": reason}, "report"))


def _is_passing(error: StepwellError) -> bool:
    """True if the same call may succeed later."""
    return isinstance(error, LeaseLost) or error.is_transient
