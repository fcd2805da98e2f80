"""Scenarios: each in a file of its own, found by itself; they use the public API only."""

from __future__ import annotations

import importlib
import pkgutil

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


def scenario(name: str) -> type[Scenario]:
    """Return a scenario by name, or raise an error that names the nearest."""
    return pick("scenario", name, registry())
