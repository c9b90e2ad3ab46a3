"""Uses an embedded server in another process: `python -m tests.support.hold_server DATA_DIR`.

Prints `ready PID` when the server answers. Then it reads commands: `stop` stops the use and prints whether it
was the last one, `fork` starts a child process that keeps running.
"""

from __future__ import annotations

import os
import signal
import sys

from stepwell.errors import StepwellError
from stepwell.store.embedded.server import EmbeddedServer


def main(data_dir: str) -> None:
    server = EmbeddedServer(data_dir)
    try:
        server.start()
    except StepwellError as error:
        _say(f"refused {error.sentence()}")
        return
    _say(f"ready {server.postmaster_pid} {server.conninfo()}")
    for line in sys.stdin:
        match line.strip():
            case "stop":
                _say(f"stopped {server.stop()}")
                return
            case "fork":
                child = os.fork()
                if child == 0:
                    signal.pause()
                _say(f"forked {child}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
