"""Balance on a line: two feet that touch in points leave nothing to press with; what keeps a body up is its angular momentum."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.errors import number
from interplay.objectives.base import Feature, Objective
from interplay.objectives.com import Com
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class LineBalance(Objective):
    """Keeps a model's centre of mass over the line between two points it stands on, and brings it back to its posture.

    No contact force has a moment about that line, so its angular momentum H about it changes by gravity alone: with the
    COM at the distance x before the line, Ḣ = −m g x. With h = −H/(m g) and its integral w, x is the second derivative of w:
    a chain of four integrators from ẍ to w, of which ẍ = −4p ẋ − 6p² x − 4p³ h − p⁴ w puts every pole at −p. The integral is
    taken as H's row times the way from the rest posture, exact near it. (A pull on the posture instead would tip the body.)
    """

    priority: int = 0
    yields: bool = False

    def __init__(
        self, model: str, first: str, second: str, *, weight: float = 5000.0, pole: float = 2.5, name: str | None = None
    ):
        """Take the model, the two surfaces it stands on, and the pole p [1/s]: how quickly it comes back."""
        super().__init__(weight, 1.0, 0.0, name=name)
        self.model, self._names = model, (first, second)
        self.pole = number("LineBalance pole", pole, 0.1, 20, "1/s")

    def about(self) -> tuple[str, ...]:
        """Return the model."""
        return (self.model,)

    def bind(self, scene: Scene) -> None:
        """Find the model's tree, the points, and the rest posture."""
        self._tree = scene.trees(self.model)[0]
        m, terms = scene.model, scene.rest
        sites = [scene.site(name) for name in self._names]
        # Where the ends of the limbs touch: the lowest points of their balls, as they stand in the initial state.
        low = terms.site_xpos[sites] - np.outer(m.site_size[sites, 0], [0, 0, 1])
        self._bodies = m.site_bodyid[sites]
        self._points = [
            terms.xmat[b].reshape(3, 3).T @ (p - terms.xpos[b]) for b, p in zip(self._bodies, low, strict=True)
        ]
        self._com = Com(self.model)
        self._com.bind(scene)
        self.dofs, self.dim, self._rest = self._com.dofs, 1, scene.qpos

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the wanted acceleration of the COM across the line as an error, with the Jacobian of its distance."""
        m = terms.model
        p1, p2 = (
            terms.xpos[b] + terms.xmat[b].reshape(3, 3) @ p for b, p in zip(self._bodies, self._points, strict=True)
        )
        along = np.array([p2[0] - p1[0], p2[1] - p1[1], 0.0])
        along /= max(float(np.linalg.norm(along)), 1e-9)
        across = np.array([-along[1], along[0], 0.0])
        com = self._com.feature(terms, time)
        position = self._com.position(terms)
        arm = position - p1
        momentum, matrix, _ = terms.momentum(self._tree)
        mass = float(terms.subtree_mass[m.tree_bodyadr[self._tree]])
        weight = mass * float(np.linalg.norm(m.opt.gravity))
        turning = np.cross(along, arm)  # along · (arm × f) = (along × arm) · f
        row = along @ matrix[3:] + turning @ matrix[:3]
        way = np.empty(m.nv)
        mujoco.mj_differentiatePos(m, way, 1.0, self._rest, terms.qpos)
        h = -(along @ momentum[3:] + turning @ momentum[:3]) / weight
        w = -float(row @ way[self.dofs]) / weight
        x, speed, p = float(across @ arm), float(across @ com.velocity), self.pole
        wanted = -4 * p * speed - 6 * p**2 * x - 4 * p**3 * h - p**4 * w
        return Feature(
            np.array([-wanted]), np.zeros(1), (across @ com.jacobian)[None], np.array([float(across @ com.bias)])
        )
