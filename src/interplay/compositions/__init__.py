"""Compositions that come with Interplay, one file each, and where they are found by name."""

from __future__ import annotations

import importlib
import pkgutil

from interplay.composition import Composition
from interplay.errors import pick


def compositions() -> dict[str, type[Composition]]:
    """Return the built-in compositions by name."""
    found: dict[str, type[Composition]] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for item in vars(module).values():
            if (
                isinstance(item, type)
                and issubclass(item, Composition)
                and item.name
                and item.__module__ == module.__name__
            ):
                found[item.name] = item
    return found


def composition(name: str) -> type[Composition]:
    """Return a composition by name, or raise an error that names the nearest."""
    return pick("composition", name, compositions())
