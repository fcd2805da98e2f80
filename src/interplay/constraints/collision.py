"""Collision avoidance (21)-(24): a velocity damper on the distance of any two convex shapes, environment included.

Two additions to the paper. A braking law outside the influence zone keeps fast bodies from entering it faster than they
can stop. And witness points that were closest a moment ago stay as rows of their own while they are near: where a face
lies along a face, the closest corner changes from step to step, and with one row alone the pair would chatter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.collision_set import Pair
from interplay.constraints.damper import approach_limit, braking_speed, damper_gain
from interplay.scene.kinematics import Kinematics, point_column

DAMPING, OFFSET = 0.3, 0.1
"""ξ0 and the offset added on activation [m/s]."""

BRAKING = 20.0
"""Deceleration [m/s²] that approaching bodies are trusted with."""

WITHDRAWAL = 2.0
"""Acceleration [m/s²] with which bodies inside the security distance draw apart."""

_TOUCHING = 5e-4
"""Depth [m] up to which bodies count as touching, not as inside each other."""

_RELEASE = 1.1
"""A pair is let go only beyond this multiple of its influence distance, so it does not flicker on the border."""

_CURVATURE = 15.0
"""Bound [m/s²] of what rolling and curvature add to the distance's acceleration: it has no finite value where a witness jumps."""

_SAME, _SLID, _KEPT = 0.015, 0.02, 3
"""Witness points nearer than this are one [m]; an old pair that has slid apart by this much is dropped [m]; how many are kept."""


class ActivePair(NamedTuple):
    """What is kept of a pair inside its zone: ξ, the last direction u, and recent witness points in the two bodies (n, 2, 3)."""

    xi: float
    u: np.ndarray
    points: np.ndarray


class PairRow(NamedTuple):
    """One row uᵀ(J1 − J2) q̈ ≥ bound of a pair at two points of its bodies; ``witness``: they are the closest ones."""

    pair: int
    distance: float
    p1: np.ndarray
    p2: np.ndarray
    u: np.ndarray
    rate: float
    bias: float
    bound: float
    witness: bool


