"""What happens in the demo: receives a span of time, returns the starts of runs and pick-ups in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from stepwell.demo.chance import between, chance, choice
from stepwell.demo.refunds import amount
from stepwell.demo.triage import SERVICES

CITIES: Final = ("Hà Nội", "Đà Nẵng", "Huế", "Cần Thơ")
CUSTOMERS: Final = ("acme", "birch", "cobalt", "delta", "ember", "fjord")
# People work in these hours.
DAY_BEGINS: Final = 7
DAY_ENDS: Final = 18
# On so many days the provider of payments is down for half an hour.
STORM_SHARE: Final = 0.4
# Runs that wait for whoever watches: the people of the demo leave them alone.
YOURS: Final = {"for": "you"}
LEFT_BEFORE: Final = timedelta(hours=1)
# The policy asks a lead about more than this.
SMALL_REFUND: Final = 100


@dataclass(frozen=True, slots=True)
class Start:
    """A run to start. An order is picked up so many minutes later; None: nobody comes."""

    at: datetime
    workflow: str
    input: dict[str, Any]
    key: str
    by: str
    labels: dict[str, str]
    picked_up_minutes: float | None = None


def starts(begins: datetime, ends: datetime) -> list[Start]:
    """All runs of these days, the earliest first."""
    made = [turnaround(begins + timedelta(hours=1), 1)]
    day, number = begins.replace(hour=0, minute=0, second=0, microsecond=0), 0
    while day < ends:
        for made_at, kind in _hours(day):
            number += 1
            if begins < made_at < ends:
                made.append(_start(kind, made_at, number))
        day += timedelta(days=1)
    made += [order_for_you(ends - LEFT_BEFORE, 1), refund_for_you(ends - LEFT_BEFORE, 1)]
    return sorted(made, key=lambda start: start.at)


def _hours(day: datetime) -> Iterator[tuple[datetime, str]]:
    """Incidents come at any hour, orders and complaints by day, and once the provider of payments is down."""
    for kind, count, first, last in (("incident", 3, 0, 24), ("order", 4, 6, 20), ("refund", 2, 8, 18)):
        for n in range(count):
            yield day + timedelta(hours=between(first, last, kind, n, day.date())), kind
    if chance("down", day.date()) < STORM_SHARE:
        for n in range(6):
            yield day + timedelta(hours=14, minutes=5 * n), "storm"


def _start(kind: str, at: datetime, number: int) -> Start:
    match kind:
        case "incident":
            return incident(at, number)
        case "refund":
            return refund(at, number)
        case _:
            return order(at, number, is_storm=kind == "storm")


def turnaround(at: datetime, number: int) -> Start:
    key = f"TA-{at:%Y}-{number}"
    return Start(at, "plant.turnaround", {"unit": "U-300"}, key, "lan", {"unit": "300", "site": "Đà Nẵng"})


def incident(at: datetime, number: int) -> Start:
    service = choice(SERVICES, "service", number)
    severity = 1 + int(chance("severity", number) * 3)
    given = {"service": service, "severity": severity, "summary": f"errors of {service} are above 2 %"}
    return Start(at, "incident.triage", given, f"INC-{4000 + number}", "hoa", {"service": service})


def order(at: datetime, number: int, *, is_storm: bool) -> Start:
    key = f"A-{7000 + number}"
    lines = 2 + int(chance("lines", number) * 7)
    amount = round(between(20, 1400, "amount", number), 2)
    given = {"order_id": key, "lines": lines, "amount": amount, "provider_is_down": is_storm}
    pick_up = None if chance("forgotten", number) < 0.06 else between(120, 1200, "pick up", number)
    labels = {"city": choice(CITIES, "city", number)}
    return Start(at, "order.process", given, key, "hoa", labels, pick_up)


def refund(at: datetime, number: int) -> Start:
    customer = f"{choice(CUSTOMERS, 'customer', number)}-{number}"
    given = {"customer": customer, "complaint": "the parcel came four days late and one box was open"}
    return Start(at, "agent.refund", given, f"C-{900 + number}", "minh", {"customer": customer})


def order_for_you(at: datetime, number: int) -> Start:
    """An order that a person inspects, and then the carrier picks it up."""
    key = f"A-{number}"
    given = {"order_id": key, "lines": 2, "amount": 1200.0, "provider_is_down": False}
    return Start(at, "order.process", given, key, "hoa", YOURS)


def refund_for_you(at: datetime, number: int) -> Start:
    """A refund that a lead decides."""
    names = (f"{name}-{number}" for name in CUSTOMERS)
    customer = next((name for name in names if amount(name) > SMALL_REFUND), CUSTOMERS[0])
    given = {"customer": customer, "complaint": "the parcel came four days late and one box was open"}
    return Start(at, "agent.refund", given, f"C-{number}", "minh", YOURS)


def is_day(at: datetime) -> bool:
    return DAY_BEGINS <= at.hour < DAY_ENDS
