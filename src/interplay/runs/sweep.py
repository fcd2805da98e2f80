"""The push sweep: how hard a character may be pushed on the chest, from all sides, until she falls (simulated world).

A push lasts 0.1 s; she survives it if she does not fall, her centre of mass stays above 0.7 of its height, and she comes to rest:
4 s later, or while she is on her way back after that, 8 s later at most, her capture point is over the feet that she stands on.
Impulses grow until two in a row are not survived; what counts is the largest of all before the first that was not, which is then
halved towards.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from interplay.constraints.manner import Manner
from interplay.errors import ContactError, InputError, StepError, number, pick, whole
from interplay.models.base import Model
from interplay.models.humanoid import Humanoid
from interplay.models.loader import BodyFile
from interplay.motion.catching import capture, off
from interplay.runs.pool import measured
from interplay.runs.run import make_folder
from interplay.runs.sweep_report import report_contacts, report_pushes
from interplay.scenario import stands
from interplay.scene.scene import GROUND, Scene
from interplay.simulation import Simulation
from interplay.worlds.simulated import SimulatedWorld

SETTLED, PUSHED, LATER, LATEST = 1.0, 0.1, 4.0, 8.0
"""When she is pushed [s], how long, and how long after the push she is at rest: at least, and at most, if she is on her way back then."""
LOWEST = 0.7
"""The part of its height above which the centre of mass stays."""
GRID, MOST, HALVINGS = 3.0 / 68.0, 3.0, 2
"""Step between impulses that are tried, and the largest [N·s/kg]: 3 and 204 N·s for 68 kg; how often the last gap is halved."""

WHO = "ann"
"""What she is called."""

Progress = Callable[[int, int, str], None]


class Way(NamedTuple):
    """A way of keeping one's balance that is measured."""

    steps: bool = False
    controller: str = "integrated"
    manner: Manner | None = None
    contact: tuple[tuple[str, Any], ...] = ()
    """Options of the contacts of her soles, once she stands."""


WAYS: dict[str, Way] = {
    "steps": Way(steps=True),
    "in place": Way(),
    "prioritised": Way(controller="prioritised"),
    "unstabilised": Way(manner=SimulatedWorld.manner._replace(stop=0.0, back=0.0)),
    "pinned": Way(contact=(("pinned", True),)),
    "joint PD": Way(controller="servos"),
}
"""With steps; feet in place; the same with strict priorities, without stabilisation of contacts, with pinned ones; servos alone."""

STABILISATION: dict[str, Way] = {
    f"{100 * shrink:g} %, {force:g} N": Way(contact=(("shrink", shrink), ("min_force", force)))
    for force in (0.0, 20.0, 50.0)
    for shrink in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
}
"""Feet in place, by what part the regions of soles are drawn in, and their least forces [N]."""


class Case(NamedTuple):
    """One direction of one way at one rate."""

    way: str
    how: Way
    rate: float
    """Plans per second."""
    direction: float
    """Of the push [°], from straight ahead counter-clockwise."""
    height: float | None
    character: str | None

    def body(self) -> Model:
        """Return who is pushed."""
        if self.character is not None:
            return BodyFile(self.character)
        if self.height is None:
            return Humanoid(1.74, 68)
        return Humanoid.child(self.height) if self.height < 1.3 else Humanoid(self.height)


class Pushed(NamedTuple):
    """What was found in a case: the largest impulse survived [N·s], the body's mass [kg], and all impulses that were tried."""

    case: Case
    impulse: float
    mass: float
    tried: list[tuple[float, bool]]

    def row(self) -> dict[str, Any]:
        """Return it as plain values."""
        case = self.case
        return {
            "way": case.way,
            **{key: value for key, value in case.how.contact if key in ("shrink", "min_force")},
            "rate": case.rate,
            "direction": case.direction,
            "mass": round(self.mass, 3),
            "impulse": round(self.impulse, 3),
            "per_kg": round(self.impulse / self.mass, 4),
        }


