"""Centre of mass seen from what it stands on: balance on a support that moves, such as someone's shoulders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interplay.errors import InputError
from interplay.objectives.base import Feature
from interplay.objectives.com import Com
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class ComOver(Com):
    """Centre of mass [m] of the named models together, minus the middle of some surfaces, which may move; world axes.

    ``ip.ComOver("middle", "top", over=("middle/left_sole", "middle/right_sole"))`` keeps what stands on those soles in
    balance over them, wherever they are carried. By default the offset stays what it is in the initial state.
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
        name: str | None = None,
    ):
        """Take one model or a group, and the surfaces it is measured from."""
        super().__init__(
            *models, axes=axes, weight=weight, stiffness=stiffness, max_speed=max_speed, reference=reference, name=name
        )
        self.over = (over,) if isinstance(over, str) else tuple(over)
        if not self.over:
            raise InputError("ComOver: expected at least one surface to be over")

    def bind(self, scene: Scene) -> None:
        """Collect the group's trees and the chains of DOFs that move the surfaces."""
        self._sites = [scene.site(name) for name in self.over]
        super().bind(scene)
        m, terms = scene.model, scene.kinematics()
        self._own = self.dofs
        self._site_body = [int(m.site_bodyid[site]) for site in self._sites]
        chains = [terms.chain(body) for body in self._site_body]
        self.dofs = np.unique(np.concatenate([self._own, *chains]))
        self._columns = np.searchsorted(self.dofs, self._own)
        self._chains = [np.searchsorted(self.dofs, chain) for chain in chains]

    def position(self, terms: Kinematics) -> np.ndarray:
        """Return the offset (3,) [m] of the centre of mass from the middle of the surfaces."""
        return super().position(terms) - terms.site_xpos[self._sites].mean(axis=0)

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return offset, relative velocity, Jacobian and bias."""
        motion, own = self.motion(terms, self._own)
        jac = np.zeros((3, len(self.dofs)))
        jac[:, self._columns] = own
        share = 1.0 / len(self._sites)
        for site, body, chain in zip(self._sites, self._site_body, self._chains, strict=True):
            p = terms.site_xpos[site]
            v, a, J = terms.point(body, p)
            motion -= share * np.array([p, v[:3], a[:3]])
            jac[:, chain] -= share * J[:3]
        return self.against_reference(motion, jac, time)
