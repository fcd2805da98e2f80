"""A hand that handles things as an operator's hand shows: drawn to its marker, and pressing besides (liu2012, equation 4)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from interplay.errors import number, vector
from interplay.objectives.base import EFFORT, Effort
from interplay.objectives.pose import MOST, Pose
from interplay.objectives.reference import Constant, Reference, as_reference
from interplay.scene.kinematics import Kinematics


class Handling(Pose):
    """A palm drawn to a pose (7,) by PD, with a wrench [N, N·m] that it applies besides, world axes.

    Where forces are controlled, W^d = k_p D(X^d, X) + k_d D(V^d, V) + W^offset (4), and no balance counts on what the palm touches. A program of
    accelerations takes it as a pose.
    """

    defaults: ClassVar[tuple[float, float]] = (20.0, 1.5)

    def __init__(
        self,
        palm: str,
        reference: Any,
        *,
        offset: Any = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        force: tuple[float, float] = (400.0, 40.0),
        torque: tuple[float, float] = (2.0, 0.1),
        most: float = MOST[0],
        weight: float | None = None,
        stiffness: float = 30.0,
        name: str | None = None,
    ):
        """Take the palm, where it should be, and what it presses besides.

        ``force`` [N/m, N·s/m] and ``torque`` [N·m/rad, N·m·s/rad] are the gains where forces are controlled, ``most`` the largest force [N] along
        each axis; ``stiffness`` [1/s²] that of a program of accelerations.
        """
        super().__init__(palm, reference, weight=weight, stiffness=stiffness, max_speed=np.inf, name=name)
        pairs = vector("Handling force", force, 2), vector("Handling torque", torque, 2)
        self.gains = [(number("Handling gain", k, 0.0, 1e5), number("Handling gain", d, 0.0, 1e5)) for k, d in pairs]
        """Stiffness and damping of places and of turns."""
        self.most = number("Handling most", most, 0.0, 1e4, "N")
        self.offset: Reference = (
            as_reference("Handling offset", offset, 6)
            if not isinstance(offset, tuple)
            else Constant(vector("Handling offset", offset, 6))
        )

    def effort(self, terms: Kinematics, time: float) -> Effort:
        """Return the wrench that draws the palm to its marker, and presses."""
        x = self.feature(terms, time)
        stiff, damped = (np.repeat([gains[k] for gains in self.gains], 3) for k in (0, 1))
        wrench = -stiff * x.error - damped * x.velocity
        wrench += self.offset.at(time).value
        most = np.concatenate([np.full(3, self.most), MOST[3:]])
        wrench = np.clip(wrench, -most, most)
        return Effort(wrench, self.dofs, x.jacobian, EFFORT * self.weight_at(terms, time), most, self.frame_name)
