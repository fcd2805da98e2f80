"""How deep things are inside each other: all pairs of collision shapes of a scene, the ground included.

Left out are pairs that cannot be apart: of one body, of two that a joint or a weld joins, of the fixed environment, and shapes
near each other in a tree that are drawn into each other (in its zero posture: clavicles and neck of a body from a file). What a
declared contact presses together is listed with its own depth, where the contact is, and so is what a hand is just taking or
letting go of; elsewhere the same two bodies count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import mujoco
import numpy as np

from interplay.models.base import COLLISION_GROUP, solid_shapes
from interplay.scene.broad_phase import bounding_capsules, near_pairs

AROUND = 0.03
"""How far beyond its own size a contact's place reaches [m]."""

_TOUCHING = 1e-6
"""Depth [m] below which two shapes do no more than touch."""


Meeting = Literal["apart", "contact", "taking"]
"""How two bodies meet at a place: they should be apart, a contact is declared there, or a hand is taking or letting go."""


_NEAR = 3
"""Bodies that are so many joints or fewer apart may be drawn into each other."""


class Place(NamedTuple):
    """A place at which two bodies are meant to touch: the bodies, its middle in the world, how far it reaches [m], and why."""

    first: int
    second: int
    point: np.ndarray
    reach: float
    meeting: Meeting = "contact"


class Overlap(NamedTuple):
    """Two shapes inside each other: their names, how deep [m], where in the world, and how they are meant to meet there."""

    first: str
    second: str
    depth: float
    point: np.ndarray
    meeting: Meeting

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
        drawn = mujoco.MjData(m)
        drawn.qpos[:] = m.qpos0
        mujoco.mj_kinematics(m, drawn)
        self._fromto, pairs = np.zeros(6), []
        for k, a in enumerate(shapes):
            for b in shapes[k + 1 :]:
                one, two = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
                trees = m.body_treeid[one], m.body_treeid[two]
                if one == two or max(trees) < 0 or (one, two) in joined or (two, one) in joined:
                    continue
                overlap = mujoco.mj_geomDistance(m, drawn, a, b, 1e-3, self._fromto) < -_TOUCHING
                if not (overlap and trees[0] == trees[1] and _hops(m, one, two) <= _NEAR):
                    pairs.append((a, b))
        self.pairs = np.array(pairs, int).reshape(-1, 2)
        """Shapes (n, 2) of the pairs."""
        self._capsules, self._used = bounding_capsules(m), np.unique(self.pairs)
        self._body = m.geom_bodyid.astype(np.int64)
        self._root = m.body_rootid.astype(np.int64)
        self._still, self._origin = np.zeros((m.nbody, 6)), np.zeros((m.nbody, 3))
        n = len(pairs)
        self._reach, self._margin, self._near = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        self._skip = np.zeros(n, bool)

    def overlaps(self, data: mujoco.MjData, places: Iterable[Place] = ()) -> list[Overlap]:
        """Return what overlaps in the configuration of ``data``, deepest first; its positions must be up to date."""
        m, meant = self.model, list(places)
        out = []
        for a, b in self.near(data).tolist():
            distance = mujoco.mj_geomDistance(m, data, a, b, 1e-3, self._fromto)
            if distance < -_TOUCHING:
                point = 0.5 * (self._fromto[:3] + self._fromto[3:])
                meeting = _meeting(point, {int(m.geom_bodyid[a]), int(m.geom_bodyid[b])}, meant)
                out.append(Overlap(m.geom(a).name, m.geom(b).name, -distance, point, meeting))
        return sorted(out, key=lambda overlap: -overlap.depth)

    def near(self, data: mujoco.MjData, reach: float = 0.0) -> np.ndarray:
        """Return the pairs (n, 2) whose capsules come within a reach [m] as they are now, at rest."""
        self._reach[:] = reach
        count = near_pairs(
            data.geom_xpos,
            data.geom_xmat,
            self._still,
            self._origin,
            self._root,
            self._body,
            *self._capsules,
            self._used,
            self.pairs,
            self._reach,
            self._skip,
            1.0,
            0.0,
            self._margin,
            self._near,
        )
        return self.pairs[self._near[:count]]


def _meeting(point: np.ndarray, bodies: set[int], places: Sequence[Place]) -> Meeting:
    """Return how two bodies are meant to meet at a point."""
    found: Meeting = "apart"
    for place in places:
        if bodies == {place.first, place.second} and float(np.linalg.norm(point - place.point)) <= place.reach:
            if place.meeting == "contact":
                return "contact"
            found = place.meeting
    return found


def penetrations(model: mujoco.MjModel, data: mujoco.MjData, places: Iterable[Place] = ()) -> list[Overlap]:
    """Return all pairs of shapes that are inside each other, deepest first.

    ``places`` are those of contacts (see :func:`contact_places`): what overlaps there is marked so. To look at many
    configurations of one model keep its :class:`Solids`.
    """
    return Solids(model).overlaps(data, places)


def contact_places(
    model: mujoco.MjModel, data: mujoco.MjData, contacts: Iterable[Sequence[int]], meeting: Meeting = "contact"
) -> list[Place]:
    """Return the places of contacts between pairs of surfaces, given by their sites."""
    out = []
    for pair in contacts:
        # The smaller of the two is where they touch: the other may be the ground.
        small = min(pair, key=lambda site: float(np.linalg.norm(model.site_size[site])))
        first, second = (int(model.site_bodyid[site]) for site in pair)
        reach = float(np.linalg.norm(model.site_size[small, :2])) + AROUND
        out.append(Place(first, second, data.site_xpos[small].copy(), reach, meeting))
    return out


class PairDepth(NamedTuple):
    """A pair over time: its name, how it meets, its greatest depth [m] and when [s], the part of the time it was too deep."""

    pair: str
    meeting: Meeting
    depth: float
    time: float
    share: float


class Tally:
    """Keeps the worst of every pair over the steps of a run."""

    def __init__(self, allowed: float = 0.002):
        """Take the depth [m] from which on a pair's time counts."""
        self.allowed = allowed
        self._rows: dict[tuple[str, Meeting], list[float]] = {}
        self._steps = 0

    def add(self, overlaps: Iterable[Overlap], time: float) -> None:
        """Take down one configuration."""
        self._steps += 1
        for overlap in overlaps:
            row = self._rows.setdefault((overlap.pair, overlap.meeting), [0.0, time, 0.0])
            if overlap.depth > row[0]:
                row[:2] = overlap.depth, time
            row[2] += overlap.depth > self.allowed

    def rows(self) -> list[PairDepth]:
        """Return every pair that ever overlapped, deepest first, those that should be apart before the others."""
        rows = [
            PairDepth(pair, meeting, depth, time, late / self._steps)
            for (pair, meeting), (depth, time, late) in self._rows.items()
        ]
        return sorted(rows, key=lambda row: (row.meeting != "apart", -row.depth))


def collision_shapes(m: mujoco.MjModel) -> list[int]:
    """Return the shapes that collide: of a body with shapes made for it those, of others what is seen of it."""
    solid = np.flatnonzero(solid_shapes(m))
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


def _hops(m: mujoco.MjModel, one: int, two: int) -> int:
    """Return how many steps from parent to child lie between two bodies of a tree."""
    up = {one: 0}
    while one:
        one, count = int(m.body_parentid[one]), up[one] + 1
        up[one] = count
    hops = 0
    while two not in up:
        two, hops = int(m.body_parentid[two]), hops + 1
    return hops + up[two]
