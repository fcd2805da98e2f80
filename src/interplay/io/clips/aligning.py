"""How a captured person's parts correspond to those of a body of ours, which may stand otherwise in its zero posture."""

from __future__ import annotations

import numpy as np

from interplay.io.clips.body import Body
from interplay.io.clips.capture import Capture
from interplay.io.clips.footing import SIDES, least_turn

_ABOVE = {
    "upper_arm": "chest",
    "forearm": "upper_arm",
    "hand": "forearm",
    "thigh": "pelvis",
    "shank": "thigh",
    "foot": "shank",
}

_STRAIGHT = 0.25
"""By how much [rad] a finger may point elsewhere than a hand that is straight."""


def align(capture: Capture, body: Body) -> dict[str, np.ndarray]:
    """Return for each part that both have the orientation (3, 3) of the body's part in the person's standing pose.

    Trunk and head are upright in both. Limbs are turned from where the body has them to where the person has them, by the
    least turn from the part above: arms that hang are lifted to a T with their palms down. A foot goes with its shank, and
    turns about it to where its toes point; how it is pitched, ``footing`` finds out.
    """
    turns = {"": np.eye(3)}
    for side in SIDES:
        for plain, parent in _ABOVE.items():
            part = f"{side}_{plain}"
            before = turns.get(f"{side}_{parent}", turns[""])
            if part not in capture.turns or part not in body.turns:
                turns[part] = before
            elif plain == "foot":
                turns[part] = _yaw(capture, body, side, before) @ before
            elif part in capture.bones and part in body.bones:
                turn = least_turn(before @ body.bones[part], capture.bones[part])
                # The base of a finger lies beside the axis of a hand that is straight.
                straight = plain == "hand" and turn.trace() > 1.0 + 2.0 * np.cos(_STRAIGHT)
                turns[part] = before if straight else turn @ before
            else:
                turns[part] = before
    return {part: turns.get(part, turns[""]) @ body.turns[part] for part in body.turns if part in capture.turns}


def _yaw(capture: Capture, body: Body, side: str, before: np.ndarray) -> np.ndarray:
    """Return the turn about a shank that brings a foot's toes to where the person's point."""
    toes, axis = capture.bones.get(f"{side}_foot"), before @ body.bones[f"{side}_shank"]
    sole = body.soles[side]
    ahead = before @ body.turns[f"{side}_foot"] @ sole.rotation[:, 0]
    if toes is None:
        return np.eye(3)
    a, b = ahead - axis * (ahead @ axis), toes - axis * (toes @ axis)
    if min(np.linalg.norm(a), np.linalg.norm(b)) < 0.4:  # the foot's bone leads down: it says nothing about toes
        return np.eye(3)
    return least_turn(a / np.linalg.norm(a), b / np.linalg.norm(b))


def part_targets(capture: Capture, aligned: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the orientations (T, 3, 3) that the body's parts should have."""
    return {part: capture.turns[part] @ turn for part, turn in aligned.items()}
