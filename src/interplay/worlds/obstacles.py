"""Where bodies meet what nobody declared: the ground, the fixed environment, and shapes that were to keep apart and did not.

MuJoCo finds the points of contact, on a copy of the model in which every solid shape is one. Kept are those between a body and
the ground or the fixed environment, and those of given pairs; hands work inside the frames of mechanisms, which are met only as
pairs. Two bodies that a declared contact joins meet there, and nowhere else.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.models.base import solid_shapes
from interplay.scene.kinematics import Kinematics, point_column
from interplay.scene.scene import Scene

_NEAR = 0.005
"""Shapes nearer than this [m], or than they may come within a step, are looked at."""


class Points(NamedTuple):
    """Points (n, 3) where bodies (n, 2) meet; axes (n, 3, 3), the third one ON the first BY the second; gap [m] and friction (n,)."""

    bodies: np.ndarray
    position: np.ndarray
    axes: np.ndarray
    gap: np.ndarray
    friction: np.ndarray


class Obstacles:
    """The solid shapes of one scene."""

    def __init__(self, scene: Scene):
        """Take the scene; masses do not matter here."""
        m = scene.model
        self._model = own = copy.copy(m)
        solid = solid_shapes(m)
        own.geom_contype[:] = own.geom_conaffinity[:] = solid
        own.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._data = mujoco.MjData(own)
        fixed = m.body_treeid[m.geom_bodyid] < 0
        built = {name for name in scene.names if scene.kind(name) == "environment"} | {"world"}
        firm = fixed & np.array([m.body(int(b)).name.split("/")[0] in built for b in m.geom_bodyid])
        self._meet = (firm[:, None] & ~fixed) | (~fixed[:, None] & firm)
        """Which shapes (ngeom, ngeom) meet in any case."""
        self._movable = solid & ~fixed
        self._body = m.geom_bodyid.astype(np.int64)

    def points(self, qpos: np.ndarray, reach: float, pairs: np.ndarray, joined: Iterable[tuple[int, int]]) -> Points:
        """Return where shapes meet, or come nearer than ``reach`` [m] and a little; pairs of shapes (n, 2), bodies that are joined."""
        own, d = self._model, self._data
        own.geom_margin[self._movable] = _NEAR + reach
        d.qpos[:] = qpos
        mujoco.mj_kinematics(own, d)
        mujoco.mj_comPos(own, d)
        mujoco.mj_collision(own, d)
        found = d.contact
        geoms = np.asarray(found.geom).reshape(-1, 2)
        meet = self._meet[geoms[:, 0], geoms[:, 1]]
        if len(pairs):
            meet |= (np.sort(geoms, axis=1)[:, None] == np.sort(pairs, axis=1)).all(axis=2).any(axis=1)
        bodies = self._body[geoms]
        for one, other in joined:
            meet &= ~(
                ((bodies[:, 0] == one) & (bodies[:, 1] == other)) | ((bodies[:, 0] == other) & (bodies[:, 1] == one))
            )
        # MuJoCo's normal points from the first shape to the second; ours presses the first: the two are swapped.
        axes = np.asarray(found.frame).reshape(-1, 3, 3)[meet]
        turned = np.stack([axes[:, 1], axes[:, 2], axes[:, 0]], axis=2)
        friction = np.asarray(found.friction).reshape(-1, 5)[meet, 0]
        return Points(
            np.ascontiguousarray(bodies[meet][:, ::-1]),
            np.asarray(found.pos).reshape(-1, 3)[meet],
            turned,
            np.asarray(found.dist).reshape(-1)[meet],
            friction,
        )


def point_rows(terms: Kinematics, points: Points) -> np.ndarray:
    """Return the Jacobians (3n, nv) of the velocities of first bodies against second ones, in the points' axes."""
    out = np.zeros((3 * len(points.gap), terms.model.nv))
    _point_rows(
        terms.cdof,
        terms.subtree_com,
        terms.root,
        terms.chain_start,
        terms.chain_dofs,
        points.bodies,
        points.position,
        points.axes,
        out,
    )
    return out


@numba.njit(cache=True)
def _point_rows(cdof, com, root, chain_start, chain_dofs, bodies, position, axes, out):
    column = np.empty(6)
    for k in range(position.shape[0]):
        for side in range(2):
            body, sign = bodies[k, side], 1.0 - 2.0 * side
            for at in range(chain_start[body], chain_start[body + 1]):
                dof = chain_dofs[at]
                point_column(cdof[dof], position[k] - com[root[body]], column)
                for r in range(3):
                    along = axes[k, 0, r] * column[0] + axes[k, 1, r] * column[1] + axes[k, 2, r] * column[2]
                    out[3 * k + r, dof] += sign * along
