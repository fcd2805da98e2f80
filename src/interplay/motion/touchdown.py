"""Touchdown where things touch by themselves: a foot has landed when it feels what it lands on, sooner or later than planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import ContactError
from interplay.motion.conditions import Waiting, met
from interplay.objectives.reference import Reference, Sample

if TYPE_CHECKING:
    from interplay.motion.clock import Clock
    from interplay.motion.machine import Condition
    from interplay.simulation import Simulation

FELT = 15.0
"""A force [N] along the normal that tells that a foot has landed."""
_AS_KNOWN = 0.003
"""What is felt within this of where a surface is known to be [m] is that surface; else there is something on it, or a hole in it."""
_SUNK = 0.0015
"""How deep a foot may be in what it has just landed on [m]: it comes out again, and should not seem to have lifted then."""
SEEKS, _DEEPEST = 0.4, 0.15
"""How fast a foot that should have landed goes on downward [m/s], and how far [m]."""


def felt(sim: Simulation, sole: str, on: str) -> bool:
    """Return whether a foot touches what it is to land on, or what lies there: any part of the environment where that is one."""
    m = sim.scene.model
    foot, ground = (int(m.site_bodyid[sim.scene.site(name)]) for name in (sole, on))
    normal, fixed = sim.terms.site_xmat[sim.scene.site(on)].reshape(3, 3)[:, 2], m.body_treeid < 0
    total = 0.0
    for (a, b), force in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
        other = b if a == foot else a
        if foot in (a, b) and (other == ground or (fixed[ground] and fixed[other])):
            total += float(normal @ force) * (1.0 if a == foot else -1.0)
    return total > FELT


def land(sim: Simulation, sole: str, on: str, **options: Any) -> Contact | None:
    """Make the contact of a foot that has landed, at the height at which it did; None: it cannot yet, it lies too far askew."""
    try:
        return sim.contacts.add(sole, on, landing=True, raised=_raised(sim, sole, on), **options)
    except ContactError:
        return None


def _raised(sim: Simulation, sole: str, on: str) -> float:
    """Return how far the lowest corner of a sole is before a surface [m], where that is not as known."""
    terms, (a, b) = sim.terms, (sim.scene.site(sole), sim.scene.site(on))
    normal, turn = terms.site_xmat[b].reshape(3, 3)[:, 2], terms.site_xmat[a].reshape(3, 3)
    half = sim.scene.model.site_size[a, :2]
    gap = float(normal @ (terms.site_xpos[a] - terms.site_xpos[b])) - float(np.abs(normal @ turn[:, :2]) @ half)
    return gap + _SUNK if abs(gap) > _AS_KNOWN else 0.0


def landed(sole: str, on: str, **options: Any) -> Condition:
    """A foot has its contact, where the world feels things touch; elsewhere the two surfaces have met (options as of ``met``)."""
    close = met(sole, on, **options)

    def lacking(sim: Simulation) -> str:
        if not sim.world.finds_contacts:
            return close.missing(sim)
        return "" if sim.contacts.between(sole, on) else f"{sole!r} has not felt {on!r}"

    return Waiting(lacking, lambda sim: not lacking(sim) if sim.world.finds_contacts else close(sim))


class Seeking:
    """A foot's path in simulated time, from which it goes on downward when it should have landed."""

    full: ClassVar[bool] = True

    def __init__(self, path: Reference, clock: Clock, due: float):
        """Take the path in simulated time, the clock of its walk, and when it is due to land, in the walk's time [s]."""
        self._path, self._clock, self._due = path, clock, due

    def at(self, time: float) -> Sample:
        """Return pose (7,), twist and its derivative."""
        sample, late = self._path.at(time), self._clock.elapsed(time) - self._due
        if late <= 0.0:
            return sample
        value, velocity, change = (np.array(part, float) for part in sample)
        value[2] -= min(SEEKS * late, _DEEPEST)
        velocity[2] -= SEEKS if SEEKS * late < _DEEPEST else 0.0
        return Sample(value, velocity, change)
