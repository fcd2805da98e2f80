"""Conditions on which phases end: surfaces met, feet landed, centre of mass shifted, things at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from interplay.scene.surfaces import MAX_GAP, MAX_TILT

if TYPE_CHECKING:
    from interplay.motion.machine import Condition
    from interplay.simulation import Simulation


TURNING = 0.2
"""How fast surfaces that have met may still turn against each other [rad/s]."""


def all_of(*conditions: Condition) -> Condition:
    """Return a condition that holds when all do."""
    return lambda sim: all(c(sim) for c in conditions)


def met(first: str, second: str, gap: float = 0.004, speed: float = 0.01) -> Condition:
    """Two surfaces lie on each other (distance along the normal for patches, of the centres for grips), aligned, and hardly move."""

    def condition(sim: Simulation) -> bool:
        terms, scene = sim.terms, sim.scene
        a, b = scene.site(first), scene.site(second)
        between = terms.site_xpos[a] - terms.site_xpos[b]
        patch = scene.model.site_type[a] == int(mujoco.mjtGeom.mjGEOM_BOX)
        cosine = float(terms.site_xmat[a].reshape(3, 3)[:, 2] @ terms.site_xmat[b].reshape(3, 3)[:, 2])
        if patch and cosine > -np.cos(0.5 * MAX_TILT):
            return False
        apart = (
            abs(float(between @ terms.site_xmat[b].reshape(3, 3)[:, 2])) if patch else float(np.linalg.norm(between))
        )
        v1, v2 = (terms.motion(int(scene.model.site_bodyid[s]), terms.site_xpos[a]).velocity for s in (a, b))
        slow = np.linalg.norm((v1 - v2)[:3]) < speed and np.linalg.norm((v1 - v2)[3:]) < TURNING
        return bool(apart < min(gap, MAX_GAP) and slow)

    return condition


def com_over(model: str | Sequence[str], *surfaces: str, within: float = 0.03, speed: float = 0.05) -> Condition:
    """The centre of mass of a model, or of some together, stands over the middle of the surfaces, nearly at rest on them."""
    models = (model,) if isinstance(model, str) else tuple(model)

    def condition(sim: Simulation) -> bool:
        com, velocity = sim.com(*models)
        middle = sim.middle(*surfaces)
        return float(np.linalg.norm(com[:2] - middle[:2])) < within and float(np.linalg.norm(velocity[:2])) < speed

    return condition


def unloaded(surface: str, force: float = 20.0) -> Condition:
    """A contact carries less than a force [N]."""

    def condition(sim: Simulation) -> bool:
        return float(np.linalg.norm(sim.force(surface))) < force

    return condition


def joint_at(joint: str, value: float, within: float = 0.03, speed: float = 0.1) -> Condition:
    """A joint has reached a value [rad, m] and nearly rests."""

    def condition(sim: Simulation) -> bool:
        m, index = sim.scene.model, sim.scene.joint(joint)
        q, v = sim.state.qpos[m.jnt_qposadr[index]], sim.state.qvel[m.jnt_dofadr[index]]
        return abs(float(q) - value) < within and abs(float(v)) < speed

    return condition