class CollisionRows:
    """Finds the pairs of a state that matter and their rows. Broad phase by bounding spheres, then MuJoCo's witness points."""

    def __init__(self, terms: Kinematics, pairs: list[Pair]):
        """Prepare arrays for the broad phase and a second data for the distance's own acceleration."""
        m = terms.model
        self.pairs = pairs
        self._geoms = np.array([(p.geom1, p.geom2) for p in pairs], np.int64).reshape(-1, 2)
        self._bodies = m.geom_bodyid.astype(np.int64)
        self._plane = m.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
        radius = m.geom_rbound
        self._reach = np.array([radius[p.geom1] + radius[p.geom2] + _RELEASE * p.influence for p in pairs])
        self._margin = np.zeros(len(pairs))
        self._chains: dict[int, np.ndarray] = {}
        self._probe = Kinematics(m)

    def near(self, terms: Kinematics, dt: float) -> np.ndarray:
        """Return the pairs whose bounding spheres come within the influence distance, or soon will at their speed."""
        return _near(
            terms.geom_xpos,
            terms.geom_xmat,
            terms.cvel,
            terms.subtree_com,
            terms.root,
            self._bodies,
            self._plane,
            self._geoms,
            self._reach,
            self._margin,
            dt,
        )

    def update(
        self, terms: Kinematics, dt: float, active: dict[tuple[int, int], ActivePair], skip: set[tuple[int, int]]
    ) -> tuple[list[PairRow], dict[tuple[int, int], ActivePair]]:
        """Return the rows of this state and the pairs that stay active; ``skip`` holds pairs of bodies in contact."""
        rows: list[PairRow] = []
        kept: dict[tuple[int, int], ActivePair] = {}
        if self.pairs:
            for k in self.near(terms, dt).tolist():
                p = self.pairs[k]
                if (p.body1, p.body2) not in skip and (p.body2, p.body1) not in skip:
                    row = self._witness(terms, k, active.get((p.geom1, p.geom2)))
                    if row is not None:
                        self._add(terms, dt, row, active.get((p.geom1, p.geom2)), rows, kept)
        if rows:
            self._set_bounds(terms, dt, rows, kept)
        return rows, kept

    def _witness(self, terms: Kinematics, k: int, known: ActivePair | None) -> PairRow | None:
        """Return the closest points of a pair, or None when it is far away."""
        p, fromto = self.pairs[k], np.zeros(6)
        limit = _RELEASE * p.influence + self._margin[k]
        distance = mujoco.mj_geomDistance(terms.model, terms.data, p.geom1, p.geom2, limit, fromto)
        if distance >= limit:
            return None
        p1, p2 = fromto[:3].copy(), fromto[3:].copy()
        if abs(distance) > 1e-6:
            u = (p1 - p2) / distance
        else:  # touching: keep the last direction, or find one
            u = known.u if known else self._way_apart(terms, p)
        return self._row(terms, k, distance, p1, p2, u / np.linalg.norm(u), True)

    def _way_apart(self, terms: Kinematics, p: Pair) -> np.ndarray:
        """Return the direction in which the first of two touching shapes parts from the second: of their axes, the best."""
        probe, fromto = self._probe, np.zeros(6)
        probe.place(terms.qpos)
        axes = np.hstack([probe.geom_xmat[g].reshape(3, 3) for g in (p.geom1, p.geom2)]).T
        centres = probe.geom_xpos[p.geom1] - probe.geom_xpos[p.geom2]
        candidates = np.vstack([axes, -axes, centres / max(float(np.linalg.norm(centres)), 1e-9)])
        home, gaps = probe.geom_xpos[p.geom1].copy(), []
        for axis in candidates:
            probe.geom_xpos[p.geom1] = home + 1e-3 * axis
            gaps.append(mujoco.mj_geomDistance(terms.model, probe.data, p.geom1, p.geom2, 1.0, fromto))
        return candidates[int(np.argmax(gaps))]

    def _row(
        self, terms: Kinematics, k: int, distance: float, p1: np.ndarray, p2: np.ndarray, u: np.ndarray, witness: bool
    ) -> PairRow:
        """Return a row without its bound; the bias is that of points fixed in their bodies."""
        p = self.pairs[k]
        (v1, a1), (v2, a2) = terms.motion(p.body1, p1), terms.motion(p.body2, p2)
        return PairRow(k, distance, p1, p2, u, float(u @ (v1[:3] - v2[:3])), float(u @ (a1[:3] - a2[:3])), 0.0, witness)

    def _add(
        self,
        terms: Kinematics,
        dt: float,
        row: PairRow,
        known: ActivePair | None,
        rows: list[PairRow],
        kept: dict[tuple[int, int], ActivePair],
    ) -> None:
        """Take the rows of one pair if it is inside its zone, or approaches too fast to stop."""
        p = self.pairs[row.pair]
        inside = row.distance <= p.influence * (_RELEASE if known else 1.0)
        if not inside:
            if -row.rate > 0.7 * braking_speed(row.distance - p.security, BRAKING, dt):
                rows.append(row)
            return
        rows.append(row)
        xi = damper_gain(
            known.xi if known else 0.0,
            min(row.distance, p.influence),
            -row.rate,
            p.influence,
            p.security,
            DAMPING,
            OFFSET,
            dt,
        )
        R1, R2 = terms.xmat[p.body1].reshape(3, 3), terms.xmat[p.body2].reshape(3, 3)
        points = [np.array([R1.T @ (row.p1 - terms.xpos[p.body1]), R2.T @ (row.p2 - terms.xpos[p.body2])])]
        for old in known.points if known else ():
            p1, p2 = terms.xpos[p.body1] + R1 @ old[0], terms.xpos[p.body2] + R2 @ old[1]
            between = p1 - p2
            gap = float(row.u @ between)
            slid = float(np.linalg.norm(between - gap * row.u))
            new = all(np.linalg.norm(old[0] - q[0]) > _SAME for q in points)
            if new and slid < _SLID and gap < p.influence and len(points) <= _KEPT:
                points.append(old)
                rows.append(self._row(terms, row.pair, gap, p1, p2, row.u, False))
        kept[p.geom1, p.geom2] = ActivePair(xi, row.u, np.array(points))

    def _set_bounds(
        self, terms: Kinematics, dt: float, rows: list[PairRow], kept: dict[tuple[int, int], ActivePair]
    ) -> None:
        biases = self._biases(terms, rows, dt)
        for n, row in enumerate(rows):
            p = self.pairs[row.pair]
            known = kept.get((p.geom1, p.geom2))
            xi = known.xi if known else 0.0
            allowed = approach_limit(row.distance, xi, p.influence, p.security, BRAKING, dt)
            if -_TOUCHING < row.distance < p.security:  # inside the margin: withdraw, but without a jerk
                allowed = max(allowed, -max(row.rate, 0.0) - WITHDRAWAL * dt)
            rows[n] = row._replace(bound=(-allowed - row.rate) / dt - biases[n])

    def _biases(self, terms: Kinematics, rows: list[PairRow], dt: float) -> np.ndarray:
        """Return d̈ along q̈ = 0.

        For witness points by central differences of the distance over one step: rolling, sliding and curvature are then
        right; how far that may differ from points fixed in the bodies is bounded.
        """
        m, probe, fromto = terms.model, self._probe, np.zeros(6)
        total = np.array([-2.0 * row.distance for row in rows])
        for sign in (1.0, -1.0):
            q = terms.qpos.copy()
            mujoco.mj_integratePos(m, q, terms.qvel, sign * dt)
            probe.place(q)
            for n, row in enumerate(rows):
                if row.witness:
                    p = self.pairs[row.pair]
                    total[n] += mujoco.mj_geomDistance(m, probe.data, p.geom1, p.geom2, 10.0, fromto)
        fixed = np.array([row.bias for row in rows])
        curved = np.clip(total / dt**2, fixed - _CURVATURE, fixed + _CURVATURE)
        return np.where([row.witness for row in rows], curved, fixed)

    def jacobian(self, terms: Kinematics, row: PairRow, start: tuple[int, int], out: np.ndarray) -> None:
        """Write uᵀ(J1 − J2) into ``out``; ``start`` are the offsets of the two trees' columns in it, minus their first DOF."""
        p = self.pairs[row.pair]
        out[:] = 0.0
        for body, point, sign, offset in ((p.body1, row.p1, 1.0, start[0]), (p.body2, row.p2, -1.0, start[1])):
            if body not in self._chains:
                self._chains[body] = terms.chain(body)
            chain = self._chains[body]
            if len(chain):
                _project(terms.cdof, chain, point - terms.subtree_com[terms.root[body]], row.u, sign, offset, out)


