"""`stepwell dev` starts a new worker after an edit; a mistake in the file is shown, and the worker stays."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.conftest import migrated, own_folder
from tests.acceptance.running import Running, run, up
from tests.support.data_folder import copied, made_once

APP = """\
import stepwell as sw

app = sw.App()


@app.operation
def greet(name: str) -> str:
    return "hello " + name


app.publish(sw.Workflow("greeting", sw.Operation("greet")))
"""
READY = r"Worker \S+ is ready; operations: greet"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = tmp_path / "shop.py"
    place.write_text(APP)
    return place


@contextmanager
def developing(shop: Path, data_dir: Path) -> Iterator[Running]:
    with up(str(shop), "--data-dir", str(data_dir), "--port", "0", command="dev") as running:
        yield running


@pytest.fixture(scope="module")
def developed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path, Path]]:
    """One `dev` for the tests that leave it running: its process, the watched file, its data folder."""
    shop = tmp_path_factory.mktemp("shop") / "shop.py"
    shop.write_text(APP)
    with own_folder() as folder:
        data_dir = copied(made_once("used", migrated), folder)
        with developing(shop, data_dir) as running, running.wait_ready():
            running.wait_for(READY)
            yield running, shop, data_dir


def edit(shop: Path, old: str, new: str) -> None:
    shop.write_text(shop.read_text().replace(old, new))


def result(data_dir: Path) -> str:
    done = run("--data-dir", str(data_dir), "start", "greeting", "-i", "name=Ada", "--wait")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_changed_file_starts_a_new_worker_and_nothing_else(shop: Path, used_dir: Path):
    with developing(shop, used_dir) as running, running.wait_ready() as client:
        running.wait_for(READY)
        assert "start greeting -i name=A-1 --watch" in running.output
        before = running.children()
        assert result(used_dir) == "hello Ada"
        seen = len(running.lines)
        edit(shop, "hello", "good day")
        running.wait_for(r"shop\.py changed; the worker restarts", after=seen)
        running.wait_for(READY, after=seen)
        assert result(used_dir) == "good day Ada"
        after = running.children()
        assert after["worker"].pid != before["worker"].pid
        assert after["serve"].pid == before["serve"].pid
        assert client.get("/readyz").status_code == 200
        running.signal(signal.SIGINT)
        assert running.wait_end() == 0
        assert running.lines[-1] == "Stopped."
        assert "Traceback" not in running.output


def test_a_mistake_is_shown_with_its_line_and_the_worker_stays(developed: tuple[Running, Path, Path]):
    running, shop, data_dir = developed
    worker = running.children()["worker"]
    seen = len(running.lines)
    edit(shop, 'return "hello " + name', 'return "hello " + (name')
    running.wait_for("the old worker keeps running", after=seen)
    running.wait_for(r"shop\.py:8: '\(' was never closed", after=seen)
    assert running.children()["worker"].pid == worker.pid
    assert result(data_dir) == "hello Ada"
    seen = len(running.lines)
    edit(shop, '"hello " + (name', "undefined + name")
    edit(shop, "app = sw.App()", "app = sw.App()\nsmall = 1 / 0")
    running.wait_for(r"shop\.py:4: ZeroDivisionError: division by zero", after=seen)
    seen = len(running.lines)
    shop.write_text(APP)
    running.wait_for(READY, after=seen)
    assert running.children()["worker"].pid != worker.pid


def test_with_a_mistake_at_the_start_the_worker_starts_after_its_correction(shop: Path, used_dir: Path):
    shop.write_text(APP.replace("import stepwell as sw", "import stepwel as sw"))
    with developing(shop, used_dir) as running, running.wait_ready() as client:
        running.wait_for(r"shop\.py:1: shop needs the module stepwel")
        running.wait_for(r"The worker ended \(exit code 2\)\. It starts when a file changes\.")
        assert client.get("/readyz").status_code == 200
        shop.write_text(APP.replace("import stepwell as sw", "import stepwll as sw"))
        running.wait_for(r"shop\.py changed, but the app cannot be loaded; no worker runs:")
        running.wait_for(r"shop\.py:1: shop needs the module stepwll")
        shop.write_text(APP)
        running.wait_for(READY)
        assert result(used_dir) == "hello Ada"


def test_a_definition_error_is_one_line_with_file_and_line_and_dev_goes_on(
    developed: tuple[Running, Path, Path],
):
    running, shop, _ = developed
    worker = running.children()["worker"]
    seen = len(running.lines)
    # Checked without the database: a reference to a step that does not exist.
    edit(shop, 'sw.Operation("greet")', 'sw.Operation("greet", inputs={"name": "$.steps.gone.output"})')
    running.wait_for(r'shop\.py:11: step "greet": inputs\.name: .*gone', after=seen)
    assert running.children()["worker"].pid == worker.pid
    seen = len(running.lines)
    shop.write_text(APP.replace("@app.operation", "raise SystemExit(3)\n\n\n@app.operation"))
    running.wait_for(r"shop\.py:6: SystemExit: 3", after=seen)
    seen = len(running.lines)
    # Refused by the database: the cost of this expression grows with the square of its input.
    shop.write_text(APP.replace('"greet")', '"greet", inputs={"name": "$.input.a[*] == $.input.b[*]"})'))
    running.wait_for(r"shop\.py:11: workflow greeting: .*", after=seen)
    running.wait_for(r"The worker ended \(exit code 1\)\. It starts when a file changes", after=seen)
    seen = len(running.lines)
    shop.write_text(APP)
    running.wait_for(READY, after=seen)
    assert "Traceback" not in running.output


def test_a_killed_worker_is_started_again_without_a_change(developed: tuple[Running, Path, Path]):
    running, _, _ = developed
    seen = len(running.lines)
    running.children()["worker"].kill()
    running.wait_for(r"worker ended \(killed by SIGKILL\) and restarts now", after=seen)
    running.wait_for(READY, after=seen)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path):
    done = run("dev", str(tmp_path / "none" / "shop.py"))
    assert done.returncode == 2
    assert f"there is no folder {tmp_path / 'none'} to watch" in done.stderr


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path):
    done = run("dev", str(tmp_path / "shop.py"))
    assert done.returncode == 2
    assert f"there is no file {tmp_path / 'shop.py'}" in done.stderr
