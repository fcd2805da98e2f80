"""Collision avoidance (21)-(24): a velocity damper on the distance of any two convex shapes, environment included.

Two additions to the paper. A braking law outside the influence zone keeps fast bodies from entering it faster than they
can stop. And witness points that were closest a moment ago stay as rows of their own while they are near: where a face
lies along a face, the closest corner changes from step to step, and with one row alone the pair would chatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from interplay.constraints.base import GivesWay
from interplay.constraints.collision_kernels import (
    BRAKING,
    CURVATURE,
    KEPT,
    RELEASE,
    TOUCH,
    any_nearer,
    find_active,
    move_shapes,
    set_bounds,
    write_jacobians,
    write_pair_rows,
)
from interplay.constraints.collision_set import Pair
from interplay.scene.broad_phase import bounding_capsules, near_pairs
from interplay.scene.kinematics import Kinematics

COLLISION = GivesWay("collision", 1, 1000.0, "m/s²")
"""How the rows of pairs give way."""


class ActivePairs(NamedTuple):
    """What is kept of the pairs inside their zones: shapes (n, 2), ξ, last direction u, recent witness points in the bodies."""

    geoms: np.ndarray
    xi: np.ndarray
    u: np.ndarray
    count: np.ndarray
    points: np.ndarray

    @classmethod
    def none(cls, size: int = 0) -> ActivePairs:
        """Return room for ``size`` pairs."""
        return cls(
            np.zeros((size, 2), np.int64),
            np.zeros(size),
            np.zeros((size, 3)),
            np.zeros(size, np.int64),
            np.zeros((size, 1 + KEPT, 2, 3)),
        )

    def checkpoint(self) -> list[Any]:
        """Return plain numbers."""
        return [part.tolist() for part in self]

    @classmethod
    def restore(cls, data: list[Any]) -> ActivePairs:
        """Return the pairs written by ``checkpoint``."""
        empty = cls.none()
        parts = [np.array(d, e.dtype).reshape(-1, *e.shape[1:]) for d, e in zip(data, empty, strict=True)]
        return cls(*parts)


class PairRows(NamedTuple):
    """Rows uᵀ(J1 − J2) q̈ ≥ bound at points of two bodies; ``witness``: they are the closest ones, ξ = 0 outside the zone.

    ``curved``: they are, and move against each other, so that rolling, sliding and curvature count.
    """

    pair: np.ndarray
    distance: np.ndarray
    points: np.ndarray
    u: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    xi: np.ndarray
    witness: np.ndarray
    curved: np.ndarray
    bound: np.ndarray

    @classmethod
    def none(cls, size: int = 0) -> PairRows:
        """Return room for ``size`` rows."""
        z = np.zeros
        return cls(
            z(size, np.int64),
            z(size),
            z((size, 2, 3)),
            z((size, 3)),
            z(size),
            z(size),
            z(size),
            z(size, np.bool_),
            z(size, np.bool_),
            z(size),
        )

    def first(self, n: int) -> PairRows:
        """Return the first n rows."""
        return PairRows(*(part[:n] for part in self))


_NO_ROWS, _NO_PAIRS = PairRows.none(), ActivePairs.none()


class Avoidance(Protocol):
    """What finds the rows of pairs of shapes at a state."""

    @property
    def pairs(self) -> Sequence[Pair]:
        """The pairs, in the order in which rows count them."""
        ...

    groups: list[tuple[int, int]]
    group: np.ndarray
    dofs: list[np.ndarray]

    def update(
        self, terms: Kinematics, dt: float, active: ActivePairs, contacts: tuple
    ) -> tuple[PairRows, ActivePairs]:
        """Return the rows of this state and the pairs that stay active."""
        ...

    def jacobian(self, terms: Kinematics, rows: PairRows, starts: np.ndarray, out: np.ndarray) -> None:
        """Write the rows' Jacobians."""
        ...


