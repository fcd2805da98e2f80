"""The skills that come with Interplay, one file each: a class, or key poses; and those of packages that are installed beside it."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from pathlib import Path

from interplay.errors import InputError
from interplay.skills.key_poses import KeyPoses, read
from interplay.skills.skill import Skill, by_name

PLUG_INS = "interplay.skills"
"""The group of entry points by which a package offers skills: each is a class of skills, or the path of a file of key poses."""


def repertoire(model: str, *more: type[Skill] | str | Path) -> list[Skill]:
    """Return all skills for one character: those that come with Interplay, those of plug-ins, and more of one's own.

    ``ip.repertoire("ann", "bow.yaml", Wave)``: a file of key poses, a class. One's own take the place of others that have their names:
    ``"roll_over.yaml"`` as ``interplay tune`` has written it.
    """
    offered: list[type[Skill] | str | Path] = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        offered += [k for k in vars(module).values() if _is_skill(k) and k.name and k.__module__ == module.__name__]
    offered += sorted(Path(__file__).parent.glob("*.yaml"))
    offered += [point.load() for point in entry_points(group=PLUG_INS)]
    made = by_name("repertoire", [_made(kind, model) for kind in offered])
    return list((made | by_name("repertoire", [_made(kind, model) for kind in more])).values())


def _is_skill(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Skill)


def _made(kind: type[Skill] | str | Path, model: str) -> Skill:
    if isinstance(kind, (str, Path)):
        return KeyPoses(model, read(kind))
    if not _is_skill(kind):
        raise InputError(f"repertoire: expected a class of skills or a file of key poses, got {kind!r}")
    return kind(model)
