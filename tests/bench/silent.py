"""A contestant that fails before it answers."""

import sys

sys.exit("no such table")
