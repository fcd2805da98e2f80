"""What a composition is: parameters, and an optimal motion that follows from them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any, ClassVar

import pydantic

import interplay.compositions as built_ins
from interplay.errors import checked, pick
from interplay.spacetime.performing import Performance
from interplay.spacetime.solving import Progress


class Parameters(pydantic.BaseModel):
    """Parameters of a composition; each field has a default, bounds and a description with its unit."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class Composition:
    """Subclass in a file of ``interplay/compositions``: set ``name`` and ``summary``, fill ``compose``."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    class Parameters(Parameters):
        """No parameters of its own."""

    def __init__(self, parameters: Mapping[str, Any] | None = None):
        """Take parameter values by name (strings are converted)."""
        self.p = checked(type(self).Parameters, f"parameter of {self.name!r}", parameters or {})

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        raise TypeError(f"{type(self).__name__} does not define compose()")


def compositions() -> dict[str, type[Composition]]:
    """Return the built-in compositions by name."""
    found: dict[str, type[Composition]] = {}
    for info in sorted(pkgutil.iter_modules(built_ins.__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{built_ins.__name__}.{info.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Composition) and item.name and item.__module__ == module.__name__:
                found[item.name] = item
    return found


def composition(name: str) -> type[Composition]:
    """Return a composition by name, or raise an error that names the nearest."""
    return pick("composition", name, compositions())
