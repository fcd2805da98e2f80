"""Kinematics and dynamics terms of one scene at one state: MuJoCo's quantities, and Jacobians read from them.

MuJoCo describes each kinematic tree about its own centre of mass c (``subtree_com`` of the root). With its motion axes
``cdof`` = (ω, v at c) a point p moves by the columns (v + ω × (p − c), ω); with the bias acceleration a of a body along
q̈ = 0 (the sum of ``cdof_dot`` q̇ down the tree) the point accelerates by a_lin + a_ang × r + ω × v_p. All of it is
checked against ``mj_jac`` and ``mj_jacDot`` in the tests.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import mujoco
import numba
import numpy as np

_FIELDS = (
    "qpos",
    "qvel",
    "M",
    "qfrc_bias",
    "qfrc_passive",
    "cdof",
    "cdof_dot",
    "cvel",
    "cinert",
    "crb",
    "xpos",
    "xmat",
    "xipos",
    "subtree_com",
    "site_xpos",
    "site_xmat",
    "geom_xpos",
    "geom_xmat",
)


class Motion(NamedTuple):
    """Velocity and bias acceleration (6: linear, angular; world axes) of a point that moves with a body."""

    velocity: np.ndarray
    bias: np.ndarray


class Kinematics:
    """The terms of a scene. ``update`` moves them to a state; everything else reads."""

    def __init__(self, model: mujoco.MjModel):
        """Allocate the data of one model."""
        self.model = m = model
        self.data = d = mujoco.MjData(model)
        for field in _FIELDS:
            setattr(self, field, getattr(d, field))
        self.root = m.body_rootid.astype(np.int64)
        self.parent = m.body_parentid.astype(np.int64)
        self.bias_acc = np.zeros((m.nbody, 6))
        self._dofadr, self._dofnum = m.body_dofadr.astype(np.int64), m.body_dofnum.astype(np.int64)
        self._dof_parent, self._dof_body = m.dof_parentid.astype(np.int64), m.dof_bodyid.astype(np.int64)
        self._trees = np.column_stack([m.tree_dofadr, m.tree_dofnum, m.tree_bodyadr, m.tree_bodynum]).astype(np.int64)
        chains = [self.chain(body) for body in range(m.nbody)]
        self.chain_start = np.concatenate([[0], np.cumsum([len(c) for c in chains])]).astype(np.int64)
        self.chain_dofs = np.concatenate(chains)
        """The DOFs that move each body, one body after another; ``chain_start`` says where each begins."""
        self.moving = (
            self.cdof,
            self.cvel,
            self.bias_acc,
            self.subtree_com,
            self.root,
            self.chain_start,
            self.chain_dofs,
        )
        """What ``point_motion_and_jacobian`` takes of the terms."""
        self.subtree_mass = m.body_subtreemass
        self.body_mass = m.body_mass
        self.massive = (
            self.body_mass,
            self.xipos,
            self.cvel,
            self.bias_acc,
            self.subtree_com,
            self.root,
            self.crb,
            self.cdof,
        )
        """What the motion of a centre of mass depends on."""

    qpos: np.ndarray
    qvel: np.ndarray
    M: np.ndarray
    qfrc_bias: np.ndarray
    qfrc_passive: np.ndarray
    cdof: np.ndarray
    cdof_dot: np.ndarray
    cvel: np.ndarray
    cinert: np.ndarray
    crb: np.ndarray
    xpos: np.ndarray
    xmat: np.ndarray
    xipos: np.ndarray
    subtree_com: np.ndarray
    site_xpos: np.ndarray
    site_xmat: np.ndarray
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray

    @functools.cached_property
    def twin(self) -> Kinematics:
        """Other terms of the same model, to look at other configurations with; shared by all who do."""
        return Kinematics(self.model)

    def place(self, qpos: np.ndarray) -> None:
        """Update positions only (bodies, sites, geoms)."""
        self.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)

    def update(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Update every term to the state (q, v)."""
        m, d = self.model, self.data
        self.qpos[:] = qpos
        self.qvel[:] = qvel
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_makeM(m, d)
        mujoco.mj_comVel(m, d)
        mujoco.mj_passive(m, d)
        mujoco.mj_rne(m, d, 0, d.qfrc_bias)
        _bias_accelerations(self.parent, self._dofadr, self._dofnum, self.cdof_dot, self.qvel, self.bias_acc)

    def chain(self, body: int) -> np.ndarray:
        """Return the DOFs (ascending) that move a body."""
        m = self.model
        while body and m.body_dofnum[body] == 0:
            body = int(m.body_parentid[body])
        if body == 0:
            return np.zeros(0, np.int64)
        dofs = [int(m.body_dofadr[body] + m.body_dofnum[body] - 1)]
        while self._dof_parent[dofs[-1]] >= 0:
            dofs.append(int(self._dof_parent[dofs[-1]]))
        return np.array(dofs[::-1], np.int64)

    def tree_dofs(self, tree: int) -> np.ndarray:
        """Return the DOFs of a kinematic tree."""
        start = int(self.model.tree_dofadr[tree])
        return np.arange(start, start + int(self.model.tree_dofnum[tree]), dtype=np.int64)

    def point(self, body: int, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return velocity, bias acceleration (6) and Jacobian (6, n) of a body's point over the DOFs ``chain(body)``."""
        return point_motion_and_jacobian(*self.moving, body, point)

    def motion(self, body: int, point: np.ndarray) -> Motion:
        """Return velocity and bias acceleration of a body's point."""
        out = np.empty((2, 6))
        point_motion(self.cvel[body], self.bias_acc[body], point - self.subtree_com[self.root[body]], out)
        return Motion(out[0], out[1])

    def mass_times(self, vector: np.ndarray) -> np.ndarray:
        """Return M v (nv,), by the sparse mass matrix."""
        out = np.empty(self.model.nv)
        mujoco.mj_mulM(self.model, self.data, out, vector)
        return out

    def mass_solved(self, rows: np.ndarray) -> np.ndarray:
        """Return M⁻¹ x of each row x (k, nv)."""
        out, rows = np.empty_like(rows), np.ascontiguousarray(rows)
        mujoco.mj_factorM(self.model, self.data)
        mujoco.mj_solveM(self.model, self.data, out, rows)
        return out

    def full_mass(self) -> np.ndarray:
        """Return the dense mass matrix (nv, nv)."""
        out = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, out)
        return out

    def momentum(self, tree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return centroidal momentum (6: linear, angular about the tree's COM), its matrix A (6, n) and bias Ȧ q̇ of a tree.

        Column i of A is the composite inertia below DOF i times its axis: both are about the tree's COM already.
        """
        return _momentum(
            self._trees[tree],
            self._dof_body,
            self.crb,
            self.cdof,
            self.cinert,
            self.cvel,
            self.bias_acc,
            self.qvel,
        )

    def momentum_rates(self, trees: np.ndarray, qacc: np.ndarray) -> np.ndarray:
        """Return A q̈ + Ȧ q̇ of some trees (k, 6: linear, angular about each tree's COM)."""
        return _momentum_rates(
            self._trees[trees],
            self._dof_body,
            self.crb,
            self.cdof,
            self.cinert,
            self.cvel,
            self.bias_acc,
            self.qvel,
            qacc,
        )


def weigh_subtrees(m: mujoco.MjModel) -> None:
    """Bring a model up to masses that were changed.

    Of what ``mj_setConst`` derives from them, only the masses of subtrees (by which MuJoCo finds centres of mass) concern the terms
    used here; the rest are scales of MuJoCo's own constraint solver.
    """
    _add_up(m.body_parentid, m.body_mass, m.body_subtreemass)


@numba.njit(cache=True)
def _add_up(parent, mass, total):
    for b in range(mass.shape[0]):
        total[b] = mass[b]
    for b in range(mass.shape[0] - 1, 0, -1):
        total[parent[b]] += total[b]


@numba.njit(cache=True)
def _bias_accelerations(parent, dofadr, dofnum, cdof_dot, qvel, out):
    for b in range(1, parent.shape[0]):
        for k in range(6):
            out[b, k] = out[parent[b], k]
        for i in range(dofadr[b], dofadr[b] + dofnum[b]):
            for k in range(6):
                out[b, k] += cdof_dot[i, k] * qvel[i]


@numba.njit(cache=True)
def point_column(axis, r, out):
    """Write the 6D Jacobian column (linear, angular) of one motion axis (ω, v) at the offset r from the axis' origin."""
    out[0] = axis[3] + axis[1] * r[2] - axis[2] * r[1]
    out[1] = axis[4] + axis[2] * r[0] - axis[0] * r[2]
    out[2] = axis[5] + axis[0] * r[1] - axis[1] * r[0]
    out[3] = axis[0]
    out[4] = axis[1]
    out[5] = axis[2]


@numba.njit(cache=True)
def point_motion_and_jacobian(cdof, cvel, bias_acc, com, root, chain_start, chain_dofs, body, point):
    """Return velocity, bias acceleration (6) and Jacobian (6, n) of a body's point: see ``Kinematics.point``."""
    first, last = chain_start[body], chain_start[body + 1]
    r, column, origin = np.empty(3), np.empty(6), com[root[body]]
    for i in range(3):
        r[i] = point[i] - origin[i]
    motion, jacobian = np.empty((2, 6)), np.empty((6, last - first))
    point_motion(cvel[body], bias_acc[body], r, motion)
    for k in range(last - first):
        point_column(cdof[chain_dofs[first + k]], r, column)
        for row in range(6):
            jacobian[row, k] = column[row]
    return motion[0], motion[1], jacobian


@numba.njit(cache=True)
def point_motion(twist, acc, r, out):
    """Write velocity (row 0) and bias acceleration (row 1), linear then angular, of a point at offset r."""
    point_column(twist, r, out[0])
    point_column(acc, r, out[1])
    v = out[0]
    # From the spatial to the classical acceleration of a point: + ω × v_p.
    out[1, 0] += twist[1] * v[2] - twist[2] * v[1]
    out[1, 1] += twist[2] * v[0] - twist[0] * v[2]
    out[1, 2] += twist[0] * v[1] - twist[1] * v[0]


@numba.njit(cache=True)
def _inertia_times(c, t, out):
    """Spatial inertia ``c`` (MuJoCo's 10 numbers: inertia 6, mass·offset 3, mass) times a motion (ω, v): (linear, angular)."""
    out[0] = c[9] * t[3] - c[7] * t[2] + c[8] * t[1]
    out[1] = c[9] * t[4] - c[8] * t[0] + c[6] * t[2]
    out[2] = c[9] * t[5] - c[6] * t[1] + c[7] * t[0]
    out[3] = c[0] * t[0] + c[3] * t[1] + c[4] * t[2] + c[7] * t[5] - c[8] * t[4]
    out[4] = c[3] * t[0] + c[1] * t[1] + c[5] * t[2] + c[8] * t[3] - c[6] * t[5]
    out[5] = c[4] * t[0] + c[5] * t[1] + c[2] * t[2] + c[6] * t[4] - c[7] * t[3]


@numba.njit(cache=True)
def _momentum(tree, dof_body, crb, cdof, cinert, cvel, bias_acc, qvel):
    dof, dofs, body, bodies = tree[0], tree[1], tree[2], tree[3]
    momentum, matrix, bias = np.zeros(6), np.empty((6, dofs)), np.zeros(6)
    h, rate = np.empty(6), np.empty(6)
    for k in range(dofs):
        _inertia_times(crb[dof_body[dof + k]], cdof[dof + k], h)
        for i in range(6):
            matrix[i, k] = h[i]
            momentum[i] += h[i] * qvel[dof + k]
    for b in range(body, body + bodies):
        _inertia_times(cinert[b], bias_acc[b], rate)
        _inertia_times(cinert[b], cvel[b], h)
        t = cvel[b]  # (ω, v)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            bias[i] += rate[i] + t[j] * h[k] - t[k] * h[j]
            bias[3 + i] += rate[3 + i] + t[j] * h[3 + k] - t[k] * h[3 + j] + t[3 + j] * h[k] - t[3 + k] * h[j]
    return momentum, matrix, bias


@numba.njit(cache=True)
def _momentum_rates(trees, dof_body, crb, cdof, cinert, cvel, bias_acc, qvel, qacc):
    out = np.empty((trees.shape[0], 6))
    for t in range(trees.shape[0]):
        _, matrix, bias = _momentum(trees[t], dof_body, crb, cdof, cinert, cvel, bias_acc, qvel)
        out[t] = bias
        for k in range(trees[t, 1]):
            for i in range(6):
                out[t, i] += matrix[i, k] * qacc[trees[t, 0] + k]
    return out
