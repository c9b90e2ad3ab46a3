"""The child processes of `stepwell up`, and the addresses it listens on."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import psutil
import pytest

from stepwell.errors import UsageError
from stepwell.up.address import listen
from stepwell.up.children import Child, ChildSpec, describe_exit
from tests.support.wait import until_async


def serving(used_dir: Path, listener: socket.socket, grace_seconds: float) -> ChildSpec:
    handle = listener.fileno()
    arguments = ("--data-dir", str(used_dir), "serve", "--socket-handle", str(handle))
    return ChildSpec("server", arguments, handles=(handle,), grace_seconds=grace_seconds)


def test_a_child_that_hangs_is_killed_after_its_grace_time(used_dir: Path):
    async def scenario() -> int | None:
        with listen("127.0.0.1", 0).listener as listener:
            child = await Child.start(serving(used_dir, listener, grace_seconds=0.1))
            # A suspended process does not react to SIGTERM, only to SIGKILL.
            process = psutil.Process(child.process.pid)
            process.suspend()
            await until_async(lambda: process.status() == psutil.STATUS_STOPPED, what="the stop")
            await child.stop()
            return child.process.returncode

    assert asyncio.run(scenario()) == -signal.SIGKILL


def test_a_child_has_no_terminal(used_dir: Path):
    """Ctrl-C reaches only the parent, which decides when and in which order its children end."""

    async def scenario() -> bool:
        with listen("127.0.0.1", 0).listener as listener:
            child = await Child.start(serving(used_dir, listener, grace_seconds=30))
            try:
                return psutil.Process(child.process.pid).terminal() is None
            finally:
                child.kill()
                await child.wait()

    assert asyncio.run(scenario())


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (-250, "killed by signal 250")],
)
def test_an_exit_is_described_in_words(code: int, words: str):
    assert describe_exit(code) == words


@pytest.mark.parametrize(
    ("host", "is_loopback"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_an_address_knows_whether_it_is_loopback(host: str, is_loopback: bool):
    address = listen(host, 0)
    with address.listener:
        assert address.is_loopback is is_loopback
        assert str(address.port) in address.url


def test_an_ipv6_address_is_written_in_brackets():
    try:
        address = listen("::1", 0)
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with address.listener:
        assert address.url == f"http://[::1]:{address.port}"
