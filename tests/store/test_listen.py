"""A listener wakes at a notification; without a connection it waits until its limit."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from stepwell.store.connection.listen import Listener, Wake, WakeReason

LONG = 60.0


def run(coroutine):
    return asyncio.run(coroutine)


def notify(dsn: str, payload: str, channel: str = "work") -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select pg_notify(%s, %s)", (channel, payload))


def test_a_notification_wakes_the_listener(empty_dsn):
    async def scenario() -> Wake:
        async with Listener(empty_dsn, ["work"]) as listener:
            notify(empty_dsn, "7")
            return await listener.wait(LONG)

    assert run(scenario()) == Wake(WakeReason.NOTIFIED, (("work", "7"),))


def test_other_channels_do_not_wake_the_listener(empty_dsn):
    async def scenario() -> Wake:
        async with Listener(empty_dsn, ["work", "Odd name"]) as listener:
            notify(empty_dsn, "1", "elsewhere")
            notify(empty_dsn, "2", "Odd name")
            return await listener.wait(LONG)

    assert run(scenario()).payloads == (("Odd name", "2"),)


def test_the_limit_ends_the_wait(empty_dsn):
    async def scenario() -> Wake:
        async with Listener(empty_dsn, ["work"]) as listener:
            return await listener.wait(0.05)

    assert run(scenario()) == Wake(WakeReason.LIMIT)


@pytest.mark.parametrize("address", [None, "host=127.0.0.1 port=1 dbname=x"], ids=["none", "unreachable"])
def test_without_a_connection_the_listener_waits_until_its_limit(address):
    async def scenario() -> Wake:
        async with Listener(address, ["work"]) as listener:
            assert not listener.is_connected
            return await listener.wait(0.05)

    assert run(scenario()) == Wake(WakeReason.LIMIT)


def test_a_lost_connection_is_made_again_and_reported(empty_dsn):
    async def scenario() -> tuple[Wake, Wake]:
        async with Listener(empty_dsn, ["work"]) as listener:
            with psycopg.connect(empty_dsn, autocommit=True) as connection:
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where datname = current_database() and pid <> pg_backend_pid()"
                )
            back = await listener.wait(LONG)
            notify(empty_dsn, "after")
            return back, await listener.wait(LONG)

    back, woken = run(scenario())
    # The caller must read the tables: a notification may have been lost in between.
    assert back.reason is WakeReason.CONNECTED
    assert woken.payloads == (("work", "after"),)


def test_a_cancelled_wait_leaves_the_listener_usable(empty_dsn):
    async def scenario() -> Wake:
        async with Listener(empty_dsn, ["work"]) as listener:
            waiting = asyncio.ensure_future(listener.wait(LONG))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            notify(empty_dsn, "still")
            wake = await listener.wait(LONG)
            return wake if wake.reason is WakeReason.NOTIFIED else await _after_reconnect(listener, empty_dsn)

    assert run(scenario()).payloads == (("work", "still"),)


async def _after_reconnect(listener: Listener, dsn: str) -> Wake:
    notify(dsn, "still")
    return await listener.wait(LONG)
