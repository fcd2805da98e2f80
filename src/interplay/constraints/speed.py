"""A limit of the speed of a point: collaborative robots must have one, and a hand with a full cup wants one."""

from __future__ import annotations

import numpy as np

from interplay.constraints.base import GivesWay, Limit, LimitRows
from interplay.errors import number
from interplay.scene.frame import Frame
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

_DIRECTIONS = np.array(
    [
        *((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        *((1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)),
        *((1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1)),
    ],
    float,
)
_DIRECTIONS /= np.linalg.norm(_DIRECTIONS, axis=1, keepdims=True)
"""The 13 axes (13, 3) of a cube: through its faces, edges and corners."""

_INSIDE = float(1.0 / np.linalg.norm([1.0, np.sqrt(2.0) - 1.0, np.sqrt(3.0) - np.sqrt(2.0)]))
"""0.886: the distance of the faces of the polyhedron |d·v| ≤ r whose corners lie on the unit sphere; all 48 are alike."""


class SpeedLimit(Limit):
    """The speed of a point of a body (a site, a body's frame or a model's root) stays below ``most`` [m/s].

    Its velocity v + a Δt stays in a polyhedron of 26 faces whose corners lie on the sphere of radius ``most``: the speed never
    exceeds ``most``, and across the faces already 0.886 of it is the end. What v + a Δt does not know is how the velocity
    turns by what it gains within the step itself, of second order in Δt: measured on a reaching hand, the way from step to step
    stays below ``most`` at 5 ms (the speed at its end within 0.1 %); at 20 ms, thrown from rest, it exceeds it by up to 4 %.
    """

    gives_way = GivesWay("speed", 1.5, 1000.0, "m/s²")

    def __init__(self, frame: str, most: float, *, name: str | None = None):
        """Take the name of a site, body or model, and the largest speed [m/s]."""
        super().__init__(name)
        self.frame_name, self.most = frame, number(f"SpeedLimit {frame!r} most", most, 1e-3, 1e3, "m/s")

    def about(self) -> tuple[str, ...]:
        """Return the frame."""
        return (self.frame_name,)

    def bind(self, scene: Scene) -> None:
        """Find the frame."""
        self.frame = Frame.moving(scene, self.frame_name)
        self.dofs, self.dim = self.frame.chain, len(_DIRECTIONS)

    def rows(self, terms: Kinematics, time: float, dt: float) -> LimitRows:
        """Return |d·(v + a Δt)| ≤ r of each direction d, (30) for a point.

        With the joints' velocities after the step the point moves by J at first and by J + J̇Δt at last: both obey, with
        a = J q̈ and with a = J q̈ + J̇q̇. A velocity that turns round within a step no row can follow: J̇q̇ counts up to r/Δt.
        """
        velocity, bias, jacobian = terms.point(self.frame.body, self.frame.pose(terms)[0])
        most, coasting = _INSIDE * self.most / dt, _DIRECTIONS @ velocity[:3] / dt
        turning = np.clip(_DIRECTIONS @ bias[:3], -most, most)
        lower, upper = -most - coasting - np.minimum(turning, 0.0), most - coasting - np.maximum(turning, 0.0)
        return LimitRows(_DIRECTIONS @ jacobian[:3], lower, upper)
