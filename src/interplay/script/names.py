"""Checks every name of a file: against its scene, and against what the file itself declares."""

from __future__ import annotations

import mujoco
import numpy as np

import interplay as ip
from interplay.errors import unknown_name
from interplay.models.base import solid_shapes
from interplay.script import entries as e
from interplay.script.file import File
from interplay.script.objectives import Pose, Use
from interplay.script.phases import Walk
from interplay.script.reader import Document, Problem

MOST_OBJECTIVES, DEEPEST_SET = 1000, 24
"""How many objectives a set may have with those of the sets that it uses, and how deep such a use may go."""


def check_names(file: File, scene: ip.Scene, document: Document) -> list[Problem]:
    """Return a problem for each name that nothing has, with the nearest that there is."""
    m = scene.model
    sites = {m.site(k).name for k in range(m.nsite)}
    bodies = {m.body(k).name for k in range(1, m.nbody)} | set(scene.names)
    valid: dict[type[e.Name], set[str]] = {
        e.SurfaceName: sites,
        e.BodyName: bodies,
        e.FrameName: sites | bodies,
        e.Thing: {m.geom(k).name for k in range(m.ngeom)} - {""} | bodies,
        e.JointName: {m.joint(k).name for k in range(m.njnt)},
        e.ModelName: set(scene.names),
        e.ControlName: set(map(str, file.controls)),
        e.PhaseName: {entry.name for entry in file.phases},
        e.SetName: set(map(str, file.sets)),
        e.PlaceName: {*map(str, file.marks), "now", *sites, *bodies},
    }
    out = [
        Problem(name.line, str(unknown_name(name.what, str(name), valid[type(name)])))
        for name in e.walk(file)
        if isinstance(name, e.Name) and str(name) not in valid[type(name)]
    ]
    return [*out, *_phases(file), *_walkers(file, sites), *_marks(file, scene, document), *_circles(file, document)]


def names_of(scene: ip.Scene) -> dict[str, dict[str, list[str]]]:
    """Return what each model has, by what it is; each is used as MODEL/NAME."""
    m = scene.model
    every = {
        "surfaces": [m.site(k).name for k in range(m.nsite)],
        "bodies": [m.body(k).name for k in range(m.nbody)],
        "joints": [m.joint(k).name for k in range(m.njnt) if m.jnt_type[k] != int(mujoco.mjtJoint.mjJNT_FREE)],
        "shapes": [m.geom(k).name for k in np.flatnonzero(solid_shapes(m)).tolist()],
    }
    return {
        model: {
            kind: [name.removeprefix(f"{model}/") for name in names if name.startswith(f"{model}/")]
            for kind, names in every.items()
        }
        for model in scene.names
    }


def unused(file: File, document: Document) -> list[Problem]:
    """Return a warning for each control, set and mark that nobody uses."""
    used = {(type(item), str(item)) for item in e.walk(file) if isinstance(item, e.Name)}
    at_work = {name for name, c in file.controls.items() if getattr(c, "weighs", None) or getattr(c, "drives", None)}
    out = []
    for what, section, kind, names in (
        ("control", "controls", e.ControlName, set(file.controls) - at_work),
        ("set", "sets", e.SetName, set(file.sets)),
        ("mark", "marks", e.PlaceName, set(file.marks)),
    ):
        for name in sorted(names):
            if (kind, str(name)) not in used:
                out.append(Problem(document.line((section, name)), f"the {what} {str(name)!r} is used by nobody", True))
    return out


def _phases(file: File) -> list[Problem]:
    """Phases have names of their own, and refer to what came before them."""
    out, seen, names = [], list[str](), {entry.name for entry in file.phases}
    straight = all(entry.next is None for entry in file.phases)
    for entry in file.phases:
        if entry.name in seen:
            out.append(Problem(entry.line, f"there is a phase {entry.name!r} already"))
        seen.append(entry.name)
        if not isinstance(entry, Walk):
            lost = [x for x in entry.objectives if isinstance(x, Pose) and x.along is not None]
            out += [Problem(x.line, "'along' is for the objectives of a walk") for x in lost]
        since = [x.since for x in e.walk(entry) if isinstance(x, Use) and x.since is not None]
        if since and isinstance(entry, Walk):
            out.append(Problem(entry.line, "'since' is for plain phases: a walk's objectives are made when it begins"))
        out += [
            Problem(name.line, f"phase {entry.name!r} refers to {str(name)!r}, which comes after it")
            for name in since
            if straight and str(name) not in seen and str(name) in names
        ]
    return out


def _walkers(file: File, sites: set[str]) -> list[Problem]:
    """Who walks has soles."""
    return [
        Problem(name.line, f"{str(name)!r} cannot walk: it has no left_sole and right_sole")
        for entry in file.phases
        if isinstance(entry, Walk)
        for name in entry.walkers
        if str(name) in file.models and not {f"{name}/left_sole", f"{name}/right_sole"} <= sites
    ]


def _marks(file: File, scene: ip.Scene, document: Document) -> list[Problem]:
    """A mark must not hide a model, and neither of them what 'now' means."""
    names = [("mark", "marks", name) for name in file.marks if name in {*scene.names, "now", ip.GROUND}]
    names += [("model", "models", name) for name in file.models if name == "now"]
    return [
        Problem(document.line((section, name)), f"a {what} cannot be called {str(name)!r}: that is taken")
        for what, section, name in names
    ]


def _circles(file: File, document: Document) -> list[Problem]:
    """A set must not use itself, and sets that use sets must not grow beyond measure."""
    uses = {
        str(name): [str(x) for x in e.walk(entries) if isinstance(x, e.SetName) and str(x) in file.sets]
        for name, entries in file.sets.items()
    }
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    waiting = dict(uses)
    while ready := [name for name, used in waiting.items() if all(u in size for u in used)]:
        for name in ready:
            used = waiting.pop(name)
            size[name] = min(len(file.sets[name]) + sum(size[u] for u in used), MOST_OBJECTIVES + 1)
            depth[name] = 1 + max((depth[u] for u in used), default=0)
    out = [
        Problem(document.line(("sets", name)), f"the set {name!r} uses itself")
        for name in waiting
        if _reaches(uses, name)
    ]
    large = [name for name in size if size[name] > MOST_OBJECTIVES or depth[name] > DEEPEST_SET]
    return out + [
        Problem(
            document.line(("sets", name)),
            f"the set {name!r} has more than {MOST_OBJECTIVES} objectives, or uses sets that use sets "
            f"more than {DEEPEST_SET} deep",
        )
        for name in large[:1]
    ]


def _reaches(uses: dict[str, list[str]], name: str) -> bool:
    """Return whether a set uses itself, by whatever way."""
    seen, ahead = set[str](), [*uses[name]]
    while ahead:
        following = ahead.pop()
        if following not in seen:
            seen.add(following)
            ahead += uses[following]
    return name in seen
