"""What joints do: hips, knees, ankles, trunk and arms of a body whose joints are called otherwise, read from its skeleton.

Styles, guesses and words know joints by what those of our characters are called, such as ``left_hip_flexion``. A joint of another body has the
same part to play where it turns a link of the same limb about about the same axis, upright and with the legs straight; it may turn the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

SIDES = ("left", "right")
X, Y, Z = range(3)

LEG = (
    ("thigh", {Y: ("hip_flexion", -1), X: ("hip_abduction", 1), Z: ("hip_rotation", 1)}),
    ("shank", {Y: ("knee_flexion", 1)}),
    ("foot", {Y: ("ankle_flexion", -1), X: ("ankle_inversion", -1)}),
)
ARM = (
    ("upper_arm", {Y: ("shoulder_flexion", -1), X: ("shoulder_abduction", 1), Z: ("shoulder_rotation", 1)}),
    ("forearm", {Y: ("elbow_flexion", -1), Z: ("forearm_rotation", 1)}),
    ("hand", {X: ("wrist_flexion", -1), Y: ("wrist_deviation", -1), Z: ("forearm_rotation", 1)}),
)
TRUNK = (
    ("chest", {Y: ("torso_flexion", 1), X: ("torso_side", 1), Z: ("torso_yaw", 1)}),
    ("head", {Y: ("neck_flexion", 1), X: ("neck_side", 1), Z: ("head_yaw", 1)}),
)
"""Of each limb, from the root outward, the link at which a joint's part ends, and what turns about x, y and z of one who stands upright and faces
along x are called, and which way: those of left limbs; right ones turn the other way about x and z."""


class Does(NamedTuple):
    """What a joint does, and whether it turns the same way as ours (1), or the other (−1)."""

    name: str
    sign: float


def done_by(
    joints: Sequence[str], links: Sequence[str], parents: Sequence[int], of: Sequence[int], axes: Sequence[np.ndarray]
) -> list[Does]:
    """Return what each joint does; of one of which that is not known its own name.

    ``of``: the link that each joint turns; ``axes``: its axis in the axes of the root, with all joints at zero. Limbs are known by the
    names of links: thigh, shank, foot, upper_arm, forearm, hand, chest, head, as sidecars give them. Our own joints say it themselves.
    """
    if "left_hip_flexion" in joints:
        return [Does(joint, 1.0) for joint in joints]
    where, out = {link: k for k, link in enumerate(links)}, [Does(joint, 1.0) for joint in joints]
    before: set[int] = set()  # limbs grow from the trunk
    for side, limb in [("", TRUNK), *((side, limb) for side in SIDES for limb in (LEG, ARM))]:
        names = [(f"{side}_{link}" if side else link, axes_of) for link, axes_of in limb]
        for name, known in names:
            if name not in where:
                continue
            chain = [k for k in _upward(where[name], parents) if k not in before]
            before |= set(chain)
            for k, link in enumerate(of):
                if link in chain and out[k].name == joints[k]:
                    out[k] = _part(joints[k], side, known, axes[k])
    return out


def _part(joint: str, side: str, known: Mapping[int, tuple[str, int]], axis: np.ndarray) -> Does:
    along = int(np.argmax(np.abs(axis)))
    if along not in known or abs(axis[along]) < 0.8:
        return Does(joint, 1.0)
    name, sign = known[along]
    mirrored = -1.0 if side == "right" and along != Y else 1.0
    return Does(f"{side}_{name}" if side else name, sign * mirrored * float(np.sign(axis[along])))


def _upward(link: int, parents: Sequence[int]) -> list[int]:
    """Return a link and all that carry it, but for the root."""
    out = []
    while parents[link] >= 0:
        out.append(link)
        link = parents[link]
    return out
