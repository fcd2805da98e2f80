"""Centre of mass of one model, or of a group moving together: the objective that makes a group cooperate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from interplay.errors import InputError
from interplay.objectives.base import EFFORT, Effort, Feature, Objective
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics, point_column, point_motion
from interplay.scene.scene import Scene

MOST = 20.0
"""What a centre of mass is pulled by at most, where forces are controlled [N/kg]."""


class Com(Objective):
    """Centre of mass [m] of the named models together; by default it stays where it is in the initial state.

    ``axes`` picks world axes: ``"xyz"``, or ``"xy"`` for its ground projection.
    """

    def __init__(
        self,
        *models: str,
        reference: Any = None,
        axes: str = "xyz",
        weight: float = 100.0,
        stiffness: float = 20.0,
        max_speed: float | None = 0.5,
        name: str | None = None,
    ):
        """Take one model or a group."""
        super().__init__(weight, stiffness, max_speed=max_speed, name=name)
        self.models, self._given = models, reference
        self.axes = _axes(axes)

    def bind(self, scene: Scene) -> None:
        """Collect the group's trees."""
        trees = sorted(
            {
                t
                for name in (self.models or scene.names)
                for t in (scene.trees(name) if scene.kind(name) != "environment" else ())
            }
        )
        if not trees:
            raise InputError(f"Com: nothing among {self.models or scene.names} can move")
        terms = scene.rest
        self.dofs = np.concatenate([terms.tree_dofs(t) for t in trees])
        self.own = self.dofs
        """The DOFs of the trees whose centre of mass it is."""
        m = scene.model
        self._bodies = np.concatenate(
            [np.arange(m.tree_bodyadr[t], m.tree_bodyadr[t] + m.tree_bodynum[t]) for t in trees]
        ).astype(np.int64)
        self._dof_body = m.dof_bodyid[self.dofs].astype(np.int64)
        self.dim = len(self.axes)
        self.reference: Reference = as_reference(
            f"{type(self).__name__} reference",
            self.position(terms)[self.axes] if self._given is None else self._given,
            self.dim,
        )

    def about(self) -> tuple[str, ...]:
        """Return the group and the axes."""
        return "+".join(self.models), "".join("xyz"[a] for a in self.axes)

    def position(self, terms: Kinematics) -> np.ndarray:
        """Return the centre of mass (3,) [m]."""
        mass = terms.body_mass[self._bodies]
        return mass @ terms.xipos[self._bodies] / mass.sum()

    def motion(self, terms: Kinematics, dofs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the COM's position, velocity and bias acceleration as rows (3, 3), and its Jacobian over the trees' DOFs.

        Over none of them where the Jacobian is not needed.
        """
        return com_motion(*terms.massive, self._bodies, dofs, self._dof_body)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return position, velocity, Jacobian and bias of the group's COM, on the axes chosen."""
        reference = self.reference.at(time)
        return Feature(*_com_on_axes(*terms.massive, self._bodies, self.dofs, self._dof_body, self.axes, *reference))

    def effort(self, terms: Kinematics, time: float) -> Effort:
        """Return the force on the centre of mass (5) that would move it as the objective wants."""
        x, mass = self.eased(self.feature(terms, time)), float(terms.body_mass[self._bodies].sum())
        jacobian = self.motion(terms, self.own)[1][self.axes]
        most = np.full(self.dim, MOST * mass)
        return Effort(mass * self.pulled(x), self.own, jacobian, EFFORT * self.weight_at(terms, time), most)

    def eased(self, x: Feature) -> Feature:
        """Return what of a feature pulls: all of it."""
        return x

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the centre of mass, and its reference on the axes chosen."""
        return self._with_goal(self.position(terms), self.reference.at(time).value)

    def _with_goal(self, now: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        there = now.copy()
        there[self.axes] = goal
        return now, there


def _axes(axes: Sequence[str]) -> np.ndarray:
    if not axes or any(a not in "xyz" for a in axes):
        raise InputError(f"axes: expected some of 'xyz', got {axes!r}")
    return np.array(["xyz".index(a) for a in axes])


@numba.njit(cache=True)
def com_motion(body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, dofs, dof_body):
    """Return position, velocity and bias acceleration as rows (3, 3) of the bodies' centre of mass, and its Jacobian."""
    total = 0.0
    motion, point, r = np.zeros((3, 3)), np.empty((2, 6)), np.empty(3)
    for b in bodies:
        m, origin = body_mass[b], com[root[b]]
        total += m
        for i in range(3):
            r[i] = xipos[b, i] - origin[i]
        point_motion(cvel[b], bias_acc[b], r, point)
        for i in range(3):
            motion[0, i] += m * xipos[b, i]
            motion[1, i] += m * point[0, i]
            motion[2, i] += m * point[1, i]
    for k in range(3):
        for i in range(3):
            motion[k, i] /= total
    jac, column = np.empty((3, dofs.shape[0])), np.empty(6)
    for k in range(dofs.shape[0]):
        # The subtree below a DOF moves with it: composite inertia holds its mass and mass·offset.
        c = crb[dof_body[k]]
        for i in range(3):
            r[i] = c[6 + i] / c[9]
        point_column(cdof[dofs[k]], r, column)
        for i in range(3):
            jac[i, k] = c[9] / total * column[i]
    return motion, jac


@numba.njit(cache=True)
def _com_on_axes(
    body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, dofs, dof_body, axes, value, velocity, acceleration
):
    motion, jac = com_motion(body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, dofs, dof_body)
    return on_axes(motion, jac, axes, value, velocity, acceleration)


@numba.njit(cache=True)
def on_axes(motion, jac, axes, value, velocity, acceleration):
    """Return error, velocity, Jacobian and bias along some axes."""
    n = axes.shape[0]
    error, rate, rows, bias = np.empty(n), np.empty(n), np.empty((n, jac.shape[1])), np.empty(n)
    for i in range(n):
        a = axes[i]
        error[i], rate[i], bias[i] = motion[0, a] - value[i], motion[1, a] - velocity[i], motion[2, a] - acceleration[i]
        for k in range(jac.shape[1]):
            rows[i, k] = jac[a, k]
    return error, rate, rows, bias
