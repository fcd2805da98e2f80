"""What hands can handle: a free thing with the shape of a box, its weight, and how slippery it is."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Face(NamedTuple):
    """Where a thing is nearest to a point, and the outward normal there, world axes; how far off that is [m], negative inside."""

    place: np.ndarray
    normal: np.ndarray
    distance: float


class Thing:
    """A box-shaped thing of a scene, as hands find it."""

    def __init__(self, scene: Scene, name: str):
        """Find its hull: the largest box that collides."""
        m, self.name = scene.model, name
        tree = scene.trees(name)[0]
        boxes = [
            g
            for g in range(m.ngeom)
            if m.body_treeid[m.geom_bodyid[g]] == tree
            and m.geom_type[g] == mujoco.mjtGeom.mjGEOM_BOX
            and (m.geom_contype[g] or m.geom_conaffinity[g])
        ]
        if not boxes:
            raise InputError(f"{name!r}: expected a thing that has the shape of a box, such as ip.Box(…)")
        self._geom = max(boxes, key=lambda g: float(m.geom_size[g].prod()))
        self.bodies = frozenset(np.flatnonzero(m.body_treeid == tree).tolist())
        self._half, self._root = m.geom_size[self._geom].copy(), int(m.tree_bodyadr[tree])
        self._model = m

    @property
    def weight(self) -> float:
        """What it weighs now [N]."""
        return float(self._model.body_subtreemass[self._root] * np.linalg.norm(self._model.opt.gravity))

    @property
    def friction(self) -> float:
        """Coulomb's coefficient of its hull."""
        return float(self._model.geom_friction[self._geom, 0])

    def centre(self, terms: Kinematics) -> np.ndarray:
        """Return its centre of mass (3,) [m]."""
        return terms.subtree_com[self._root].copy()

    def turn(self, terms: Kinematics) -> np.ndarray:
        """Return its rotation (3, 3)."""
        return terms.geom_xmat[self._geom].reshape(3, 3).copy()

    def face(self, terms: Kinematics, point: np.ndarray, palm: np.ndarray) -> Face:
        """Return where a point is nearest to that face before which a palm is, and how far off the thing it is.

        A palm is outside, an operator's hand may be anywhere in it: there is nothing where he is.
        """
        R, p, half = self.turn(terms), terms.geom_xpos[self._geom], self._half
        local, before = R.T @ (point - p), R.T @ (palm - p)
        axis = int(np.argmax(np.abs(before) - half))
        normal = np.zeros(3)
        normal[axis] = np.sign(before[axis])
        on = np.clip(local, -half, half)
        outside = float(np.linalg.norm(local - on))
        on[axis] = normal[axis] * half[axis]
        return Face(p + R @ on, R @ normal, outside if outside > 0.0 else float((local - on) @ normal))
