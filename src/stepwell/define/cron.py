"""Read cron expressions in time zones: receives a schedule and the database's time, returns times in UTC.

Clocks that jump are treated as cron does: a time that a zone leaves out is made up for when the gap ends,
a time that comes twice fires once, unless the expression says every hour or every minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from stepwell.errors import InvalidInput

# A time this late still counts as met; later it is a misfire, and the schedule's rule decides.
MISFIRE_SECONDS = 60
# Stands for "no such day will ever come"; the database wants a time.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a schedule owes at one moment: the times to fire now, and the next one ahead."""

    fire_ats: tuple[datetime, ...]
    next_at: datetime


def check(cron: str, time_zone: str) -> None:
    """Refuse an expression or a zone that cannot be read, saying what is wrong with it."""
    _simulate(cron, datetime.now(_zone(time_zone)))


def next_times(cron: str, time_zone: str, after: datetime, count: int) -> list[datetime]:
    """The first fire times later than `after`, in UTC; fewer when there are no more."""
    return list(islice(_times(cron, _zone(time_zone), after), count))


def plan(
    cron: str, time_zone: str, misfire: str, backfill_limit: int, next_at: datetime | None, now: datetime
) -> Plan:
    """What to fire at `now` for a schedule that expected `next_at`; without one only the next time."""
    ahead = next_times(cron, time_zone, now, 1)
    following = ahead[0] if ahead else NEVER
    if next_at is None or next_at > now:
        return Plan((), following)
    due = _due(cron, _zone(time_zone), backfill_limit, next_at, now)
    if misfire == "all":
        fire_ats = due
    elif misfire == "latest":
        fire_ats = due[-1:]
    else:
        fire_ats = [at for at in due[-1:] if now - at <= timedelta(seconds=MISFIRE_SECONDS)]
    return Plan(tuple(fire_ats), following)


def _due(cron: str, zone: ZoneInfo, limit: int, first: datetime, now: datetime) -> list[datetime]:
    """The last `limit` times from `first` to `now`: found from behind, so that a long stop costs no more."""
    start = first
    backward = _simulate(cron, now.astimezone(zone), reverse=True)
    for at in islice(backward, limit + 2):
        start = at.astimezone(UTC)
        if start <= first:
            break
    start = max(start, first)
    due = []
    for at in _times(cron, zone, start - timedelta(seconds=1)):
        if at > now:
            break
        due.append(at)
    return due[-limit:]


def _times(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    latest = after
    for found in _simulate(cron, after.astimezone(zone)):
        at = found.astimezone(UTC)
        # In the hour that comes twice the expression may point at its first pass again.
        if at > latest:
            latest = at
            yield at


def _simulate(cron: str, start: datetime, *, reverse: bool = False) -> CronSim:
    try:
        return CronSim(cron, start, reverse=reverse)
    except CronSimError as error:
        raise InvalidInput(
            f"cron: {cron!r} cannot be read: {error}",
            hint="five fields: minute hour day month weekday, such as '30 6 * * MON-FRI'",
            field="cron",
        ) from error


def _zone(time_zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, IsADirectoryError) as error:
        raise InvalidInput(
            f"time_zone: {time_zone!r} is not known",
            hint="use a name of the time zone database, such as Europe/Berlin or UTC",
            field="time_zone",
        ) from error
