"""Meet: a surface comes onto another one, which may itself move, ready for a contact."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numba
import numpy as np

from interplay.errors import InputError, number, unknown_name, vector
from interplay.maths.rotations import quaternion_of, rotation, turned
from interplay.objectives.base import Feature
from interplay.objectives.path import pose_on_path
from interplay.objectives.pose import Pose
from interplay.objectives.reference import Sample
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

_STRAIGHT = np.zeros(3)


class Meet(Pose):
    """Pose of a surface on its way to another surface (patches face to face, grips along their axes), or to a point.

    It starts where the surface is in ``terms`` and arrives after some seconds, turned as little as possible. ``via`` is a
    way-point [m]; ``stand_off`` keeps a distance [m] before the target, along its normal or axis; ``by`` is where on a
    patch, from its middle [m], and ``pointing`` where the fingers (the surface's x axis) point in the end: both in world
    axes, and from then on they move with the target. ``turn_weight`` (by default ``weight``) lets the orientation yield to
    the path: a foot lifted behind the body cannot stay flat.
    """

    def __init__(
        self,
        surface: str,
        target: str | Sequence[float] | np.ndarray,
        terms: Kinematics,
        begin: float,
        seconds: float,
        *,
        via: Sequence[float] | None = None,
        stand_off: float = 0.0,
        by: Sequence[float] | None = None,
        pointing: Sequence[float] | None = None,
        weight: float = 100.0,
        turn_weight: float | None = None,
        stiffness: float = 60.0,
        name: str | None = None,
    ):
        """Take both surfaces (or a point (3,)), the present terms, the time it begins, its duration [s] and its weights."""
        super().__init__(surface, weight=weight, stiffness=stiffness, name=name)
        self._goal, self._begin = target if isinstance(target, str) else vector("target", target, 3), begin
        self._seconds, self._stand_off = number("seconds", seconds, 1e-3), number("stand_off", stand_off)
        self._via = None if via is None else vector("via", via, 3)
        turn = self.weight if turn_weight is None else number("turn_weight", turn_weight, 0, 1e9)
        share = np.sqrt(turn / self.weight) if self.weight > 0 else 1.0
        self._scale = None if share == 1.0 else np.array([1.0, 1.0, 1.0, share, share, share])
        site = _site(terms, surface)
        self._start = np.concatenate([terms.site_xpos[site], quaternion_of(terms.site_xmat[site])])
        self._planar = bool(terms.model.site_type[site] == int(mujoco.mjtGeom.mjGEOM_BOX))
        self._by, self._pointing = self._along("by", by, terms), self._along("pointing", pointing, terms)
        if by is not None and not self._planar:
            raise InputError(f"by: expected patches, got {surface!r}: grips meet in their middle")
        if pointing is not None:
            length = float(np.linalg.norm(self._pointing))
            if length < 1e-3:
                raise InputError(f"pointing: expected a direction along {target!r}, got {pointing!r}")
            self._pointing /= length

    def _along(self, what: str, value: Sequence[float] | None, terms: Kinematics) -> np.ndarray:
        """Return the part of a vector (world axes) that lies along the target, in the target's axes: it moves with that."""
        if value is None:
            return np.zeros(3)
        if not isinstance(self._goal, str):
            raise InputError(f"{what}: expected a surface to meet, got a point")
        axes = terms.site_xmat[_site(terms, self._goal)].reshape(3, 3)
        return axes.T @ vector(what, value, 3) * [1.0, 1.0, 0.0]

    def bind(self, scene: Scene) -> None:
        """Find both surfaces."""
        super().bind(scene)
        self._target = scene.site(self._goal) if isinstance(self._goal, str) else -1

    def goal(self, terms: Kinematics) -> np.ndarray:
        """Return the pose (7,) in which the surfaces meet."""
        if self._target < 0:
            return np.concatenate([self._goal, self._start[3:]])
        place, turn = terms.site_xpos[self._target], terms.site_xmat[self._target].reshape(3, 3)
        return _face_to_face(self._start, place, turn, self._planar, self._stand_off, self._by, self._pointing)

    def sample(self, terms: Kinematics, time: float) -> Sample:
        """Return the sample of the path to where the surfaces meet at the given state."""
        goal = self.goal(terms)
        arch = _STRAIGHT if self._via is None else self._via - (self._start[:3] + goal[:3]) / 2
        return Sample(*pose_on_path(self._start, goal, arch, time - self._begin, self._seconds))

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the feature of the pose, its rows scaled so that one weight serves both parts."""
        x, k = super().feature(terms, time), self._scale
        if k is None:
            return x
        error, velocity, jacobian, bias = x
        return Feature(k * error, k * velocity, k[:, None] * jacobian, k * bias)

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return displacement [m] and turn [rad] that remain."""
        return super().feature(terms, time).error


def _site(terms: Kinematics, surface: str) -> int:
    """Return the site of a surface."""
    m = terms.model
    site = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, surface) if isinstance(surface, str) else -1
    if site < 0:
        raise unknown_name("surface", surface, [m.site(k).name for k in range(m.nsite)])
    return site


@numba.njit(cache=True)
def _face_to_face(start, place, turn, planar, stand_off, by, pointing):
    """Return the pose (7,) on a surface to which a pose comes by the shortest turn: patches face each other.

    ``by`` is where on it, and ``pointing`` where the x axis then points, unless it is zero: both in the surface's axes.
    """
    now, goal, about = rotation(start[3:]), np.empty(7), np.empty(3)
    along = now[0, 2] * turn[0, 2] + now[1, 2] * turn[1, 2] + now[2, 2] * turn[2, 2]
    way = -1.0 if planar or along < 0.0 else 1.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        about[i] = now[j, 2] * (way * turn[k, 2]) - now[k, 2] * (way * turn[j, 2])
        goal[i] = place[i] + stand_off * turn[i, 2] + turn[i, 0] * by[0] + turn[i, 1] * by[1]
    sine = np.sqrt(about[0] * about[0] + about[1] * about[1] + about[2] * about[2])
    angle = np.arctan2(sine, way * along)
    for i in range(3):
        about[i] = about[i] * (angle / sine) if sine > 1e-9 else angle * now[i, 0]
    quat = turned(about, start[3:])
    if pointing[0] != 0.0 or pointing[1] != 0.0:  # turn on about the normal
        now, ahead, aside = rotation(quat), 0.0, 0.0
        for i in range(3):
            wanted = turn[i, 0] * pointing[0] + turn[i, 1] * pointing[1]
            ahead += now[i, 0] * wanted
            aside += now[i, 1] * wanted
        angle = np.arctan2(aside, ahead)
        for i in range(3):
            about[i] = angle * now[i, 2]
        quat = turned(about, quat)
    for i in range(4):
        goal[3 + i] = quat[i]
    return goal
