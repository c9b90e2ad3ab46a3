"""`python -m bench`: measures Stepwell and its peers on one server, prints a table, writes bench/results/."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import bundles, core, emits, engine, governance, graphs, history, http, pages, rebuild, report
from bench.environment import ROOT, peers_python
from bench.floor import commits_per_second
from bench.runner import PEERS, STEPWELL, Plan, peer_contestants, run_plan, stepwell_contestants
from bench.server import BenchServer, bench_server
from bench.workloads import WORKLOADS

FLOOR_SECONDS = 5
PAGE = ROOT / "docs" / "benchmarks.md"
OTHER_PARTS = (
    "floor", "core", "engine", "history", "emits", "graphs", "rebuild", "bundles", "pages", "http",
    "problems",
)  # fmt: skip
# Only when it is named: it writes ten million events.
OPT_IN = ("problems-10m",)


def main() -> int:
    arguments = _arguments()
    # By default SIGTERM ends this process and leaves the server running; an exception runs every clean-up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: stopped"))
    with bench_server(arguments.database_url) as server:
        result = _measure(server, arguments)
    text = _as_text(result)
    print(text)
    path = _write(result, text, Path(arguments.results_dir))
    print(f"written: {path} and {path.with_suffix('.md').name}", file=sys.stderr)
    if arguments.publish:
        PAGE.write_text(report.published(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    lacking = missed(result)
    for one in lacking:
        print(f"bench: missed: {one}", file=sys.stderr)
    return 1 if lacking or any(record.get("failed") for record in result["records"]) else 0


def missed(result: dict[str, Any]) -> list[str]:
    """The wanted figures that were not reached; a quick run proves nothing about them."""
    if result["quick"]:
        return []
    parts = {
        "bundles": bundles.missed,
        "http": http.missed,
        "problems": governance.missed,
        "problems-10m": governance.missed,
    }
    return [f"{name}: {one}" for name, of in parts.items() if result[name] for one in of(result[name])]


def _measure(server: BenchServer, arguments: argparse.Namespace) -> dict[str, Any]:
    parts: list[str] = arguments.only
    result: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "server_version": server.version,
        "settings": server.settings,
        "cpu_count": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "rounds": arguments.repeat,
        "quick": arguments.quick,
        "floor": {},
        "core": {},
        "engine": [],
        "history": {},
        "emits": {},
        "graphs": {},
        "rebuild": {},
        "bundles": {},
        "pages": {},
        "http": {},
        "problems": {},
        "problems-10m": {},
        "records": [],
    }
    if "floor" in parts:
        with server.fresh_database("floor") as url:
            result["floor"] = commits_per_second(url, seconds=1 if arguments.quick else FLOOR_SECONDS)
    result["records"] = _run_contest(server, arguments)
    if "core" in parts:
        with server.fresh_database("core", is_migrated=True) as url:
            result["core"] = core.measure(url, quick=arguments.quick)
    if "engine" in parts:
        result["engine"] = engine.measure(server, quick=arguments.quick)
    if "history" in parts:
        with server.fresh_database("history", is_migrated=True) as url:
            result["history"] = history.measure(url, quick=arguments.quick)
    if "emits" in parts:
        with server.fresh_database("emits", is_migrated=True) as url:
            result["emits"] = emits.measure(url, quick=arguments.quick)
    if "graphs" in parts and STEPWELL in arguments.contestants:
        result["graphs"] = graphs.measure(server, quick=arguments.quick)
    if "rebuild" in parts and STEPWELL in arguments.contestants:
        result["rebuild"] = rebuild.measure(server, quick=arguments.quick)
    if "bundles" in parts and STEPWELL in arguments.contestants:
        result["bundles"] = bundles.measure(server, quick=arguments.quick)
    if "pages" in parts and STEPWELL in arguments.contestants:
        result["pages"] = pages.measure(server, quick=arguments.quick)
    if "http" in parts and STEPWELL in arguments.contestants:
        with server.fresh_database("http", is_migrated=True) as url:
            result["http"] = http.measure(url, quick=arguments.quick)
    for name in ("problems", "problems-10m"):
        if name in parts and STEPWELL in arguments.contestants:
            with server.fresh_database("problems", is_migrated=True) as url:
                result[name] = governance.measure(url, quick=arguments.quick, large=name in OPT_IN)
    return result


def _run_contest(server: BenchServer, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    contestants = stepwell_contestants() if STEPWELL in arguments.contestants else []
    names = [name for name in arguments.contestants if name != STEPWELL]
    workloads = tuple(name for name in arguments.only if name in WORKLOADS)
    if names and workloads:
        try:
            python = peers_python()
        except subprocess.SubprocessError as error:
            print(f"bench: the peers could not be installed, Stepwell runs alone ({error})", file=sys.stderr)
        else:
            contestants += [contestant for name in names for contestant in peer_contestants(name, python)]
    plan = Plan(tuple(contestants), workloads, arguments.repeat, arguments.quick)
    records = []
    for record in run_plan(server, plan):
        records.append(record)
        print(_progress(record), file=sys.stderr)
    return records


def _progress(record: dict[str, Any]) -> str:
    head = f"round {record['round']} {record['workload']:4} {record['contestant']:20}"
    if record["empty_because"]:
        return f"{head} {record['empty_because']}"
    numbers = record["numbers"]
    shown = (
        f"{metric.label} {numbers[metric.key]:,.1f}"
        for metric in WORKLOADS[record["workload"]].metrics
        if numbers.get(metric.key) is not None
    )
    return f"{head} " + "  ".join(shown)


def _as_text(result: dict[str, Any]) -> str:
    parts = [report.markdown(result)]
    if result["core"]:
        parts.append(core.markdown(result["core"]))
    if result["engine"]:
        parts.append(engine.markdown(result["engine"]))
    if result["history"]:
        parts.append(history.markdown(result["history"]))
    if result["emits"]:
        parts.append(emits.markdown(result["emits"]))
    if result["graphs"]:
        parts.append(graphs.markdown(result["graphs"]))
    if result["rebuild"]:
        parts.append(rebuild.markdown(result["rebuild"]))
    if result["bundles"]:
        parts.append(bundles.markdown(result["bundles"]))
    if result["pages"]:
        parts.append(pages.markdown(result["pages"]))
    if result["http"]:
        parts.append(http.markdown(result["http"]))
    parts += [governance.markdown(result[name]) for name in ("problems", "problems-10m") if result[name]]
    return "\n".join(parts)


def _write(result: dict[str, Any], text: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['at'].replace(':', '').replace('+0000', 'Z')}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    return path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    everything = [*OTHER_PARTS, *WORKLOADS]
    parser.add_argument(
        "--only",
        type=lambda text: _chosen(parser, "--only", text, [*everything, *OPT_IN]),
        default=everything,
        help=f"comma-separated, of {', '.join([*everything, *OPT_IN])}; default: all but {', '.join(OPT_IN)}",
    )
    parser.add_argument(
        "--peers",
        type=lambda text: _chosen(parser, "--peers", text, list(PEERS)),
        default=list(PEERS),
        help=f"comma-separated, of {', '.join(PEERS)}; 'none' measures Stepwell alone",
    )
    parser.add_argument("--without-stepwell", action="store_true", help="measure the peers alone")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the table shows medians (default 3)")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes and one round, to see that everything runs"
    )
    parser.add_argument(
        "--database-url",
        help="a Postgres to use instead of the embedded one; it must wait for the disk",
    )
    parser.add_argument("--publish", action="store_true", help="rewrite the results in docs/benchmarks.md")
    parser.add_argument("--results-dir", default=str(ROOT / "bench" / "results"))
    arguments = parser.parse_args()
    if not 1 <= arguments.repeat <= 20:
        parser.error(f"--repeat {arguments.repeat}: give a number from 1 to 20")
    if arguments.quick and arguments.publish:
        parser.error("--publish: a quick run proves nothing; remove --quick")
    if arguments.quick:
        arguments.repeat = 1
    arguments.contestants = [*([] if arguments.without_stepwell else [STEPWELL]), *arguments.peers]
    return arguments


def _chosen(parser: argparse.ArgumentParser, option: str, text: str, known: list[str]) -> list[str]:
    if text == "none":
        return []
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            parser.error(f"{option}: {name!r} is not known; give some of {', '.join(known)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
