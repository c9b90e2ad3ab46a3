"""Write schema.snapshot.sql: makes the schema in a scratch server, hands on its picture for review."""

from __future__ import annotations

import sys
import tempfile

from stepwell.sql import SNAPSHOT_FILE
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate, verify


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="stepwell-snapshot-") as folder, EmbeddedServer(folder) as server:
        migrate.migrate(server.conninfo())
        SNAPSHOT_FILE.write_text(verify.dump(server.conninfo()), encoding="utf-8")
    print(f"Written: {SNAPSHOT_FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