class CollisionRows:
    """Finds the pairs of a state that matter and their rows. Broad phase, then MuJoCo's witness points, then one kernel."""

    def __init__(self, terms: Kinematics, pairs: Sequence[Pair]):
        """Lay the pairs out as arrays; pairs of the same two trees form a group."""
        m, n = terms.model, len(pairs)
        self.pairs = pairs
        ids = np.array([p[:6] for p in pairs], np.int64).reshape(-1, 6)
        self._geoms, self._bodies, trees = (np.ascontiguousarray(ids[:, k : k + 2]) for k in (0, 2, 4))
        self._shapes = [(p.geom1, p.geom2) for p in pairs]
        self._answering = np.where(trees >= 0, self._bodies, 0)
        """The bodies whose DOFs answer; one without a tree counts as fixed, whatever moves it."""
        self._zone = np.array([(p.influence, p.security) for p in pairs]).reshape(-1, 2)
        self._lenient = np.array([p.lenient for p in pairs], bool)
        self._reach = RELEASE * self._zone[:, 0]
        self._geom_body = m.geom_bodyid.astype(np.int64)
        self._capsules, self._used = bounding_capsules(m), np.unique(self._geoms)
        key = self._geoms[:, 0] * m.ngeom + self._geoms[:, 1]
        self._order = np.argsort(key)
        self._key = key[self._order]
        self._margin, self._candidates = np.zeros(n), np.zeros(n, np.int64)
        self._skip, self._touching = np.zeros(n, bool), None
        self._rows, self._kept = PairRows.none(n * (1 + KEPT)), ActivePairs.none(n)
        self._hint = np.zeros((n, 3))
        self._probe = terms.twin
        low, high = trees.min(axis=1), trees.max(axis=1)
        keys = list(zip(low.tolist(), high.tolist(), strict=True))
        self.groups = list(dict.fromkeys(keys))
        """Pairs of trees (−1: fixed environment) that have pairs of shapes."""
        place = {key: k for k, key in enumerate(self.groups)}
        self.group = np.array([place[key] for key in keys], np.int64)
        """Group of each pair."""
        self.dofs = [_tree_dofs(terms, key) for key in self.groups]
        """DOFs of each group's trees, one tree after the other: the columns of its rows."""
        second = np.where((low >= 0) & (low != high), m.tree_dofnum[low], 0)
        self._offsets = np.where(trees == high[:, None], second[:, None], 0) - m.tree_dofadr[trees]
        """Columns of the two bodies' trees in a pair's row, minus the trees' first DOFs; of a fixed body without meaning."""

    def update(
        self, terms: Kinematics, dt: float, active: ActivePairs, contacts: tuple
    ) -> tuple[PairRows, ActivePairs]:
        """Return the rows of this state and the pairs that stay active; bodies joined by a contact do not avoid each other."""
        if not self.pairs:
            return _NO_ROWS, _NO_PAIRS
        if contacts is not self._touching:
            joined = np.array([sorted((c.first.body, c.second.body)) for c in contacts], np.int64).reshape(-1, 2)
            bodies = np.sort(self._bodies, axis=1)
            self._skip = (bodies[:, None] == joined).all(axis=2).any(axis=1)
            self._touching = contacts
        near = self.near(terms, dt)
        if not len(near):
            return _NO_ROWS, _NO_PAIRS
        return self._measure(terms, dt, active, near, self._margin[: len(near)])

    def near(self, terms: Kinematics, dt: float) -> np.ndarray:
        """Return the pairs that the broad phase leaves: near each other, or soon at their speed."""
        count = near_pairs(
            terms.geom_xpos,
            terms.geom_xmat,
            terms.cvel,
            terms.subtree_com,
            terms.root,
            self._geom_body,
            *self._capsules,
            self._used,
            self._geoms,
            self._reach,
            self._skip,
            BRAKING,
            dt,
            self._margin,
            self._candidates,
        )
        return self._candidates[:count]

    def _measure(
        self, terms: Kinematics, dt: float, active: ActivePairs, near: np.ndarray, margin: np.ndarray
    ) -> tuple[PairRows, ActivePairs]:
        """Find the witness points of the pairs that are near, and their rows."""
        limit, fromto = self._reach[near] + margin, np.empty((len(near), 6))
        distance = self._distances(terms, near, limit, fromto)
        some, touching = any_nearer(distance, limit)
        if not some:
            return _NO_ROWS, _NO_PAIRS
        known = find_active(active.geoms, self._key, self._order, terms.model.ngeom, near)
        if touching:
            for n in np.flatnonzero(
                np.abs(distance) <= TOUCH
            ):  # no direction of its own: keep the last one, or find one
                last = known[n]
                self._hint[n] = active.u[last] if last >= 0 else self._way_apart(terms, self.pairs[near[n]])
        count, staying, curved = write_pair_rows(
            terms.xpos,
            terms.xmat,
            terms.cvel,
            terms.bias_acc,
            terms.subtree_com,
            terms.root,
            self._bodies,
            self._geoms,
            self._zone,
            self._lenient,
            near,
            limit,
            distance,
            fromto,
            self._hint,
            known,
            active,
            dt,
            self._rows,
            self._kept,
        )
        if not count:
            return _NO_ROWS, _NO_PAIRS
        rows = self._rows.first(count)
        if curved:
            some = rows.curved.nonzero()[0]
            rows.bias[some] = self._second_difference(terms, rows, some, dt)
            set_bounds(self._zone, self._lenient, rows, count, dt)
        return rows, ActivePairs(*(part[:staying].copy() for part in self._kept))

    def _distances(self, terms: Kinematics, pairs: np.ndarray, limit: np.ndarray, fromto: np.ndarray) -> np.ndarray:
        """Return the distances of pairs in the configuration of ``terms``, and write their witness points."""
        m, d, measure, shapes = terms.model, terms.data, mujoco.mj_geomDistance, self._shapes
        each = zip(pairs.tolist(), limit.tolist(), fromto, strict=True)
        return np.array([measure(m, d, *shapes[k], far, out) for k, far, out in each])

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

    def _second_difference(self, terms: Kinematics, rows: PairRows, some: np.ndarray, dt: float) -> np.ndarray:
        """Return d̈ of some rows along q̈ = 0 by central differences of the distance: rolling, sliding and curvature are then right.

        How far it may differ from that of points fixed in the bodies is bounded.
        """
        pairs, far, fromto = rows.pair[some], np.full(len(some), 10.0), np.empty((len(some), 6))
        fixed, total, probe = rows.bias[some], -2.0 * rows.distance[some], self._probe
        for time in (dt, -dt):
            move_shapes(
                terms.geom_xpos,
                terms.geom_xmat,
                terms.cvel,
                terms.bias_acc,
                terms.subtree_com,
                terms.root,
                self._bodies,
                self._geoms,
                pairs,
                time,
                probe.geom_xpos,
                probe.geom_xmat,
            )
            total += self._distances(probe, pairs, far, fromto)
        return np.minimum(np.maximum(total / dt**2, fixed - CURVATURE), fixed + CURVATURE)

    def jacobian(self, terms: Kinematics, rows: PairRows, starts: np.ndarray, out: np.ndarray) -> None:
        """Write uᵀ(J1 − J2) of each row, over the DOFs of its group, into ``out`` from index ``starts[row]``."""
        if len(rows.pair):
            write_jacobians(
                terms.cdof,
                terms.subtree_com,
                terms.root,
                terms.chain_start,
                terms.chain_dofs,
                self._answering,
                rows.pair,
                rows.points,
                rows.u,
                self._offsets,
                starts,
                out,
            )


def _tree_dofs(terms: Kinematics, trees: tuple[int, int]) -> np.ndarray:
    """Return the DOFs of one or two trees, −1: the fixed environment, which has none."""
    return np.concatenate([terms.tree_dofs(tree) for tree in dict.fromkeys(trees) if tree >= 0])
