"""What skills know of a character: computed once per step, for all of them, and nothing of it is a plan.

Lengths are parts of her height as she stood first (that of her centre of mass), so that skills suit bodies of any size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from interplay.errors import unknown_name
from interplay.maths.hull import convex_hull
from interplay.motion.footsteps import SIDES
from interplay.objectives.balance import outside
from interplay.scene.kinematics import Kinematics

if TYPE_CHECKING:
    from interplay.simulation import Simulation

PRESSES = 1.0
"""A body touches something when it presses with so much [N]."""
SHARED = (
    *("facing", "leaning", "upright", "height", "speed", "sinking", "stirring", "capture", "gap", "flat"),
    *("carried", "elsewhere"),
)
"""Sensors that are a number each, which conditions in files may name."""


class Sensed(NamedTuple):
    """A character at a moment."""

    time: float
    place: np.ndarray
    """Of her centre of mass (3,) [m] …"""
    velocity: np.ndarray
    """… and its velocity (3,) [m/s]."""
    way: np.ndarray
    """Where she would come to rest from the middle of her feet, seen by her trunk: ahead, to her left (2,), of her height."""
    touching: Mapping[str, float]
    """What of her touches something, by the body's name, and how hard [N]."""
    angles: Mapping[str, float]
    """Her joints [rad, m] …"""
    speeds: Mapping[str, float]
    """… and how fast they are [rad/s, m/s]."""
    turning: np.ndarray
    """How fast her trunk turns, about its own axes (3,) [rad/s]."""
    heading: np.ndarray
    """Where her trunk looks, seen from above: a unit vector (2,)."""
    facing: float
    """How far her chest faces up: 1 on her back, −1 on her belly."""
    leaning: float
    """How far her left side is up: 1 lying on her right one, −1 on her left one."""
    upright: float
    """How far her trunk is upright: 1, or −1 head down."""
    height: float
    """Of her centre of mass above her lower foot, or above what is lowest of her if that is lower; of her height."""
    speed: float
    """Of her centre of mass [m/s]."""
    sinking: float
    """How fast it sinks [m/s]."""
    stirring: float
    """Mean speed of her joints [rad/s], the root of the mean square."""
    capture: float
    """How far out of the region between her feet her capture point is, of her height."""
    gap: float
    """How far off the ground below her corners of her soles are [m], at most."""
    flat: float
    """Cosine of how far her soles are tilted, the worse one."""
    carried: float
    """What part of her weight her feet carry."""
    elsewhere: float
    """What part other bodies of hers carry."""

    def number(self, name: str) -> float:
        """Return a sensor by name."""
        return float(getattr(self, known(name)))


def known(name: str) -> str:
    """Return the name of a sensor that is a number, or raise an error with the nearest one."""
    if name not in SHARED:
        raise unknown_name("sensor", name, SHARED)
    return name


