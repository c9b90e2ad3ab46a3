"""The limits of a definition, for all modules of define."""

from __future__ import annotations

from typing import Final

MAX_STEPS: Final = 50_000
MAX_EDGES: Final = 200_000
MAX_NESTING: Final = 32
MAX_NAME_LENGTH: Final = 200
MAX_TITLE_LENGTH: Final = 500
MAX_EXPRESSION_LENGTH: Final = 2_000
MAX_INPUTS: Final = 100
MAX_PARALLEL_WIDTH: Final = 20_000
MAX_CONCURRENCY: Final = 100_000
MAX_FORM_BYTES: Final = 65_536
# What `Retry()` says, and what an operation without one has in the database.
DEFAULT_ATTEMPTS: Final = 5
MAX_ATTEMPTS: Final = 1_000
MAX_NON_RETRYABLE: Final = 100
MAX_DELAYS: Final = 100
MAX_MULTIPLIER: Final = 100
MAX_DURATION_SECONDS: Final = 10 * 366 * 86_400
MIN_PRIORITY: Final = -32_768
MAX_PRIORITY: Final = 32_767
MAX_YAML_BYTES: Final = 1_048_576
MAX_YAML_DEPTH: Final = 100
# People correct a file from the top; a longer list of problems only hides the first ones.
MAX_PROBLEMS: Final = 100
