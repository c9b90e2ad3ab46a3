"""Compare what a step costs at another commit and here: CPU of Postgres and Python, bytes of WAL.

    make compare BASE=HEAD~1 [ARGS="--rounds 5 --only W1b,W2"]

Both trees use one server, in turns: a slow minute of the machine affects both. Each cell has a new database.
The other commit uses this environment, and one of its own only if its lock file is another one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import COST_COLUMNS
from bench.server import bench_server

ROOT = Path(__file__).parent.parent
LOCK = "requirements-dev.lock"
ROUNDS_LIMIT = 20

Costs = dict[tuple[str, str, str], list[float]]


def main() -> int:
    arguments = _arguments()
    costs: Costs = {}
    with tempfile.TemporaryDirectory(prefix="stepwell-compare-") as folder:
        other = Path(folder) / "tree"
        _git("worktree", "add", "--detach", "--force", str(other), arguments.commit)
        try:
            sides = {arguments.commit: (other, _python(other)), "here": (ROOT, Path(sys.executable))}
            with bench_server(None) as server:
                for round_no in range(arguments.rounds):
                    # Who begins changes, because the first of a round may find a colder server.
                    order = list(sides) if round_no % 2 else list(reversed(sides))
                    for name in order:
                        _measure(*sides[name], server.admin_url, name, arguments.only, Path(folder), costs)
        finally:
            _git("worktree", "remove", "--force", str(other))
    print(_table(costs, arguments.commit, arguments.rounds))
    return 0


def _measure(tree: Path, python: Path, url: str, name: str, only: str, folder: Path, costs: Costs) -> None:
    results = folder / "results"
    command = [str(python), "-m", "bench", "--only", only, "--peers", "none", "--repeat", "1"]
    command += ["--database-url", url, "--results-dir", str(results)]
    environment = {**os.environ, "PYTHONPATH": f"{tree}:{tree / 'src'}"}
    subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    (path,) = results.glob("*.json")
    for record in json.loads(path.read_text(encoding="utf-8"))["records"]:
        for key, _ in COST_COLUMNS:
            value = (record["numbers"].get("per_unit") or {}).get(key)
            if value is not None:
                costs.setdefault((record["workload"], key, name), []).append(value)
    for file in results.iterdir():
        file.unlink()


def _table(costs: Costs, commit: str, rounds: int) -> str:
    load = os.getloadavg()[0]
    lines = [
        f"{rounds} rounds in turns, load {load:.1f}; medians, in brackets the least",
        "",
        f"| per step | {commit} | here | ratio |",
        "|---|---|---|---|",
    ]
    labels = dict(COST_COLUMNS)
    for workload, key in dict.fromkeys((workload, key) for workload, key, _ in costs):
        before, after = costs.get((workload, key, commit)), costs.get((workload, key, "here"))
        if before and after and statistics.median(before):
            ratios = statistics.median(after) / statistics.median(before), min(after) / min(before)
            cells = (
                f"{workload} {labels[key]}",
                _figure(before),
                _figure(after),
                "{:.3f} ({:.3f})".format(*ratios),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(values: list[float]) -> str:
    return f"{statistics.median(values):,.1f} ({min(values):,.1f})"


def _python(tree: Path) -> Path:
    """The interpreter for a tree: this one, or one with the modules that the tree locks."""
    if (tree / LOCK).read_bytes() == (ROOT / LOCK).read_bytes():
        return Path(sys.executable)
    environment = tree / ".venv"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(tree / LOCK)], check=True)
    return python


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("commit", help="the commit to compare with, such as HEAD~5")
    parser.add_argument("--rounds", type=int, default=5, help=f"1 to {ROUNDS_LIMIT} (default 5)")
    parser.add_argument("--only", default="W1b,W2", help="workloads of the benchmark (default W1b,W2)")
    arguments = parser.parse_args()
    if not 1 <= arguments.rounds <= ROUNDS_LIMIT:
        parser.error(f"--rounds {arguments.rounds}: give a number from 1 to {ROUNDS_LIMIT}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
