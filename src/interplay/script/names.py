"""Checks every name of a file: against its scene, and against what the file itself declares."""

from __future__ import annotations

from collections.abc import Iterable

import interplay as ip
from interplay.errors import unknown_name
from interplay.script import entries as e
from interplay.script.file import File
from interplay.script.objectives import Pose, Use
from interplay.script.phases import Walk
from interplay.script.reader import Document, Problem


def check_names(file: File, scene: ip.Scene, document: Document) -> list[Problem]:
    """Return a problem for each name that nothing has, with the nearest that there is."""
    m = scene.model
    sites = {m.site(k).name for k in range(m.nsite)}
    bodies = {m.body(k).name for k in range(1, m.nbody)} | set(scene.names)
    valid: dict[type[e.Name], set[str]] = {
        e.Surface: sites,
        e.Body: bodies,
        e.Frame: sites | bodies,
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
    return [*out, *_phases(file), *_marks(file, scene, document), *_circles(file, document)]


def unused(file: File, document: Document) -> list[Problem]:
    """Return a warning for each control, set and mark that nobody uses."""
    used = {(type(item), str(item)) for item in e.walk(file) if isinstance(item, e.Name)}
    weighing = {name for name, control in file.controls.items() if getattr(control, "weighs", None)}
    out = []
    for what, section, kind, names in (
        ("control", "controls", e.ControlName, set(file.controls) - weighing),
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


def _marks(file: File, scene: ip.Scene, document: Document) -> list[Problem]:
    """A mark must not hide a model."""
    taken = {*scene.names, "now", ip.GROUND}
    return [
        Problem(document.line(("marks", name)), f"a mark cannot be called {str(name)!r}: that is taken")
        for name in file.marks
        if name in taken
    ]


def _circles(file: File, document: Document) -> list[Problem]:
    """A set must not use itself."""
    uses = {
        str(name): [str(x) for x in e.walk(entries) if isinstance(x, e.SetName)] for name, entries in file.sets.items()
    }

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        following: Iterable[str] = [n for n in uses.get(start, ()) if n not in seen]
        return any(n == goal or reaches(n, goal, seen | {n}) for n in following)

    return [
        Problem(document.line(("sets", name)), f"the set {str(name)!r} uses itself")
        for name in file.sets
        if reaches(str(name), str(name), set())
    ]
