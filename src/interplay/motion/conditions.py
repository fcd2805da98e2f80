"""Conditions on which phases end: surfaces met, feet landed, centre of mass shifted, things at rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from interplay.motion.hindrance import hindrances
from interplay.scene.surfaces import MAX_GAP, MAX_TILT

if TYPE_CHECKING:
    from interplay.motion.machine import Condition
    from interplay.simulation import Simulation


TURNING = 0.2
"""How fast surfaces that have met may still turn against each other [rad/s]."""


class Waiting:
    """A condition that says what is missing while it does not hold."""

    def __init__(self, missing: Callable[[Simulation], str], holds: Condition | None = None):
        """Take a function that says in words what is missing; nothing is when they are empty. ``holds`` may tell that sooner."""
        self.missing, self._holds = missing, holds or (lambda sim: not missing(sim))

    def __call__(self, sim: Simulation) -> bool:
        """Return whether it holds."""
        return self._holds(sim)


def missing(condition: Condition, sim: Simulation) -> str:
    """Return in words what a condition waits for; nothing where it holds."""
    if isinstance(condition, Waiting):
        return condition.missing(sim)
    return "" if condition(sim) else "its condition does not hold"


def all_of(*conditions: Condition) -> Condition:
    """Return a condition that holds when all do."""
    return Waiting(
        lambda sim: "; ".join(words for c in conditions if (words := missing(c, sim))),
        lambda sim: all(c(sim) for c in conditions),
    )


def met(first: str, second: str, gap: float = 0.004, speed: float = 0.01) -> Waiting:
    """Two surfaces lie on each other (distance along the normal for patches, of the centres for grips), aligned, and hardly move."""
    gap = min(gap, MAX_GAP)

    def lacking(sim: Simulation) -> str:
        terms, scene = sim.terms, sim.scene
        a, b = scene.site(first), scene.site(second)
        between = terms.site_xpos[a] - terms.site_xpos[b]
        patch = scene.model.site_type[a] == int(mujoco.mjtGeom.mjGEOM_BOX)
        cosine = float(terms.site_xmat[a].reshape(3, 3)[:, 2] @ terms.site_xmat[b].reshape(3, 3)[:, 2])
        normal = terms.site_xmat[b].reshape(3, 3)[:, 2]  # out of the second surface
        apart = float(between @ normal) if patch else float(np.linalg.norm(between))
        v1, v2 = (terms.motion(int(scene.model.site_bodyid[s]), terms.site_xpos[a]).velocity for s in (a, b))
        moving, turning = float(np.linalg.norm((v1 - v2)[:3])), float(np.linalg.norm((v1 - v2)[3:]))
        faults = []
        if abs(apart) >= gap:
            how = "apart" if apart > 0 else "inside each other"
            faults.append(f"are {abs(apart) * 100:.1f} cm {how} (expected below {gap * 100:.1f})")
        if patch and cosine > -np.cos(0.5 * MAX_TILT):
            tilt = np.degrees(np.arccos(np.clip(-cosine, -1, 1)))
            faults.append(f"are {tilt:.0f}° from facing each other (expected below {np.degrees(0.5 * MAX_TILT):.0f}°)")
        if moving >= speed or turning >= TURNING:
            faults.append(
                f"still move at {moving:.3f} m/s and {turning:.2f} rad/s (expected below {speed:g} and {TURNING:g})"
            )
        return f"{first!r} and {second!r} {', '.join(faults)}" if faults else ""

    def sides(sim: Simulation) -> list[int]:
        return [int(sim.scene.model.site_bodyid[sim.scene.site(name)]) for name in (first, second)]

    return _held(lacking, sides)


def _held(lacking: Callable[[Simulation], str], bodies: Callable[[Simulation], Sequence[int]]) -> Waiting:
    """Return a condition on bodies that also says, when it is asked what is missing, what holds them."""

    def words(sim: Simulation) -> str:
        lack = lacking(sim)
        held = hindrances(sim, *bodies(sim)) if lack else ""
        return f"{lack} ({held})" if held else lack

    return Waiting(words, lambda sim: not lacking(sim))


def com_over(model: str | Sequence[str], *surfaces: str, within: float = 0.03, speed: float = 0.05) -> Condition:
    """The centre of mass of a model, or of some together, stands over the middle of the surfaces, nearly at rest on them."""
    models = (model,) if isinstance(model, str) else tuple(model)

    def lacking(sim: Simulation) -> str:
        com, velocity = sim.com(*models)
        away = float(np.linalg.norm(com[:2] - sim.middle(*surfaces)[:2]))
        moving = float(np.linalg.norm(velocity[:2]))
        if away < within and moving < speed:
            return ""
        return (
            f"the centre of mass of {', '.join(models)} is {away * 100:.1f} cm beside the middle of {', '.join(surfaces)} and "
            f"moves at {moving:.3f} m/s (expected below {within * 100:.1f} and {speed:g})"
        )

    return Waiting(lacking)


def unloaded(surface: str, force: float = 20.0) -> Condition:
    """A contact carries less than a force [N]."""

    def lacking(sim: Simulation) -> str:
        load = float(np.linalg.norm(sim.force(surface)))
        return "" if load < force else f"{surface!r} bears {load:.1f} N (expected below {force:g})"

    return Waiting(lacking)


def joint_at(joint: str, value: float, within: float = 0.03, speed: float = 0.1) -> Condition:
    """A joint has reached a value [rad, m] and nearly rests."""

    def lacking(sim: Simulation) -> str:
        m, index = sim.scene.model, sim.scene.joint(joint)
        q, v = float(sim.state.qpos[m.jnt_qposadr[index]]), float(sim.state.qvel[m.jnt_dofadr[index]])
        if abs(q - value) < within and abs(v) < speed:
            return ""
        return f"{joint!r} is at {q:.3f}, moving at {v:.3f} (expected {value:g} within {within:g}, below {speed:g})"

    return _held(lacking, lambda sim: [int(sim.scene.model.jnt_bodyid[sim.scene.joint(joint)])])
