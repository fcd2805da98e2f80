"""Collision avoidance (21)-(24): a velocity damper on the distance of any two convex shapes, environment included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numba
import numpy as np

from interplay.constraints.limits import damper_gain
from interplay.errors import InputError, number
from interplay.models.base import COLLISION_GROUP
from interplay.scene.kinematics import Kinematics, point_column
from interplay.scene.scene import Scene

DAMPING, OFFSET = 0.3, 0.1
"""ξ0 and the offset added on activation [m/s]."""

_RELEASE = 1.1
"""A pair is let go only beyond this multiple of its influence distance, so it does not flicker on the border."""

_MAX_BIAS = 60.0
"""Bound [m/s²] of the distance's own acceleration, which has no finite value where a witness point jumps over an edge."""


class Pair(NamedTuple):
    """Two shapes to keep apart: geoms, their bodies and trees (−1: fixed), distances d_i and d_s [m]."""

    geom1: int
    geom2: int
    body1: int
    body2: int
    tree1: int
    tree2: int
    influence: float
    security: float
    name: str


class ActivePair(NamedTuple):
    """What is kept of a pair from step to step while it is inside its influence distance: ξ and the last direction u."""

    xi: float
    u: np.ndarray


class PairRow(NamedTuple):
    """One row uᵀ(J1 − J2) q̈ ≥ bound of an active pair, with its distance and witness points."""

    pair: int
    distance: float
    p1: np.ndarray
    p2: np.ndarray
    u: np.ndarray
    bound: float


class CollisionSet:
    """The pairs of shapes that avoid each other."""

    def __init__(self, scene: Scene):
        """Start with the self-collision pairs of every character."""
        self._scene = scene
        self.pairs: list[Pair] = []
        self._known: set[tuple[int, int]] = set()
        self.version = 0
        for name in scene.names:
            if scene.kind(name) == "character":
                self.add_self(name)

    def add(self, first: str, second: str, influence: float = 0.10, security: float = 0.02) -> int:
        """Keep two things apart and return how many pairs were added.

        Each side names a model (``alice``: all her collision shapes), a body (``alice/head``), a shape (``box/hull``) or
        ``ground``. ``influence`` d_i and ``security`` d_s are distances [m].
        """
        influence, security = number("influence", influence, 1e-4, 5, "m"), number("security", security, 0, 5, "m")
        if security >= influence:
            raise InputError(
                f"avoiding {first!r} and {second!r}: expected security < influence, got {security:g} and {influence:g} m"
            )
        before = len(self.pairs)
        for a in self._shapes(first):
            for b in self._shapes(second):
                self._add(a, b, influence, security)
        return len(self.pairs) - before

    def add_self(self, name: str, influence: float = 0.03, security: float = 0.004) -> int:
        """Keep a character's limbs off each other: every pair of shapes that is not joined closely and is apart in her posture."""
        scene, m = self._scene, self._scene.model
        terms = scene.kinematics()
        shapes, fromto, before = self._shapes(name), np.zeros(6), len(self.pairs)
        for k, a in enumerate(shapes):
            for b in shapes[k + 1 :]:
                if _joints_between(m, int(m.geom_bodyid[a]), int(m.geom_bodyid[b])) < 3:
                    continue
                if mujoco.mj_geomDistance(m, terms.data, a, b, 1.0, fromto) > security + 0.005:
                    self._add(a, b, influence, security)
        return len(self.pairs) - before

    def remove(self, first: str, second: str) -> int:
        """Let two things touch again (a hand and the handle it will grasp); return how many pairs were removed."""
        a, b = set(self._shapes(first)), set(self._shapes(second))
        keep = [p for p in self.pairs if not ((p.geom1 in a and p.geom2 in b) or (p.geom1 in b and p.geom2 in a))]
        removed = len(self.pairs) - len(keep)
        self.pairs, self._known = keep, {(p.geom1, p.geom2) for p in keep}
        self.version += 1
        return removed

    def _add(self, a: int, b: int, influence: float, security: float) -> None:
        m = self._scene.model
        a, b = min(a, b), max(a, b)
        body1, body2 = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
        tree1, tree2 = int(m.body_treeid[body1]), int(m.body_treeid[body2])
        if body1 == body2 or (tree1 < 0 and tree2 < 0) or (a, b) in self._known:
            return
        self._known.add((a, b))
        name = f"{m.geom(a).name} – {m.geom(b).name}"
        self.pairs.append(Pair(a, b, body1, body2, tree1, tree2, influence, security, name))
        self.version += 1

    def _shapes(self, name: str) -> list[int]:
        """Return the collision shapes that a name stands for."""
        scene, m = self._scene, self._scene.model
        if mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, name) >= 0:
            return [scene.geom(name)]
        if name in scene.names:
            bodies = [b for b in range(m.nbody) if m.body(b).name.startswith(f"{name}/")]
        else:
            bodies = [scene.body(name)]
        found = [
            g
            for g in range(m.ngeom)
            if int(m.geom_bodyid[g]) in bodies and (m.geom_contype[g] or m.geom_conaffinity[g])
        ]
        hulls = [g for g in found if m.geom_group[g] == COLLISION_GROUP]
        if not found:
            raise InputError(f"{name!r} has no collision shape")
        return hulls or found