class Senses:
    """The senses of one character of a simulation."""

    def __init__(self, sim: Simulation, model: str):
        """Take the simulation and the character, standing as she does at first."""
        scene, m = sim.scene, sim.scene.model
        self.model, self._tree = model, scene.trees(model)[0]
        self._root = int(m.tree_bodyadr[self._tree])
        self._bodies = np.flatnonzero(m.body_treeid == self._tree)
        self._names = {int(b): m.body(int(b)).name.removeprefix(f"{model}/") for b in self._bodies}
        self._trunk = next((b for b, name in self._names.items() if name == "chest"), self._root)
        self._soles = np.array([scene.site(f"{model}/{side}_sole") for side in SIDES])
        self._feet = set(m.site_bodyid[self._soles].tolist())
        joints = [int(j) for j in range(m.njnt) if m.body_treeid[m.jnt_bodyid[j]] == self._tree and m.jnt_type[j] >= 2]
        self._joints = [m.joint(j).name.removeprefix(f"{model}/") for j in joints]
        self._places, self._dofs = m.jnt_qposadr[joints].astype(np.int64), m.jnt_dofadr[joints].astype(np.int64)
        self.height = float(scene.rest.subtree_com[self._root][2]) - float(self._corners(scene.rest)[..., 2].min())
        """Height of her centre of mass as she stood first [m]."""

    def _corners(self, terms: Kinematics) -> np.ndarray:
        """Return the corners of both soles (2, 4, 3) [m]."""
        out = np.empty((len(self._soles), 4, 3))
        _corners(terms.site_xpos, terms.site_xmat, terms.model.site_size, self._soles, out)
        return out

    def look(self, sim: Simulation) -> Sensed:
        """Return what is sensed at the present state."""
        terms, qpos, qvel = sim.terms, sim.state.qpos, sim.state.qvel
        place, velocity = sim.com(self.model)
        trunk = terms.xmat[self._trunk].reshape(3, 3)
        corners = self._corners(terms)
        heights = corners[..., 2].ravel().tolist()
        low = min(*heights, float(terms.xpos[self._bodies, 2].min()))
        above = max(float(place[2]) - low, 0.1 * self.height)
        point = place[:2] + velocity[:2] * math.sqrt(above / sim.scene.gravity)
        feet = corners.reshape(-1, 3)[:, :2]
        ahead = trunk[:2, 0] / max(math.hypot(*trunk[:2, 0].tolist()), 1e-9)
        off, stirring = point - feet.mean(axis=0), qvel[self._dofs]
        touching, carried, elsewhere = self._touches(sim)
        return Sensed(
            sim.time,
            place,
            velocity,
            np.array([ahead @ off, np.array([-ahead[1], ahead[0]]) @ off]) / self.height,
            touching,
            dict(zip(self._joints, qpos[self._places].tolist(), strict=True)),
            dict(zip(self._joints, stirring.tolist(), strict=True)),
            trunk.T @ terms.cvel[self._trunk, :3],
            ahead,
            float(trunk[2, 0]),
            float(trunk[2, 1]),
            float(trunk[2, 2]),
            above / self.height,
            math.hypot(*velocity.tolist()),
            -float(velocity[2]),
            math.sqrt(float(stirring @ stirring) / len(stirring)),
            math.hypot(*outside(convex_hull(feet), point).tolist()) / self.height,
            max(heights),  # of the ground: what else is there is felt, not seen
            -float(terms.site_xmat[self._soles, 8].max()),  # which point out of them
            carried,
            elsewhere,
        )

    def _touches(self, sim: Simulation) -> tuple[dict[str, float], float, float]:
        """Return what touches and how hard, and what part of her weight is carried by feet and by all else."""
        touching: dict[str, float] = {}
        weight = float(sim.terms.subtree_mass[self._root]) * sim.scene.gravity  # masses may change
        carried = elsewhere = 0.0
        tree = sim.scene.model.body_treeid
        for (one, two), force in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
            for body, other, sign in ((one, two, 1.0), (two, one, -1.0)):
                if tree[body] != self._tree or tree[other] == self._tree:
                    continue
                name, lifted = self._names[body], sign * float(force[2]) / weight
                touching[name] = touching.get(name, 0.0) + float(np.linalg.norm(force))
                if body in self._feet:
                    carried += lifted
                else:
                    elsewhere += lifted
        return {name: force for name, force in touching.items() if force > PRESSES}, carried, elsewhere


@numba.njit(cache=True)
def _corners(xpos, xmat, size, sites, out):
    """Write the corners of rectangular sites, around each, in world axes."""
    for s in range(sites.shape[0]):
        site = sites[s]
        for k in range(4):
            x = size[site, 0] if k < 2 else -size[site, 0]
            y = size[site, 1] if k in (0, 3) else -size[site, 1]
            for i in range(3):
                out[s, k, i] = xpos[site, i] + xmat[site, 3 * i] * x + xmat[site, 3 * i + 1] * y
