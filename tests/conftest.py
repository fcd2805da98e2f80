from pathlib import Path

import pytest

from browser import chromium, open_tab  # noqa: F401 - fixtures
from interplay.io.export import export
from interplay.runs.run import run


def pytest_collection_modifyitems(items):
    """Files are run whole by one worker (they share what they set up), those with a browser by the same one."""
    for item in items:
        group = "browser" if "open_tab" in item.fixturenames else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Runs a scenario to its end once per session and exports its exact record."""
    done: dict[tuple, Path] = {}

    def get(name: str, dt: float = 0.005) -> Path:
        if (name, dt) not in done:
            folder = tmp_path_factory.mktemp(f"{name}_{round(1000 * dt)}")
            report = run(name, folder, dt=dt)
            assert report["failure"] is None
            export(folder, folder / "run.npz")
            done[name, dt] = folder
        return done[name, dt]

    return get
