"""What a character who stands wants beside her balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interplay.motion.footsteps import SIDES
from interplay.objectives.base import Objective
from interplay.objectives.momentum import AngularMomentum
from interplay.objectives.pose import Orientation
from interplay.objectives.posture import Posture

if TYPE_CHECKING:
    from interplay.simulation import Simulation


def soles(model: str) -> tuple[str, ...]:
    """Return the names of a character's soles."""
    return tuple(f"{model}/{side}_sole" for side in SIDES)


def parts(sim: Simulation, model: str, *names: str) -> list[str]:
    """Return those bodies of a model that it has, with its name before them: not every character has a neck."""
    bodies = {sim.scene.model.body(b).name for b in range(sim.scene.model.nbody)}
    return [f"{model}/{name}" for name in names if f"{model}/{name}" in bodies]


def upright(sim: Simulation, model: str) -> list[Objective]:
    """Return what a character who stands wants beside her balance: her posture, and trunk and head upright."""
    return [
        Posture(model, weight=0.3),
        AngularMomentum(model, weight=0.005),
        *(Orientation(body, weight=1.0) for body in parts(sim, model, "pelvis", "chest")),
        *(Orientation(body, weight=0.3) for body in parts(sim, model, "head")),
    ]
