#!/bin/sh
# Prints the first interpreter that can make the environment: Python >= 3.11 with venv and pip.
for candidate in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$candidate" > /dev/null 2>&1 &&
        "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' > /dev/null 2>&1; then
        command -v "$candidate"
        exit 0
    fi
done
echo "No Python >= 3.11 with the venv module was found. Install one (Debian: apt-get install python3-venv)" >&2
echo "or name it: make PYTHON=/path/to/python3 <target>" >&2
exit 1
