"""Serves `stepwell` commands from a process that has loaded the command line once.

`python -m tests.support.loaded_command SOCKET`: for each request it forks a process, which gets arguments,
environment, folder and outputs of the caller and runs the command as `python -m stepwell` does, or a program
of the caller as `python FILE` does. To load the
modules costs half a second for each command. That each command loads what it needs, and no more, is tested
with processes of their own (tests/tidy/test_command_line_is_light.py, tests/acceptance). The server ends when
its standard input ends.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

REQUEST_BYTES = 1 << 20
OUTPUT_COUNT = 2


def load() -> None:
    """Imports every module of the project; nothing may be started by an import."""
    import stepwell
    from stepwell.cli import main as main_of_cli

    for found in pkgutil.walk_packages(stepwell.__path__, "stepwell."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    assert main_of_cli.app is not None
    assert threading.active_count() == 1, "an import started a thread; a fork would lose it"


def serve(listener: socket.socket) -> None:
    # The kernel forgets ended children; nobody waits for them here.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            answer(connection)
            os._exit(0)
        connection.close()


def answer(connection: socket.socket) -> None:
    """Runs one command in a child process and sends its exit code; the command ends with its caller."""
    text, outputs, _, _ = socket.recv_fds(connection, REQUEST_BYTES, OUTPUT_COUNT)
    child = os.fork()
    if child == 0:
        connection.close()
        os._exit(perform(json.loads(text), outputs))
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def perform(request: dict[str, object], outputs: list[int]) -> int:
    arguments, environment, folder = request["arguments"], request["environment"], request["folder"]
    assert isinstance(arguments, list)
    assert isinstance(environment, dict)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(folder))
    code = 1
    try:
        if request["program"] is None:
            run_command(str(folder), arguments)
        else:
            run_program(str(request["program"]), arguments)
        code = 0
    except SystemExit as ended:
        code = exit_code(ended)
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def run_command(folder: str, arguments: list[str]) -> None:
    from stepwell.cli import main as main_of_cli

    sys.path[0] = folder
    sys.argv = [str(Path(main_of_cli.__file__).parents[1] / "__main__.py"), *arguments]
    main_of_cli.run()


def run_program(program: str, arguments: list[str]) -> None:
    sys.path[0] = str(Path(program).parent)
    sys.argv = [program, *arguments]
    runpy.run_path(program, run_name="__main__")


def exit_code(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    sys.stderr.write(f"{ended.code}\n")
    return 1


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(sys.argv[1])
        listening.listen(20)
        load()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        serve(listening)
