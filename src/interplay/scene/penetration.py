"""How deep things are inside each other: all pairs of collision shapes of a scene, the ground included.

Left out are pairs that cannot be apart: of one body, of two that a joint or a weld joins, of the fixed environment. What a
declared contact presses together is listed with its own depth, where the contact is; elsewhere the same two bodies count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.models.base import COLLISION_GROUP

AROUND = 0.03
"""How far beyond its own size a contact's place reaches [m]."""

_TOUCHING = 1e-6
"""Depth [m] below which two shapes do no more than touch."""


class Touch(NamedTuple):
    """A place at which two bodies are meant to touch: the bodies, its middle in the world and how far it reaches [m]."""

    first: int
    second: int
    point: np.ndarray
    reach: float


class Overlap(NamedTuple):
    """Two shapes inside each other: their names, how deep [m], where in the world, and whether a contact is declared there."""

    first: str
    second: str
    depth: float
    point: np.ndarray
    declared: bool

    @property
    def pair(self) -> str:
        """Name of the pair."""
        return f"{self.first} – {self.second}"


class Solids:
    """The pairs of shapes of one model that must not overlap."""

    def __init__(self, model: mujoco.MjModel):
        """List the pairs."""
        self.model = m = model
        shapes = collision_shapes(m)
        joined = _joined(m, shapes)
        pairs = []
        for k, a in enumerate(shapes):
            for b in shapes[k + 1 :]:
                one, two = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
                fixed = m.body_treeid[one] < 0 and m.body_treeid[two] < 0
                if one != two and not fixed and (one, two) not in joined and (two, one) not in joined:
                    pairs.append((a, b))
        self.pairs = np.array(pairs, int).reshape(-1, 2)
        """Shapes (n, 2) of the pairs."""
        self._plane = m.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
        self._radius = m.geom_rbound.copy()
        self._fromto = np.zeros(6)

    def overlaps(self, data: mujoco.MjData, touching: Iterable[Touch] = ()) -> list[Overlap]:
        """Return what overlaps in the configuration of ``data``, deepest first; its positions must be up to date."""
        m, places = self.model, list(touching)
        out = []
        for a, b in self._near(data).tolist():
            distance = mujoco.mj_geomDistance(m, data, a, b, 1e-3, self._fromto)
            if distance < -_TOUCHING:
                point = 0.5 * (self._fromto[:3] + self._fromto[3:])
                bodies = {int(m.geom_bodyid[a]), int(m.geom_bodyid[b])}
                declared = any(
                    bodies == {t.first, t.second} and float(np.linalg.norm(point - t.point)) <= t.reach for t in places
                )
                out.append(Overlap(m.geom(a).name, m.geom(b).name, -distance, point, declared))
        return sorted(out, key=lambda overlap: -overlap.depth)

    def _near(self, data: mujoco.MjData) -> np.ndarray:
        """Return the pairs whose bounding spheres meet; of a plane, what reaches below it."""
        a, b = self.pairs[:, 0], self.pairs[:, 1]
        at, radius = data.geom_xpos, self._radius
        apart = np.linalg.norm(at[a] - at[b], axis=1) - radius[a] - radius[b]
        for plane, other in ((a, b), (b, a)):
            flat = np.flatnonzero(self._plane[plane])
            up = data.geom_xmat[plane[flat]][:, [2, 5, 8]]
            apart[flat] = ((at[other[flat]] - at[plane[flat]]) * up).sum(axis=1) - radius[other[flat]]
        return self.pairs[apart < 0]


def penetrations(model: mujoco.MjModel, data: mujoco.MjData, touching: Iterable[Touch] = ()) -> list[Overlap]:
    """Return all pairs of shapes that are inside each other, deepest first.

    ``touching`` are the places of declared contacts (see :func:`places`): what overlaps there is marked ``declared``. To look
    at many configurations of one model keep its :class:`Solids`.
    """
    return Solids(model).overlaps(data, touching)


def places(model: mujoco.MjModel, data: mujoco.MjData, contacts: Iterable[Sequence[int]]) -> list[Touch]:
    """Return the places of contacts between pairs of surfaces, given by their sites."""
    out = []
    for pair in contacts:
        # The smaller of the two is where they touch: the other may be the ground.
        small = min(pair, key=lambda site: float(np.linalg.norm(model.site_size[site])))
        first, second = (int(model.site_bodyid[site]) for site in pair)
        reach = float(np.linalg.norm(model.site_size[small, :2])) + AROUND
        out.append(Touch(first, second, data.site_xpos[small].copy(), reach))
    return out


class Row(NamedTuple):
    """A pair over time: its name, its greatest depth [m] and when [s], the part of the time that it was deeper than allowed."""

    pair: str
    depth: float
    time: float
    share: float
    declared: bool


class Ledger:
    """Keeps the worst of every pair over the steps of a run."""

    def __init__(self, model: mujoco.MjModel, allowed: float = 0.002):
        """Take the depth [m] from which on a pair's time counts."""
        self.solids, self.allowed = Solids(model), allowed
        self._rows: dict[tuple[str, bool], list[float]] = {}
        self._steps = 0

    def add(self, data: mujoco.MjData, touching: Iterable[Touch] = (), time: float = 0.0) -> None:
        """Take down one configuration."""
        self._steps += 1
        for overlap in self.solids.overlaps(data, touching):
            row = self._rows.setdefault((overlap.pair, overlap.declared), [0.0, time, 0.0])
            if overlap.depth > row[0]:
                row[:2] = overlap.depth, time
            row[2] += overlap.depth > self.allowed

    def rows(self) -> list[Row]:
        """Return every pair that ever overlapped, deepest first; those at declared contacts are marked."""
        rows = [
            Row(pair, depth, time, late / self._steps, declared)
            for (pair, declared), (depth, time, late) in self._rows.items()
        ]
        return sorted(rows, key=lambda row: -row.depth)

    @property
    def worst(self) -> float:
        """The greatest depth [m] of a pair without a declared contact there."""
        return max((row.depth for row in self.rows() if not row.declared), default=0.0)


def collision_shapes(m: mujoco.MjModel) -> list[int]:
    """Return the shapes that collide: of a body with shapes made for it those, of others what is seen of it."""
    solid = np.flatnonzero((m.geom_contype > 0) | (m.geom_conaffinity > 0))
    made = {int(m.geom_bodyid[g]) for g in solid if m.geom_group[g] == COLLISION_GROUP}
    return [int(g) for g in solid if m.geom_group[g] == COLLISION_GROUP or int(m.geom_bodyid[g]) not in made]


def _joined(m: mujoco.MjModel, shapes: Sequence[int]) -> set[tuple[int, int]]:
    """Return pairs of bodies that a joint or a weld joins; a body without shapes (a clavicle) is part of the joint.

    Nothing is joined to the ground: whatever hangs on the world by its root joint may still not sink.
    """
    solid = {int(m.geom_bodyid[g]) for g in shapes}
    out = set()
    for body in solid:
        up = int(m.body_parentid[body])
        while up and up not in solid:
            up = int(m.body_parentid[up])
        if up:
            out.add((up, body))
    return out
