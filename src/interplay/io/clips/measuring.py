"""How good a retargeted motion is: skate, gaps of hands, how far joints are from the capture, what is inside each other."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.clips.footing import SIDES, runs
from interplay.io.clips.persons import Person
from interplay.io.clips.retarget import Retargeted
from interplay.scene.penetration import Overlap, Solids

_JOINTS = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")


class Quality(NamedTuple):
    """How good a retargeted motion is."""

    skate: float
    """How far at most a corner of a sole goes while it stands [m]."""
    gap: float
    """Largest distance of surfaces that touch [m]."""
    error: float
    """Mean distance of joints from those of the capture, whose bones have been given the lengths of the body's [m]."""
    overlap: Overlap | None
    """The deepest overlap of shapes that should be apart."""
    overlapping: float
    """Share of frames in which one is deeper than 2 mm."""


def measure(m: mujoco.MjModel, found: Retargeted) -> Quality:
    """Return how good a motion is."""
    data, solids = mujoco.MjData(m), Solids(m)
    T = len(found.qpos)
    corners = [{s: np.empty((T, 4, 3)) for s in SIDES} for _ in found.persons]
    gaps, errors = np.zeros(T), []
    fitted = [_fitted(m, data, person) for person in found.persons]
    deepest, deep = None, 0
    for t in range(T):
        data.qpos[:] = found.qpos[t]
        mujoco.mj_kinematics(m, data)
        for k, person in enumerate(found.persons):
            for side in SIDES:
                sole = person.body.soles[side]
                corners[k][side][t] = data.xpos[sole.body] + sole.corners @ data.xmat[sole.body].reshape(3, 3).T
                for part in _JOINTS:
                    body = person.body.ids.get(f"{side}_{part}")
                    if body is not None and f"{side}_{part}" in fitted[k]:
                        errors.append(np.linalg.norm(data.xpos[body] - fitted[k][f"{side}_{part}"][t]))
        touching = set()
        for meeting in found.meetings:
            if meeting.frames[0] <= t <= meeting.frames[-1]:
                surfaces = [found.persons[k].body.surfaces[s] for k, s in meeting.sides]
                a, b = (data.xpos[s.body] + data.xmat[s.body].reshape(3, 3) @ s.point for s in surfaces)
                gaps[t] = max(gaps[t], float(np.linalg.norm(a - b)))
                touching.add(frozenset(s.body for s in surfaces))
        apart = [o for o in solids.overlaps(data) if _bodies(m, o) not in touching]
        if apart:
            deepest = apart[0] if deepest is None or apart[0].depth > deepest.depth else deepest
            deep += apart[0].depth > 0.002
    skate = max(
        (_skate(corners[k][s], found.pins[k].weights[s]) for k in range(len(found.persons)) for s in SIDES), default=0.0
    )
    return Quality(skate, float(gaps.max()), float(np.mean(errors)), deepest, deep / T)


def _fitted(m: mujoco.MjModel, data: mujoco.MjData, person: Person) -> dict[str, np.ndarray]:
    """Return joints (T, 3) of the capture with bones as long as the body's: from the hips out, in the captured directions."""
    data.qpos[:] = m.qpos0
    mujoco.mj_kinematics(m, data)
    body, places, out = person.body, person.places, {}
    hips = 0.5 * (places["left_thigh"] + places["right_thigh"])
    own_hips = 0.5 * (data.xpos[body.ids["left_thigh"]] + data.xpos[body.ids["right_thigh"]])
    for side in SIDES:
        for first, *rest in (("thigh", "shank", "foot"), ("upper_arm", "forearm", "hand")):
            if f"{side}_{first}" not in body.ids:
                continue
            captured = places[f"{side}_{first}"] - hips
            size = np.linalg.norm(data.xpos[body.ids[f"{side}_{first}"]] - own_hips)
            out[f"{side}_{first}"] = hips + captured * size / np.median(np.linalg.norm(captured, axis=1))
            for above, part in zip((first, *rest), rest, strict=False):
                length = body.lengths.get(f"{side}_{above}")
                if length is None or f"{side}_{part}" not in places:
                    break
                bone = places[f"{side}_{part}"] - places[f"{side}_{above}"]
                bone = bone / np.linalg.norm(bone, axis=1, keepdims=True)
                out[f"{side}_{part}"] = out[f"{side}_{above}"] + length * bone
    return out


def _bodies(m: mujoco.MjModel, overlap: Overlap) -> frozenset[int]:
    return frozenset(int(m.geom_bodyid[m.geom(name).id]) for name in (overlap.first, overlap.second))


def _skate(corners: np.ndarray, weights: np.ndarray) -> float:
    """Return how far a corner goes [m] at most while it is kept."""
    worst = 0.0
    for corner in range(4):
        for begin, end in runs(weights[:, corner] > 0):
            way = corners[begin:end, corner]
            worst = max(worst, float(np.linalg.norm(way - way[0], axis=1).max()))
    return worst
