"""Measure the run page in Chromium: receives the server, returns figures for graphs of growing size.

A real server, a real run and a real browser without a graphics card. First paint begins when the snapshot has
arrived; pan and zoom are frames of the browser while the graph is moved by its own wheel handler; a burst is
500 steps completed in one commit.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench import shapes
from bench.engine import Load, complete_once, drain, fill, open_session
from bench.server import BenchServer
from stepwell.api.identity import COOKIE

SIZES: Final = (2, 500, 2000, 10_000)
QUICK_SIZES: Final = (2, 40)
BURST: Final = 500
FRAMES: Final = 120
SHARE_DONE: Final = 0.4
LIMIT_MS: Final = 60_000
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--headless")
COLUMNS: Final = (
    "first_paint_ms", "pan_fps", "pan_slowest_ms", "zoom_fps", "far_pan_fps", "nodes", "heap_mb",
)  # fmt: skip
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
# Runs before the page: notes when the snapshot has arrived and when a message of the stream has.
_WATCH = """
window.bench = {};
const json = Response.prototype.json;
Response.prototype.json = async function () {
  const found = await json.call(this);
  if (this.url.includes("/snapshot")) window.bench.snapshot ??= performance.now();
  return found;
};
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (type, heard, more) {
  if (type !== "changes") return listen.call(this, type, heard, more);
  return listen.call(this, type, (event) => {
    const runs = Object.values(JSON.parse(event.data).runs);
    const steps = runs.reduce((sum, run) => sum + run.steps.no.length, 0);
    const at = performance.now();
    heard(event);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      (window.bench.bursts ??= []).push([steps, performance.now() - at]);
    }));
  }, more);
};
const watch = () => {
  if (document.querySelector(".graph[data-far='true'], .graph .node"))
    requestAnimationFrame(() => requestAnimationFrame(() => { window.bench.painted = performance.now(); }));
  else requestAnimationFrame(watch);
};
requestAnimationFrame(watch);
"""
# Moves the graph by its wheel handler, once in each frame; returns the length of the frames.
_FRAMES = """
([count, dx, dy, zoom]) => new Promise((done) => {
  const graph = document.querySelector(".graph");
  const box = graph.getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
  const place = { ...middle, bubbles: true, cancelable: true };
  const times = [];
  const step = (now) => {
    times.push(now);
    if (times.length > count) return done(times.slice(1).map((at, n) => at - times[n]));
    const side = times.length % 60 < 30 ? dx : -dx;
    const more = zoom ? { deltaY: zoom } : { deltaX: side, deltaY: dy, shiftKey: true };
    graph.dispatchEvent(new WheelEvent("wheel", { ...place, ...more }));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


def measure(server: BenchServer, *, quick: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    with _browser() as browser:
        for steps in QUICK_SIZES if quick else SIZES:
            with server.fresh_database("pages", is_migrated=True) as url:
                result[str(steps)] = _cell(browser, url, steps)
    return result


def _cell(browser: Browser, url: str, steps: int) -> dict[str, Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        session_key = open_session(connection)
        # As wide as it is high on the screen: both directions are full of steps.
        fill(connection, Load("rows", shapes.rows(steps, max(2, round((steps / 3) ** 0.5))), 1, 100), 1)
        drain(connection, session_key, 50, until=int(steps * SHARE_DONE))
        with _serving(url) as address, _context(browser, connection, address) as context:
            page = context.new_page()
            page.add_init_script(_WATCH)
            found = _watched(page, "/runs/1")
            if steps >= BURST:
                # A run in which 500 steps can be claimed at once.
                connection.execute("select stepwell.fn_run_pause(1, 1, 'ada')")
                fill(connection, Load("rows", shapes.rows(steps, max(1, steps // BURST)), 1, 100), 1)
                found["burst_ms"] = _burst(page, connection, session_key)
            return found


def _watched(page: Page, path: str) -> dict[str, Any]:
    page.goto(path)
    page.wait_for_function("window.bench.painted", timeout=LIMIT_MS)
    found: dict[str, Any] = {"first_paint_ms": page.evaluate("window.bench.painted - window.bench.snapshot")}
    page.wait_for_selector("text=Live", timeout=LIMIT_MS)
    _zoom_to(page, 1.0)
    pan = page.evaluate(_FRAMES, [FRAMES, 24, 0, 0])
    nodes = [page.evaluate("document.querySelectorAll('*').length")]
    found |= {"pan_fps": 1000 / statistics.median(pan), "pan_slowest_ms": max(pan)}
    zoom = page.evaluate(_FRAMES, [FRAMES // 2, 0, 0, 32])
    nodes.append(page.evaluate("document.querySelectorAll('*').length"))
    far = page.evaluate(_FRAMES, [FRAMES, 24, 0, 0])
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    return found | {
        "zoom_fps": 1000 / statistics.median(zoom),
        "far_pan_fps": 1000 / statistics.median(far),
        "nodes": max(nodes),
        "heap_mb": heap,
    }


def _zoom_to(page: Page, zoom: float) -> None:
    graph = page.locator(".graph")
    for _ in range(20):
        shown = float(graph.get_attribute("data-zoom") or 0)
        if abs(shown - zoom) < 0.02:
            return
        page.evaluate(
            """([by]) => document.querySelector(".graph").dispatchEvent(new WheelEvent("wheel",
              { deltaY: by, clientX: 400, clientY: 400, bubbles: true, cancelable: true }))""",
            [-200 if shown < zoom * 0.8 else -40 if shown < zoom else 40],
        )
        page.wait_for_function(
            "(was) => document.querySelector('.graph').dataset.zoom !== was", arg=f"{shown:.2f}"
        )


def _burst(page: Page, connection: psycopg.Connection[Any], session_key: int) -> float:
    """From the message to the paint, for the message with the most steps."""
    page.goto("/runs/2")
    page.wait_for_selector("text=Live", timeout=LIMIT_MS)
    page.evaluate("window.bench.bursts = []")
    complete_once(connection, session_key, BURST)
    page.wait_for_function(
        "(count) => (window.bench.bursts ?? []).reduce((sum, [steps]) => sum + steps, 0) >= count",
        arg=BURST // 2,
        timeout=LIMIT_MS,
    )
    bursts: list[tuple[int, float]] = page.evaluate("window.bench.bursts")
    return max(bursts)[1]


@contextmanager
def _browser() -> Iterator[Browser]:
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("bench: no browser; install Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def _context(browser: Browser, connection: psycopg.Connection[Any], address: str) -> Iterator[BrowserContext]:
    """A browser that is signed in as a person who may read."""
    connection.execute("select stepwell.fn_person_set(1, 'ada', array['operator'])")
    row = connection.execute(
        "select token from stepwell._session_open(1, (select principal_id from stepwell.principal"
        " where tenant_id = 1 and principal_name = 'ada'), '127.0.0.1', 'bench')"
    ).fetchone()
    assert row is not None
    context = browser.new_context(base_url=address, viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.add_cookies([{"name": COOKIE, "value": str(row[0]), "url": address, "httpOnly": True}])
    yield context
    context.close()


@contextmanager
def _serving(url: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "stepwell", "--database-url", url, "serve", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(f"{address}/healthz", process)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("bench: the server did not start")


def markdown(result: dict[str, Any]) -> str:
    heads = (
        "steps", "first paint after the snapshot, ms", "pan at 100 %, fps", "slowest frame, ms",
        "zoom out to 25 %, fps", "pan at 25 %, fps", "elements", "heap, MB", "burst of 500 changes, ms",
    )  # fmt: skip
    lines = [
        "The run page in Chromium without a graphics card (a real run, two fifths of it done):",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for steps, cell in result.items():
        shown = (
            f"{int(steps):,}",
            *(f"{cell[name]:,.0f}" for name in COLUMNS),
            f"{cell['burst_ms']:.0f}" if "burst_ms" in cell else "",
        )
        lines.append(f"| {' | '.join(shown)} |")
    lines += [
        "",
        "Wanted with 2,000 steps: first paint 1,000 ms, pan 45 fps with no frame over 100 ms, zoom 30 fps,",
        "2,500 elements, 150 MB, a burst within 100 ms; with 10,000 steps: pan 20 fps. Peers, from their own",
        "issue trackers: Airflow lags at 30 tasks in 25 runs, n8n stops at about 400 nodes, Temporal's UI",
        "has no graph.",
    ]
    return "\n".join(lines) + "\n"