def _joints_between(m: mujoco.MjModel, a: int, b: int) -> int:
    """Return how many bodies with joints lie on the way between two bodies of a tree."""

    def path(body: int) -> list[int]:
        out = [body]
        while out[-1]:
            out.append(int(m.body_parentid[out[-1]]))
        return out

    pa, pb = path(a), path(b)
    shared = set(pa) & set(pb)
    return sum(1 for body in (*pa, *pb) if body not in shared and m.body_jntnum[body])


class CollisionRows:
    """Finds the active pairs of a state and their rows. Broad phase by bounding spheres, then MuJoCo's witness points."""

    def __init__(self, terms: Kinematics, pairs: list[Pair]):
        """Prepare arrays for the broad phase and a second data for the distance's own acceleration."""
        m = terms.model
        self.pairs = pairs
        self._g1, self._g2 = (np.array([getattr(p, k) for p in pairs], int) for k in ("geom1", "geom2"))
        self._plane1 = m.geom_type[self._g1] == int(mujoco.mjtGeom.mjGEOM_PLANE) if pairs else np.zeros(0, bool)
        radius = m.geom_rbound.copy()
        self._reach = np.array([radius[p.geom1] + radius[p.geom2] + _RELEASE * p.influence for p in pairs])
        self._chains: dict[int, np.ndarray] = {}
        self._probe = Kinematics(m)

    def near(self, terms: Kinematics) -> np.ndarray:
        """Return the pairs whose bounding spheres come within the influence distance."""
        x = terms.geom_xpos
        between = x[self._g1] - x[self._g2]
        gap = np.sqrt(np.einsum("ij,ij->i", between, between))
        if self._plane1.any():  # a plane is the first of its pair: height above it
            normals = terms.geom_xmat[self._g1[self._plane1]][:, [2, 5, 8]]
            gap[self._plane1] = -np.einsum("ij,ij->i", between[self._plane1], normals)
        return np.flatnonzero(gap < self._reach)

    def update(
        self, terms: Kinematics, dt: float, active: dict[int, ActivePair], skip: set[tuple[int, int]]
    ) -> tuple[list[PairRow], dict[int, ActivePair]]:
        """Return the rows of this state and the pairs that stay active; ``skip`` holds pairs of bodies in contact."""
        m, d = terms.model, terms.data
        rows: list[PairRow] = []
        if not self.pairs:
            return rows, {}
        fromto = np.zeros(6)
        for k in self.near(terms).tolist():
            p = self.pairs[k]
            if (p.body1, p.body2) in skip or (p.body2, p.body1) in skip:
                continue
            known = active.get(k)
            limit = p.influence * (_RELEASE if known else 1.0)
            distance = mujoco.mj_geomDistance(m, d, p.geom1, p.geom2, limit, fromto)
            if distance >= limit:
                continue
            p1, p2 = fromto[:3].copy(), fromto[3:].copy()
            if abs(distance) > 1e-6:
                u = (p1 - p2) / distance
            else:  # touching: keep the last direction, or the line of centres
                u = known.u if known else terms.geom_xpos[p.geom1] - terms.geom_xpos[p.geom2]
            rows.append(PairRow(k, distance, p1, p2, u / np.linalg.norm(u), 0.0))
        if not rows:
            return rows, {}
        bias = self._biases(terms, rows, dt)
        kept = {}
        for n, row in enumerate(rows):
            p = self.pairs[row.pair]
            v1, v2 = terms.motion(p.body1, row.p1).velocity[:3], terms.motion(p.body2, row.p2).velocity[:3]
            rate = float(row.u @ (v1 - v2))
            known = active.get(row.pair)
            xi = damper_gain(
                known.xi if known else 0.0,
                min(row.distance, p.influence),
                -rate,
                p.influence,
                p.security,
                DAMPING,
                OFFSET,
                dt,
            )
            bound = (-xi * (row.distance - p.security) / (p.influence - p.security) - rate) / dt - bias[n]
            rows[n] = row._replace(bound=bound)
            kept[row.pair] = ActivePair(xi, row.u)
        return rows, kept

    def _biases(self, terms: Kinematics, rows: list[PairRow], dt: float) -> np.ndarray:
        """Return d̈ along q̈ = 0 by central differences over one step: right for curved and sliding shapes too."""
        m, probe, fromto = terms.model, self._probe, np.zeros(6)
        total = np.array([-2.0 * row.distance for row in rows])
        for sign in (1.0, -1.0):
            q = terms.qpos.copy()
            mujoco.mj_integratePos(m, q, terms.qvel, sign * dt)
            probe.place(q)
            for n, row in enumerate(rows):
                p = self.pairs[row.pair]
                total[n] += mujoco.mj_geomDistance(m, probe.data, p.geom1, p.geom2, 10.0, fromto)
        return np.clip(total / dt**2, -_MAX_BIAS, _MAX_BIAS)

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


def bodies_in_contact(contacts: Iterable) -> set[tuple[int, int]]:
    """Return the pairs of bodies that contacts join: they touch, so they do not avoid each other."""
    return {(c.first.body, c.second.body) for c in contacts}
