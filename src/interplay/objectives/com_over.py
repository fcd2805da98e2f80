"""Centre of mass seen from what it stands on: balance on a support that moves, such as someone's shoulders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from interplay.errors import InputError, number
from interplay.objectives.base import Feature
from interplay.objectives.com import Com, com_motion, on_axes
from interplay.scene.kinematics import Kinematics, point_column, point_motion
from interplay.scene.scene import Scene


class ComOver(Com):
    """Centre of mass [m] of the named models together, minus the middle of some surfaces, which may move; world axes.

    ``ip.ComOver("middle", "top", over=("middle/left_sole", "middle/right_sole"))`` keeps what stands on those soles in
    balance over them, wherever they are carried. By default the offset stays what it is in the initial state.

    ``near`` makes it the balance of abe2007, d = k_s (x_d − x) − k_d ẋ with k_s ∝ 1/√‖x_d − x‖: firm where it belongs, patient
    far from there. The stiffness is that within ``near`` [m]; at a distance r beyond, it is √(near/r) of it. Over all that one
    touches (``reference=(0, 0)``), or over the middle of what is stable (``sim.stability_region``).
    """

    def __init__(
        self,
        *models: str,
        over: Sequence[str],
        reference: Any = None,
        axes: str = "xy",
        weight: float = 100.0,
        stiffness: float = 20.0,
        max_speed: float | None = 0.5,
        near: float | None = None,
        name: str | None = None,
    ):
        """Take one model or a group, and the surfaces it is measured from; without ``near`` the stiffness is one everywhere."""
        super().__init__(
            *models, axes=axes, weight=weight, stiffness=stiffness, max_speed=max_speed, reference=reference, name=name
        )
        self.over = (over,) if isinstance(over, str) else tuple(over)
        if not self.over:
            raise InputError("ComOver: expected at least one surface to be over")
        self._near = np.inf if near is None else number("ComOver near", near, 1e-4, 10.0, "m")

    def bind(self, scene: Scene) -> None:
        """Collect the group's trees and the chains of DOFs that move the surfaces."""
        self._sites = np.array([scene.site(name) for name in self.over])
        super().bind(scene)
        m, terms = scene.model, scene.rest
        self._site_body = m.site_bodyid[self._sites].astype(np.int64)
        chains = [terms.chain(int(body)) for body in self._site_body]
        self.dofs = np.unique(np.concatenate([self.own, *chains]))
        self._columns = np.searchsorted(self.dofs, self.own)

    def about(self) -> tuple[str, ...]:
        """Return the group, what it is over and the axes."""
        group, axes = super().about()
        return group, "over", "+".join(self.over), axes

    def position(self, terms: Kinematics) -> np.ndarray:
        """Return the offset (3,) [m] of the centre of mass from the middle of the surfaces."""
        return super().position(terms) - terms.site_xpos[self._sites].mean(axis=0)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return offset, relative velocity, Jacobian and bias."""
        return Feature(
            *_over(
                *terms.massive,
                self._bodies,
                self.own,
                self._dof_body,
                terms.site_xpos,
                terms.chain_start,
                terms.chain_dofs,
                self._sites,
                self._site_body,
                self.dofs,
                self._columns,
                self.axes,
                *self.reference.at(time),
            )
        )

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add the cost."""
        cost.add(self, self.weight_at(terms, time), self.eased(self.feature(terms, time)))

    def eased(self, x: Feature) -> Feature:
        """Return a feature of which what is far off pulls less than it is far."""
        size = float(np.sqrt(x.error @ x.error))
        return x._replace(error=np.sqrt(self._near / size) * x.error) if size > self._near else x

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the centre of mass, and where it should be over the surfaces."""
        middle = terms.site_xpos[self._sites].mean(axis=0)
        return self._with_goal(super().position(terms), middle[self.axes] + self.reference.at(time).value)


@numba.njit(cache=True)
def _over(
    body_mass,
    xipos,
    cvel,
    bias_acc,
    com,
    root,
    crb,
    cdof,
    bodies,
    own,
    dof_body,
    site_xpos,
    chain_start,
    chain_dofs,
    sites,
    site_body,
    dofs,
    columns,
    axes,
    value,
    velocity,
    acceleration,
):
    """Return error, velocity, Jacobian and bias of the centre of mass less the middle of the sites, along some axes."""
    motion, moves = com_motion(body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, own, dof_body)
    jac = np.zeros((3, dofs.shape[0]))
    for k in range(columns.shape[0]):
        for i in range(3):
            jac[i, columns[k]] = moves[i, k]
    share, point, column, r = 1.0 / sites.shape[0], np.empty((2, 6)), np.empty(6), np.empty(3)
    for k in range(sites.shape[0]):
        body, p = site_body[k], site_xpos[sites[k]]
        for i in range(3):
            r[i] = p[i] - com[root[body], i]
        point_motion(cvel[body], bias_acc[body], r, point)
        for i in range(3):
            motion[0, i] -= share * p[i]
            motion[1, i] -= share * point[0, i]
            motion[2, i] -= share * point[1, i]
        at = 0
        for j in range(chain_start[body], chain_start[body + 1]):
            while dofs[at] < chain_dofs[j]:  # both ascend
                at += 1
            point_column(cdof[chain_dofs[j]], r, column)
            for i in range(3):
                jac[i, at] -= share * column[i]
    return on_axes(motion, jac, axes, value, velocity, acceleration)
