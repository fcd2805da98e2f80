"""The skills that come with Interplay, one file each: a class, or key poses."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from interplay.skills.key_poses import KeyPoses, read
from interplay.skills.skill import Skill


def repertoire(model: str) -> list[Skill]:
    """Return all skills, for one character."""
    found: list[Skill] = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        kinds = [k for k in vars(module).values() if isinstance(k, type) and issubclass(k, Skill)]
        found += [kind(model) for kind in kinds if kind.name and kind.__module__ == module.__name__]
    return found + [KeyPoses(model, read(path)) for path in sorted(Path(__file__).parent.glob("*.yaml"))]
