"""Live input as data: timed values of controls, and what else can be done to a running scene; read from and written as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interplay.errors import InputError, pick, vector
from interplay.motion.behaviour import Listener
from interplay.motion.pushes import movable, thrown
from interplay.objectives.base import Gains

if TYPE_CHECKING:
    from interplay.simulation import Simulation


class Target(NamedTuple):
    """One timed piece of live input: a control and its value, or what the user's hand does (``VERBS``)."""

    time: float
    control: str
    value: np.ndarray

    def row(self) -> list[Any]:
        """Return it as plain values: time, control, values; None: a gain left as it is."""
        return [self.time, self.control, [None if math.isnan(v) else v for v in self.value.tolist()]]

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Target:
        """Return what ``row`` returned."""
        time, control, values = row
        return cls(time, control, np.array([math.nan if v is None else v for v in values], float))


VERBS: dict[str, tuple[int, ...]] = {
    "push": (7, 10, 11),
    "pull": (6,),
    "let go": (0,),
    "adjust": (3,),
    "mass": (1,),
    "friction": (1,),
    "throw": (6,),
    "tell": (0,),
}
"""What live input can be besides controls, and how many numbers each takes.

``push BODY``: a point of the body in its own frame [m], force [N], seconds, and if wanted torque [N·m], and 1 where objectives give
way to it; ``pull BODY``: a point of the body in its own frame, the point of the world it is pulled to [m]; ``adjust OBJECTIVE`` (or
``adjust OBJECTIVE | PHASE``): weight, stiffness, damping, each may be left empty; ``mass BODY``: its mass [kg]; ``friction MODEL``: that of
whatever touches it; ``throw MODEL``: where it is put [m], its velocity [m/s]; ``tell MODEL/SKILL``: nothing more.
"""

OF_PHASE = " | "


def adjusted(label: str, phase: str | None) -> str:
    """Return the name of an objective that is adjusted, with the phase if it is in one only."""
    return label if phase is None else f"{label}{OF_PHASE}{phase}"


def deed(control: str) -> tuple[str, str] | None:
    """Return what is done and to what, if that is what the name of a piece of live input says."""
    if control == "let go":
        return control, ""
    verb, _, what = control.partition(" ")
    return (verb, what.strip()) if verb in VERBS and what.strip() else None


def listener(sim: Simulation, what: str) -> tuple[Listener, str]:
    """Return who is told what by ``MODEL/SKILL``, or raise an error."""
    who, _, command = what.partition("/")
    found = sim.behaviour.listeners if sim.behaviour is not None else {}
    if not found:
        raise InputError(f"tell {what!r}: nobody here listens; expected a character that is moved by skills")
    heard: Listener = pick("character that listens", who, dict(found))
    return heard, pick(f"skill of {who!r}", command, {name: name for name in heard.commands})


def read_targets(path: str | Path, sim: Simulation) -> list[Target]:
    """Read live input from a CSV file with rows ``time, control, value, …``; every problem names its line.

    A control is one of the simulation's, or a deed such as ``push BODY``: see ``VERBS``.
    """
    path = Path(path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"targets file {str(path)!r} cannot be read: {error}") from None
    out: list[Target] = []
    for line, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (line == 1 and cells[0].lower() == "time"):
            continue
        where = f"{path.name}, line {line}"
        if len(cells) < 2 or (len(cells) < 3 and VERBS.get((deed(cells[1]) or ("",))[0]) != (0,)):
            raise InputError(f"{where}: expected time, control and values, got {', '.join(cells)!r}")
        try:
            time = float(cells[0])
            values = [float(cell) if cell else None for cell in cells[2:]]
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        if not math.isfinite(time) or time < 0:
            raise InputError(f"{where}: expected a time ≥ 0 s, got {cells[0]}")
        try:
            out.append(_checked(time, cells[1], values, sim))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return sorted(out, key=lambda t: t.time)


def _checked(time: float, control: str, values: list[float | None], sim: Simulation) -> Target:
    """Return one row of a targets file, or raise an error that says what is wrong with it."""
    verb, what = deed(control) or ("", "")
    if control in sim.live.controls or not verb:
        known = {**sim.live.controls, **{f"{verb} …" if sizes[-1] else verb: None for verb, sizes in VERBS.items()}}
        pick("control", control, known)
        given = [v for v in values if v is not None]
        return Target(time, control, vector(f"control {control!r}", given, sim.live.controls[control].size))
    if verb == "adjust":
        gains = [*values, None, None, None][:3] if len(values) < 3 else values
        if len(gains) > 3 or all(v is None for v in gains):
            raise InputError(f"{control!r}: expected weight, stiffness and damping, got {values!r}")
        return Target.of_row([time, f"adjust {what}", Gains.checked(repr(what), *gains)])
    given = vector(repr(control), [v for v in values if v is not None], VERBS[verb])
    if verb == "friction":
        sim.live.frictions.shapes(what)
    elif verb == "throw":
        thrown(sim.scene, what, given[:3], given[3:])
    elif verb == "tell":
        listener(sim, what)
    elif verb != "let go":
        movable(sim.scene, what)
    return Target(time, f"{verb} {what}".strip(), given)


def targets_text(targets: Iterable[Target]) -> str:
    """Return live input as the text of a targets file, which reads back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", "control", "values"])
    for target in targets:
        time, control, values = target.row()
        writer.writerow([f"{time:.15g}", control, *("" if v is None else repr(v) for v in values)])
    return out.getvalue()