@numba.njit(cache=True)
def _project(cdof, chain, r, u, sign, offset, out):
    column = np.empty(6)
    for k in range(chain.shape[0]):
        point_column(cdof[chain[k]], r, column)
        out[chain[k] + offset] += sign * (u[0] * column[0] + u[1] * column[1] + u[2] * column[2])


@numba.njit(cache=True)
def _near(xpos, xmat, cvel, com, root, bodies, plane, geoms, reach, margin, dt):
    found = np.empty(geoms.shape[0], np.int64)
    count = 0
    moved = np.empty(6)
    for k in range(geoms.shape[0]):
        a, b = geoms[k, 0], geoms[k, 1]
        speed = 0.0
        for g in (a, b):
            body = bodies[g]
            point_column(cvel[body], xpos[g] - com[root[body]], moved)
            speed += np.sqrt(moved[0] ** 2 + moved[1] ** 2 + moved[2] ** 2)
        margin[k] = 2.0 * speed * dt + speed * speed / (2.0 * BRAKING)
        between = xpos[b] - xpos[a]
        if plane[a]:  # height above it
            gap = between[0] * xmat[a, 2] + between[1] * xmat[a, 5] + between[2] * xmat[a, 8]
        elif plane[b]:
            gap = -(between[0] * xmat[b, 2] + between[1] * xmat[b, 5] + between[2] * xmat[b, 8])
        else:
            gap = np.sqrt(between[0] ** 2 + between[1] ** 2 + between[2] ** 2)
        if gap < reach[k] + margin[k]:
            found[count] = k
            count += 1
    return found[:count]


def bodies_in_contact(contacts: Iterable) -> set[tuple[int, int]]:
    """Return the pairs of bodies that contacts join: they touch, so they do not avoid each other."""
    return {(c.first.body, c.second.body) for c in contacts}