def sweep(
    out: str | Path,
    *,
    ways: Sequence[str] = tuple(WAYS),
    rates: Sequence[float] = (100.0,),
    directions: int = 16,
    height: float | None = None,
    character: str | Path | None = None,
    contacts: bool = False,
    workers: int | str = 2,
    progress: Progress | None = None,
) -> list[Table]:
    """Measure, write ``pushes.json``, ``pushes.csv`` and ``pushes.png``, and return tables for the terminal.

    Args:
        out: the folder.
        ways: some of ``WAYS``.
        rates: plans per second.
        directions: how many, evenly spaced, the first straight ahead.
        height: of a human [m], below 1.3 a child; by default 1.74 m and 68 kg.
        character: sidecar of a body that is pushed instead.
        contacts: instead of ways, feet in place with soles drawn in and least forces: ``contacts.json``, ``.csv`` and ``.png``.
        workers: processes, or the address of a dask scheduler.
        progress: called with (done, total, case).
    """
    chosen = STABILISATION if contacts else {way: pick("way", way, WAYS) for way in ways}
    height = None if height is None else number("height", height, 0.5, 2.6, "m")
    count, body = whole("directions", directions, 1, 360), None if character is None else str(character)
    cases = [
        Case(name, way, number("rate", rate, 5, 1000, "Hz"), 360.0 * k / count, height, body)
        for name, way in chosen.items()
        for rate in rates
        for k in range(count)
    ]
    if not cases:
        raise InputError("sweep: expected at least one way and one rate")
    out, title = Path(out), "contacts" if contacts else "pushes"
    make_folder(out)
    found: list[Pushed] = []
    for pushed in measured(largest, cases, workers):
        found = sorted([*found, pushed], key=lambda one: cases.index(one.case))
        kept = [{**one.row(), "tried": one.tried} for one in found]
        (out / f"{title}.json").write_text(json.dumps(kept, allow_nan=False, indent=1) + "\n")  # it takes long: at once
        if progress:
            progress(len(found), len(cases), f"{pushed.case.way}, {pushed.case.rate:g} Hz")
    rows = [one.row() for one in found]
    with (out / f"{title}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return (report_contacts if contacts else report_pushes)(rows, out / f"{title}.png")


def largest(case: Case) -> Pushed:
    """Find the largest impulse that is survived in a case."""
    scene = Scene().add(case.body(), WHO)
    mass = float(scene.model.body_mass.sum())
    grid, tried = GRID * mass, {0.0: True}

    def survives(impulse: float) -> bool:
        tried[impulse] = survived(scene, case, impulse)
        return tried[impulse]

    failed = 0
    while failed < 2 and max(tried) < MOST * mass:
        failed = 0 if survives(max(tried) + grid) else failed + 1
    low, high = _bounds(tried)
    for _ in range(HALVINGS):
        if math.isfinite(high):
            survives(0.5 * (low + high))
            low, high = _bounds(tried)
    return Pushed(case, low, mass, sorted(tried.items()))


def _bounds(tried: Mapping[float, bool]) -> tuple[float, float]:
    """Return the smallest impulse that was not survived, and before it the largest that was."""
    high = min((impulse for impulse, well in tried.items() if not well), default=math.inf)
    return max(impulse for impulse in tried if impulse < high), high


def survived(scene: Scene, case: Case, impulse: float) -> bool:
    """Return whether an impulse [N·s] is survived."""
    how, angle = case.how, math.radians(case.direction)
    sim = Simulation(
        scene, 1.0 / case.rate, world="simulated", controller=how.controller, manner=how.manner, on_fall="continue"
    )
    stands(sim, WHO, steps=how.steps)
    lowest = LOWEST * sim.com(WHO)[0][2]
    try:
        sim.run(SETTLED)
        if how.contact:
            for sole in (f"{WHO}/left_sole", f"{WHO}/right_sole"):
                sim.contacts.remove(sole, GROUND)
                sim.contacts.add(sole, GROUND, **dict(how.contact))
        force = impulse / PUSHED
        sim.live.push(f"{WHO}/chest", (force * math.cos(angle), force * math.sin(angle), 0.0), PUSHED)
        while (since := sim.time - SETTLED - PUSHED) < LATEST:
            sim.step()
            if sim.fallen or sim.com(WHO)[0][2] < lowest:
                return False
            if since >= LATER and _at_rest(sim):
                return True
    except (StepError, ContactError):
        pass
    return False


def _at_rest(sim: Simulation) -> bool:
    """Return whether her capture point is over the feet that she stands on."""
    soles = {s.name for c in sim.contacts for s in (c.first, c.second)} - {GROUND}
    return bool(soles) and off(sim, soles, capture(sim, WHO, GROUND).point) == 0.0
