"""Captured persons in one common frame, each in the size of the body that plays it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interplay.io.clips.aligning import align, part_targets
from interplay.io.clips.body import Body, measure_body
from interplay.io.clips.capture import Capture
from interplay.io.clips.footing import SIDES, Footing, above, find_footing
from interplay.scene.scene import Scene


class Person(NamedTuple):
    """A captured person and the body that plays it: scale, footing, targets of its parts (T, 3, 3) and joints (T, 3)."""

    capture: Capture
    body: Body
    scale: float
    footing: Footing
    turns: dict[str, np.ndarray]
    places: dict[str, np.ndarray]


def prepare(captures: Sequence[Capture], scene: Scene, names: Sequence[str]) -> list[Person]:
    """Return persons in one common frame, each scaled to the body that plays it.

    Each is scaled about the way that all take together, and that way by the mean of their scales: who meets still meets, and
    who walks hand in hand keeps pace.
    """
    found = []
    for capture, name in zip(captures, names, strict=True):
        body = measure_body(scene, name)
        scale = body.leg / _leg(capture)
        turns = part_targets(capture, align(capture, body))
        soles = {side: turns[f"{side}_foot"] @ body.soles[side].rotation for side in SIDES}
        footing = find_footing(capture, body, soles, scale)
        for side in SIDES:
            sole = body.soles[side].rotation
            turns[f"{side}_foot"] = soles[side] @ footing.flat[side] @ sole.T
        points = {part: np.column_stack([p[:, :2], above(footing.floor, p)]) for part, p in capture.points.items()}
        found.append((capture, body, scale, footing, turns, points))
    T = min(len(capture.time) for capture in captures)
    middles = [0.5 * (f[5]["left_thigh"][:T] + f[5]["right_thigh"][:T]) for f in found]
    way = np.mean(middles, axis=0) * [1, 1, 0]
    common = float(np.exp(np.mean([np.log(f[2]) for f in found])))
    out = []
    for capture, body, scale, footing, turns, points in found:
        places = {part: common * way + scale * (p[:T] - way) for part, p in points.items()}
        out.append(Person(capture, body, scale, footing, {p: t[:T] for p, t in turns.items()}, places))
    return out


def _leg(capture: Capture) -> float:
    """Return the length of a person's legs, from hip to ankle [m]."""
    p = capture.points
    pairs = [(f"{s}_{a}", f"{s}_{b}") for s in SIDES for a, b in (("thigh", "shank"), ("shank", "foot"))]
    return float(sum(np.linalg.norm(p[a] - p[b], axis=1).mean() for a, b in pairs)) / 2
