"""What a character who stands wants beside her balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interplay.maths.rotations import about_z, products, quaternion_of
from interplay.motion.footsteps import SIDES
from interplay.objectives.base import Objective
from interplay.objectives.loose import Loose
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


def upright(sim: Simulation, model: str, turn: float = 0.0, loose: bool = False) -> list[Objective]:
    """Return what a character who stands wants beside her balance: her posture, and trunk and head upright.

    ``turn`` is how far [rad] she has turned to her left since she stood first. ``loose`` arms swing with what she stands on.
    """

    def held(body: str, weight: float) -> Orientation:
        first = quaternion_of(sim.scene.rest.xmat[sim.scene.body(body)].reshape(3, 3))
        return Orientation(body, products(about_z(turn)[None], first[None])[0] if turn else None, weight=weight)

    limbs: list[Objective] = [Posture(model, weight=0.3)]
    if loose:
        arms = Loose(model)
        arms.attach(sim.scene)
        limbs = [Posture(model, weight=0.3, weights=dict.fromkeys(arms.joints, 0.0)), arms]
    return [
        *limbs,
        AngularMomentum(model, weight=0.005),
        *(held(body, 1.0) for body in parts(sim, model, "pelvis", "chest")),
        *(held(body, 0.3) for body in parts(sim, model, "head")),
    ]


def turn_since(sim: Simulation, model: str) -> float:
    """Return how far [rad] a character's feet have turned to her left since she stood first."""
    sites = [sim.scene.site(sole) for sole in soles(model)]
    first, now = (
        terms.site_xmat[sites].reshape(-1, 3, 3)[:, :2, 0].sum(axis=0) for terms in (sim.scene.rest, sim.terms)
    )
    return float(np.arctan2(first[0] * now[1] - first[1] * now[0], first @ now))
