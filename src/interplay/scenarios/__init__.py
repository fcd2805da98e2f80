"""Scenarios: each in a file of its own, found by itself; they use the public API only."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from interplay.errors import pick
from interplay.scenarios.base import Scenario


def registry() -> dict[str, type[Scenario]]:
    """Return all scenarios by name."""
    found: dict[str, type[Scenario]] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for item in vars(module).values():
            if (
                isinstance(item, type)
                and issubclass(item, Scenario)
                and item is not Scenario
                and item.__module__ == module.__name__
            ):
                found[item.name] = item
    return found


FILES = Path(__file__).parent / "files"
"""Scenario files that come with Interplay."""


def scenario(name: str | Path) -> type[Scenario]:
    """Return a scenario by name, or by the path of a scenario file; or raise an error that names the nearest."""
    if str(name).endswith((".yaml", ".yml")):
        from interplay.script.scenario import load

        return load(script_path(name), built_in)
    return built_in(str(name))


def script_path(name: str | Path) -> Path:
    """Return the path of a scenario file; one that is not there by its plain name may be among those of Interplay."""
    path = Path(name)
    return FILES / path if path.name == str(path) and not path.exists() else path


def built_in(name: str) -> type[Scenario]:
    """Return a built-in scenario by name, or raise an error that names the nearest."""
    return pick("scenario", name, registry())
