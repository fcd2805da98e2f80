"""Shapes that are near each other, frame by frame, but for those that are meant to touch."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from interplay.io.clips.solving import NOTHING_NEAR, Near
from interplay.scene.penetration import Solids

_REACH = 0.012
"""How far apart shapes are looked at [m]."""
_MARGIN = 0.001
"""How far from each other they should be [m]; the ground may be touched."""
_PUSH = 0.02
"""How far they are pushed apart at once [m]."""
_CLOSE = 6e4
"""Weight [1/m²] of shapes that would be in each other."""


class Closeness:
    """Finds what is near, as frames are placed one after another."""

    def __init__(self, solids: Solids, data: mujoco.MjData, touching: Iterable[tuple[int, int, np.ndarray]]):
        """Take pairs of bodies that are meant to touch, with the frames in which they are."""
        self._model, self._data, self._solids = solids.model, data, solids
        self._fromto = np.zeros(6)
        self._rows = np.zeros((0, 10))
        self._seen: list[tuple[float, ...]] = []
        self._meant: dict[tuple[int, int], set[int]] = {}
        for one, two, frames in touching:
            for pair in ((one, two), (two, one)):
                self._meant.setdefault(pair, set()).update(frames.tolist())

    def forget(self, frames: np.ndarray) -> None:
        """Forget what was near in some frames (a mask): they are looked at anew."""
        self._rows = self._rows[~frames[self._rows[:, 0].astype(np.int64)]]

    def look(self, t: int) -> None:
        """Take down what is near in a frame, as the data are now."""
        m, data, fromto = self._model, self._data, self._fromto
        for a, b in self._solids.near(data, _REACH).tolist():
            distance = mujoco.mj_geomDistance(m, data, a, b, _REACH, fromto)
            if distance < _REACH:
                self._seen.append((t, a, b, distance, *fromto.tolist()))

    def near(self, share: float) -> Near:
        """Return what was found; of the way between two characters each goes a share, and minds as much as if all of it."""
        self._rows, self._seen = np.concatenate([self._rows, np.array(self._seen).reshape(-1, 10)]), []
        if not len(self._rows):
            return NOTHING_NEAR
        m, rows = self._model, self._rows
        frames, geoms, distance = rows[:, 0].astype(np.int64), rows[:, 1:3].astype(np.int64), rows[:, 3]
        bodies, points = m.geom_bodyid[geoms].astype(np.int64), rows[:, 4:].reshape(-1, 2, 3)
        ground = m.geom_type[geoms[:, 0]] == mujoco.mjtGeom.mjGEOM_PLANE
        trees = m.body_treeid[bodies]
        part = np.where((trees.min(1) >= 0) & (trees[:, 0] != trees[:, 1]), share, 1.0)
        kept = np.abs(distance) > 1e-9
        for pair, meant in self._meant.items():
            both = np.flatnonzero((bodies == pair).all(1))
            kept[both[np.isin(frames[both], list(meant))]] = False
        normals = (points[:, 1] - points[:, 0]) / np.where(kept, distance, 1.0)[:, None]
        ways = part * np.minimum(np.where(ground, 0.0, _MARGIN) - distance, _PUSH)
        found = (frames, bodies, points.copy(), normals, ways, _CLOSE / part, np.zeros(len(ways), bool))
        return Near(*(array[kept] for array in found))
