"""A contestant that never answers.

It starts a child process, writes the id of the child to a file, and leaves a temporary folder."""

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

child = subprocess.Popen(["sleep", "600"])
options = json.loads(sys.argv[1])["options"]
Path(options["pid_file"]).write_text(str(child.pid))
Path(options["left_file"]).write_text(tempfile.mkdtemp())
threading.Event().wait()
