import fcntl
import os
import sys
from pathlib import Path

import pytest

from browser import chromium, open_tab  # noqa: F401 - fixtures
from interplay.catalogue import scenario
from interplay.io.export import export
from interplay.runs.run import run

LONG = (
    "test_stage_browser.py",
    "test_physics.py",
    "test_falls.py",
    "test_scenarios.py",
    "test_recording.py",
    "test_characters.py",
    "test_stage_security.py",
    "test_cli.py",
    "test_stage_performer.py",
    "test_never_stuck.py",
    "test_page.py",
    "test_acrobats.py",
)
"""Files that take long: whoever began them last would be waited for."""


def pytest_collection_modifyitems(items):
    """Put long files first; each is run whole by one worker (``make test``), as its tests share what they set up."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session", autouse=True)
def stages_end():
    """Close what tests that failed have left open."""
    yield
    if tools := sys.modules.get("stage_tools"):
        for stage in list(tools.Stage.running):
            stage.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Runs a scenario to its end, at its own step unless another is given, and exports its record, once for all workers."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def get(name: str, dt: float | None = None) -> Path:
        dt = dt or scenario(name).dt
        folder = root / f"finished_{name}_{round(1000 * dt)}"
        with open(f"{folder}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "run.npz").exists():
                report = run(name, folder, dt=dt)
                assert report["failure"] is None
                export(folder, folder / "run.npz")
        return folder

    return get


@pytest.fixture(scope="module")
def lever(tmp_path_factory):
    """Alice takes hold of a lever: the folder of its run."""
    folder = tmp_path_factory.mktemp("lever")
    run("lever", folder, seconds=2.5)
    return folder
