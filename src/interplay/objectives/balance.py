"""Balance: what brings a centre of mass back before it is too late, whatever else is asked.

A body that moves its centre of mass x over the ground at height h can still stop above its feet as long as its capture point
ξ = x + ẋ/ω, ω² = g/h, stays over them (the linear inverted pendulum, docs/notation.md). Other objectives may lead it to the edge
of its support and beyond; this one has no weight inside, and more than all of them outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from interplay.errors import InputError, number, unknown_name
from interplay.maths.hull import convex_hull
from interplay.objectives.base import Feature
from interplay.objectives.com import Com, com_motion
from interplay.scene.kinematics import Kinematics, point_motion
from interplay.scene.scene import Scene

_RETURN = 3.0
"""How fast the capture point comes back [1/s]."""

_FULL = 0.02
"""How far outside the margin the weight is full [m]."""


class Balance(Com):
    """Capture point of the named models together over the surfaces they stand on, by a margin [m].

    The surfaces may move; the first one stands for all. It is the weight of a last resort: zero while the capture point is
    inside the margin, and far above other objectives' outside.
    """

    priority: int = 0
    yields: bool = False

    def __init__(
        self,
        *models: str,
        on: Sequence[str],
        terms: Kinematics,
        margin: float = 0.03,
        weight: float = 1e4,
        name: str | None = None,
    ):
        """Take the models, the patches they stand on, the present terms (which say where those are) and the margin [m]."""
        super().__init__(*models, axes="xyz", reference=(0.0, 0.0, 0.0), weight=weight, stiffness=0.0, name=name)
        self.damping = 1.0
        m, sites = terms.model, []
        known = [m.site(k).name for k in range(m.nsite)]
        for surface in on:
            if surface not in known:
                raise unknown_name("surface", surface, known)
            sites.append(m.site(surface).id)
        if not sites:
            raise InputError("Balance: expected the surfaces that are stood on, got none")
        self._site = sites[0]
        self._start, self._floor = terms.site_xpos[self._site].copy(), float(terms.site_xpos[sites, 2].mean())
        self.polygon = drawn_in(support(terms, sites), number("Balance margin", margin, 0.0, 0.2, "m"))

    def about(self) -> tuple[str, ...]:
        """Return the group."""
        return ("+".join(self.models),)

    def bind(self, scene: Scene) -> None:
        """Collect the group's trees."""
        super().bind(scene)
        self._gravity, self._body = scene.gravity, int(scene.model.site_bodyid[self._site])
        chain = scene.rest.chain(self._body)
        self._columns = np.searchsorted(self.dofs, chain)
        if not np.isin(chain, self.dofs).all():
            raise InputError(f"Balance: {scene.model.site(self._site).name!r} belongs to none of {self.models}")

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the motion of the capture point out of its polygon: ẍ + ω ẋ + ω k e = 0 along e is ξ̇ = −k e.

        The height is held meanwhile: who drops gains nothing.
        """
        motion, jacobian = self.motion(terms, self.dofs)
        # What is stood on may itself move (a litter): all is seen from there.
        place = terms.site_xpos[self._site]
        v, a, J = terms.point(self._body, place)
        motion[0] -= place - self._start
        motion[1] -= v[:3]
        motion[2] -= a[:3]
        jacobian[:, self._columns] -= J[:3]
        away, size, rate = _leaving(motion, self._floor, self._gravity, self.polygon)
        along = np.outer(away, away) / max(size * size, 1e-12)
        along[2, 2] = 1.0
        return Feature(np.zeros(3), along @ (rate * (motion[1] + _RETURN * away)), along @ jacobian, along @ motion[2])

    def away(self, terms: Kinematics) -> float:
        """Return how far the capture point is out of its polygon [m]; 0: all is well."""
        place = terms.site_xpos[self._site]
        seen = self._body, place, self._start, self._floor, self._gravity, self.polygon
        return _away(*terms.massive, self._bodies, self.dofs[:0], self._dof_body, *seen)

    def error(self, terms: Kinematics, time: float) -> np.ndarray:
        """Return how far the capture point is out of its polygon."""
        return np.array([self.away(terms)])

    def places(self, terms: Kinematics, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return nothing: it asks for no place as long as all is well."""
        return None

    def weight_at(self, terms: Kinematics, time: float) -> float:
        """Return a weight that grows with the distance from the polygon; 0 inside it."""
        return super().weight_at(terms, time) * min(self.away(terms) / _FULL, 1.0) ** 2

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add the cost, if there is any."""
        weight = self.weight_at(terms, time)
        if weight > 0.0:
            cost.add(self, weight, self.feature(terms, time))


def support(terms: Kinematics, sites: Sequence[int]) -> np.ndarray:
    """Return the corners (n, 2), counter-clockwise, of the convex hull of patches seen from above."""
    corners = []
    for site in sites:
        R, p, half = terms.site_xmat[site].reshape(3, 3), terms.site_xpos[site], terms.model.site_size[site]
        corners += [(p + R @ [a * half[0], b * half[1], 0.0])[:2] for a in (-1, 1) for b in (-1, 1)]
    return convex_hull(np.array(corners))


def drawn_in(hull: np.ndarray, margin: float) -> np.ndarray:
    """Return the corners, counter-clockwise, of a convex polygon drawn in by a margin, or by half its breadth at most."""
    middle = hull.mean(axis=0)
    edges = [(a, b - a, float(np.hypot(*(b - a)))) for a, b in zip(hull, np.roll(hull, -1, axis=0), strict=True)]
    room = min((e[0] * (middle - a)[1] - e[1] * (middle - a)[0]) / length for a, e, length in edges)
    margin, corners = min(margin, 0.5 * room), hull.tolist()
    for (ax, ay), (ex, ey), length in edges:  # cut along each edge, moved inward
        over = [(ex * (y - ay) - ey * (x - ax)) / length - margin for x, y in corners]
        cut = []
        for k, (x, y) in enumerate(corners):
            (px, py), before, here = corners[k - 1], over[k - 1], over[k]
            if (before < 0) != (here < 0):
                s = before / (before - here)
                cut.append((px + s * (x - px), py + s * (y - py)))
            if here >= 0:
                cut.append((x, y))
        corners = cut
    return np.array(corners)


@numba.njit(cache=True)
def outside(polygon, point):
    """Return the vector (2,) from the nearest point of a convex polygon (corners in order) to a point; zero inside."""
    best, found, inside = np.inf, np.empty(2), True
    n = polygon.shape[0]
    for k in range(n):
        a, b = polygon[k], polygon[(k + 1) % n]
        ex, ey, px, py = b[0] - a[0], b[1] - a[1], point[0] - a[0], point[1] - a[1]
        if ex * py - ey * px < 0.0:  # to the right of an edge that runs counter-clockwise
            inside = False
        s = min(max((ex * px + ey * py) / max(ex * ex + ey * ey, 1e-18), 0.0), 1.0)
        dx, dy = px - s * ex, py - s * ey
        if dx * dx + dy * dy < best:
            best = dx * dx + dy * dy
            found[0], found[1] = dx, dy
    if inside:
        found[0], found[1] = 0.0, 0.0
    return found


@numba.njit(cache=True)
def _away(
    body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, dofs, dof_body, seen_from, place, start, floor, gravity, polygon
):  # fmt: skip
    """Return how far the capture point of some bodies is out of a polygon that goes along with a place of another."""
    motion, _ = com_motion(body_mass, xipos, cvel, bias_acc, com, root, crb, cdof, bodies, dofs, dof_body)
    r, point = np.empty(3), np.empty((2, 6))
    for i in range(3):
        r[i] = place[i] - com[root[seen_from], i]
    point_motion(cvel[seen_from], bias_acc[seen_from], r, point)
    for i in range(3):
        motion[0, i] -= place[i] - start[i]
        motion[1, i] -= point[0, i]
    return _leaving(motion, floor, gravity, polygon)[1]


@numba.njit(cache=True)
def _leaving(motion, floor, gravity, polygon):
    """Return how the capture point of a motion (rows position, velocity, …) leaves a polygon (3,), how far, and ω [1/s]."""
    rate = np.sqrt(gravity / max(motion[0, 2] - floor, 0.1))
    away, point = np.empty(3), np.empty(2)
    for i in range(2):
        point[i] = motion[0, i] + motion[1, i] / rate
    out = outside(polygon, point)
    away[0], away[1], away[2] = out[0], out[1], 0.0
    return away, np.sqrt(away[0] ** 2 + away[1] ** 2), rate
