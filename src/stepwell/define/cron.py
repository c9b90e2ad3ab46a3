"""Read cron expressions in time zones: receives a schedule and the database's time, returns times in UTC.

Changes between summer and winter time are treated as cron does: a time that does not exist fires when the gap
ends; a time that exists twice fires once, unless the expression fires every hour or every minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from stepwell.errors import InvalidInput

# A time that is at most so late still fires; if it is later, it is a misfire and the schedule's rule decides.
MISFIRE_SECONDS = 60
# The next time of an expression that never matches; the database requires a time.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Plan:
    """The times of a schedule to fire now, and its next time."""

    fire_ats: tuple[datetime, ...]
    next_at: datetime


def check(cron: str, time_zone: str) -> None:
    """Raise InvalidInput if the expression or the zone cannot be read."""
    _simulate(cron, datetime.now(_zone(time_zone)))


def next_times(cron: str, time_zone: str, after: datetime, count: int) -> list[datetime]:
    """The first times later than `after`, in UTC; fewer if there are no more."""
    return list(islice(_times(cron, _zone(time_zone), after), count))


def plan(
    cron: str, time_zone: str, misfire: str, backfill_limit: int, next_at: datetime | None, now: datetime
) -> Plan:
    """The times to fire at `now` for a schedule whose next time was `next_at`; none if `next_at` is None."""
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
    """The last `limit` times from `first` to `now`. It searches backwards, so a long pause costs nothing."""
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
        # In the hour that exists twice, the expression may give a time of its first pass again.
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
