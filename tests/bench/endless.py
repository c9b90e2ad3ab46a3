"""A contestant that never answers, with a child that would outlive it and whose id it writes to a file."""

import json
import subprocess
import sys
import threading
from pathlib import Path

child = subprocess.Popen(["sleep", "600"])
Path(json.loads(sys.argv[1])["options"]["pid_file"]).write_text(str(child.pid))
threading.Event().wait()
