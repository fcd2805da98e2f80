"""What holds bodies back, as far as it can be told: joints at their limits, motors at theirs, shapes kept apart, what gave way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from interplay.models.motors import torque_limits

if TYPE_CHECKING:
    from interplay.simulation import Simulation

AT_LIMIT, AT_DISTANCE, AT_TORQUE = 0.01, 0.005, 0.999
"""How near [rad or m] a joint is to the end of its range, [m] a pair to its least distance, how much of its torque a motor gives."""

MOST = 3
"""How many of each kind are named."""


def hindrances(sim: Simulation, *bodies: int) -> str:
    """Return in words what may hold some bodies at the present state; nothing where nothing is seen."""
    found = [
        f"{what}: {', '.join(names[:MOST])}" + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
        for what, names in (
            ("at the end of their range", list(_stopped(sim, bodies))),
            ("at full torque", list(_exhausted(sim, bodies))),
            ("kept apart", [words for _, words in sorted(_kept_apart(sim, bodies))]),
            ("gave way", list(dict.fromkeys(f"{c.kind} {c.name}".strip() for c in _conflicts(sim)))),
        )
        if names
    ]
    return "; ".join(found)


def _conflicts(sim: Simulation) -> tuple:
    return sim.outcome.conflicts if sim.outcome is not None else ()


def _movers(sim: Simulation, bodies: tuple[int, ...]) -> np.ndarray:
    """Return the DOFs that move the bodies."""
    return np.unique(np.concatenate([np.zeros(0, np.int64), *(sim.terms.chain(body) for body in bodies)]))


def _stopped(sim: Simulation, bodies: tuple[int, ...]) -> Iterator[str]:
    """Yield the joints that move the bodies and are at the end of their range."""
    m = sim.scene.model
    for joint in dict.fromkeys(m.dof_jntid[_movers(sim, bodies)].tolist()):
        low, high = m.jnt_range[joint]
        q = sim.state.qpos[m.jnt_qposadr[joint]]
        if m.jnt_limited[joint] and min(q - low, high - q) < AT_LIMIT:
            yield f"{m.joint(joint).name} ({q:.2f} of [{low:.2f}, {high:.2f}])"


def _exhausted(sim: Simulation, bodies: tuple[int, ...]) -> Iterator[str]:
    """Yield the joints that move the bodies and whose motors gave all they can in the last step."""
    if sim.outcome is None:
        return
    m, limit = sim.scene.model, torque_limits(sim.scene.model)
    for dof in _movers(sim, bodies).tolist():
        if np.isfinite(limit[dof]) and abs(sim.outcome.tau[dof]) > AT_TORQUE * limit[dof]:
            yield f"{m.joint(int(m.dof_jntid[dof])).name} ({abs(sim.outcome.tau[dof]):.0f} N·m)"


def _kept_apart(sim: Simulation, bodies: tuple[int, ...]) -> Iterator[tuple[float, str]]:
    """Yield the pairs of shapes of the bodies' trees that are as near as they may be: by how much they are not, and their names."""
    m, terms, near = sim.scene.model, sim.terms, sim.state.memory.pairs
    trees = {int(m.body_treeid[body]) for body in bodies} - {-1}
    least = {(p.geom1, p.geom2): p.security for p in sim.collisions.pairs}
    for k, (a, b) in enumerate((near.geoms % m.ngeom).tolist()):
        sides = [int(m.geom_bodyid[geom]) for geom in (a, b)]
        if (a, b) not in least or trees.isdisjoint(int(m.body_treeid[side]) for side in sides):
            continue
        one, two = (
            terms.xmat[side].reshape(3, 3) @ near.points[k, 0, end] + terms.xpos[side] for end, side in enumerate(sides)
        )
        distance = float(near.u[k] @ (one - two))
        if distance < least[a, b] + AT_DISTANCE:
            names = " – ".join(m.geom(geom).name for geom in (a, b))
            yield distance - least[a, b], f"{names} ({distance * 100:.1f} cm)"
