"""A contestant that never answers. It starts a child process and writes the id of the child to a file."""

import json
import subprocess
import sys
import threading
from pathlib import Path

child = subprocess.Popen(["sleep", "600"])
Path(json.loads(sys.argv[1])["options"]["pid_file"]).write_text(str(child.pid))
threading.Event().wait()
