"""The catalogue: every scenario that can be run, by name or by the path of a scenario file."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import interplay.scenarios as built_ins
from interplay.errors import pick
from interplay.motion.clip_file import SHIPPED
from interplay.scenario import Scenario
from interplay.script import check as checks
from interplay.script.reader import Problem
from interplay.script.scenario import load

FILES = Path(built_ins.__file__).parent / "files"
"""Scenario files that come with Interplay."""


def registry() -> dict[str, type[Scenario]]:
    """Return the built-in scenarios by name: those of the files in ``interplay/scenarios``."""
    found: dict[str, type[Scenario]] = {}
    for info in sorted(pkgutil.iter_modules(built_ins.__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{built_ins.__name__}.{info.name}")
        for item in vars(module).values():
            if (
                isinstance(item, type)
                and issubclass(item, Scenario)
                and item.name  # what several share has none
                and item.__module__ == module.__name__
            ):
                found[item.name] = item
    return found


def scenario(name: str | Path) -> type[Scenario]:
    """Return a scenario by name, or by the path of a scenario file; or raise an error that names the nearest."""
    if str(name).endswith((".yaml", ".yml")):
        return load(script_path(name), built_in)
    return built_in(str(name))


def script_path(name: str | Path) -> Path:
    """Return the path of a scenario file; one that is not there by its plain name may be among those of Interplay."""
    path = Path(name)
    if path.name != str(path) or path.exists():
        return path
    return next((folder / path for folder in (FILES, SHIPPED) if (folder / path).exists()), FILES / path)


def built_in(name: str) -> type[Scenario]:
    """Return a built-in scenario by name, or raise an error that names the nearest."""
    return pick("scenario", name, registry())


def check(path: str | Path) -> list[Problem]:
    """Return all problems of a scenario file, in the order of its lines, the odd ones marked as warnings."""
    return checks.check(script_path(path), built_in)


def names_in(path: str | Path) -> dict[str, dict[str, list[str]]]:
    """Return the surfaces, bodies, joints and shapes of each model of a scenario file."""
    return checks.names_in(script_path(path), built_in)
