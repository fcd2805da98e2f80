"""Feet of a captured person: how they stand when they are flat, where the ground is, when heels and toes are on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interplay.io.clips.body import Body
from interplay.io.clips.capture import Capture

_SLOW, _FAST = 0.35, 0.55
"""Speeds [m/s] of an adult's heel or toes below which they surely stand, and above which they do not."""
_ROLLING = 0.18
"""How much of the person's own speed they may have more: joints lie above the sole, and move as it rolls."""
_LOW, _HIGH = 0.02, 0.03
"""Heights [m] over where it stands when flat, likewise."""
_FLAT_SPEED = 0.2
_SHORTEST, _GAP = 0.04, 0.05
"""Shortest contact, and longest gap that is none [s]."""
_STRAYS, _STILL = 10.0, 0.001
"""How much farther than on the mean what stands may be off its place, and how far in any case [m]."""
_STEEPEST = 0.08
"""Slope of a captured floor beyond which it is no floor that was set up askew."""
_SMOOTHED = 0.025
"""Speeds are taken over so many seconds."""

SIDES = ("left", "right")


class Footing(NamedTuple):
    """How a person stands: the rotation (3, 3) that makes each foot flat when it is, the floor as z = a + b x + c y, contacts.

    ``heels`` and ``toes`` say for each side in which frames (T,) they are on the ground.
    """

    flat: dict[str, np.ndarray]
    floor: np.ndarray
    heels: dict[str, np.ndarray]
    toes: dict[str, np.ndarray]


def find_footing(capture: Capture, body: Body, soles: dict[str, np.ndarray], scale: float) -> Footing:
    """Return how a person stands; ``soles`` (T, 3, 3) are the orientations of the body's soles, before they are made flat.

    ``scale`` is how much larger the body is than the person.
    """
    fps, size = 1.0 / float(np.median(np.diff(capture.time))), 1.0 / scale * body.leg / 0.85
    ankles = {side: capture.points[f"{side}_foot"] for side in SIDES}
    tips = {side: _tip(capture, body, side, soles[side], scale) for side in SIDES}
    standing = {}
    for side in SIDES:
        slow = (speed(ankles[side], fps) < _FLAT_SPEED * size) & (speed(tips[side], fps) < _FLAT_SPEED * size)
        low = ankles[side][:, 2] < np.percentile(ankles[side][:, 2], 30) + 0.06 * size
        standing[side] = slow & low
    floor = _floor(ankles, standing, body.ankle / scale)
    flat = {side: _flattening(soles[side][standing[side]]) for side in SIDES}
    heels, toes = {}, {}
    hips = 0.5 * (capture.points["left_thigh"] + capture.points["right_thigh"])
    rolling = _ROLLING * speed(hips, fps) / size
    for side in SIDES:
        turned = soles[side] @ flat[side]
        heel, front = (ankles[side] + turned @ (_corner(body, side, heel=back) / scale) for back in (True, False))
        for points, out in (((heel,), heels), ((tips[side], front), toes)):
            height = above(floor, points[0])
            level = float(np.median(height[standing[side]])) if standing[side].any() else float(height.min())
            down = on_ground(speed(points[0], fps) / size - rolling, (height - level) / size, fps)
            out[side] = still(points, down)
    return Footing(flat, floor, heels, toes)


def above(floor: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the heights (…) of points (…, 3) over a floor."""
    return points[..., 2] - floor[0] - points[..., :2] @ floor[1:]


def speed(points: np.ndarray, fps: float) -> np.ndarray:
    """Return the speed (T,) of points (T, 3) over a few frames."""
    half = max(1, round(0.5 * _SMOOTHED * fps))
    padded = np.concatenate([np.repeat(points[:1], half, axis=0), points, np.repeat(points[-1:], half, axis=0)])
    span = np.full(len(points), 2.0 * half)
    edge = np.minimum(np.arange(len(points)), np.arange(len(points))[::-1])
    span -= np.maximum(half - edge, 0)
    return np.linalg.norm(padded[2 * half :] - padded[: -2 * half], axis=1) * fps / np.maximum(span, 1.0)


def on_ground(speeds: np.ndarray, heights: np.ndarray, fps: float) -> np.ndarray:
    """Return when (T,) a point is on the ground: around where it is surely low and slow, as long as it is neither high nor fast."""
    surely = (speeds < _SLOW) & (heights < _LOW)
    rather = (speeds < _FAST) & (heights < _HIGH)
    return lasting(around(surely, rather), fps, _SHORTEST, _GAP)


def still(points: Sequence[np.ndarray], mask: np.ndarray) -> np.ndarray:
    """Return a mask (T,) without the ends of runs at which a point is off its place by far more than it strays on the mean.

    That tells to the frame when a foot stands in motion that was not captured but made, and changes little else. Of some points
    (T, 3) the one that strays least is the one that stands.
    """
    out = np.zeros(len(mask), bool)
    for begin, end in runs(mask):
        strays = [np.linalg.norm(p[begin:end] - np.median(p[begin:end], axis=0), axis=1) for p in points]
        stray = min(strays, key=lambda way: float(np.percentile(way, 90)))
        near = np.flatnonzero(stray <= max(_STRAYS * float(np.median(stray)), _STILL))
        out[begin + near[0] : begin + near[-1] + 1] = True
    return out


def around(surely: np.ndarray, rather: np.ndarray) -> np.ndarray:
    """Return the runs of ``rather`` that are sure somewhere: one moment decides whether, weaker signs how long."""
    out = np.zeros(len(rather), bool)
    for begin, end in runs(rather):
        out[begin:end] = surely[begin:end].any()
    return out


def lasting(mask: np.ndarray, fps: float, shortest: float, gap: float) -> np.ndarray:
    """Return a mask (T,) without gaps and runs that are shorter than so many seconds; runs at the ends may be."""
    out = mask.copy()
    for begin, end in runs(~out):
        if begin > 0 and end < len(out) and (end - begin) / fps < gap:
            out[begin:end] = True
    for begin, end in runs(out):
        if begin > 0 and end < len(out) and (end - begin) / fps < shortest:
            out[begin:end] = False
    return out


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Return the runs of a mask as (first frame, frame after the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _corner(body: Body, side: str, heel: bool) -> np.ndarray:
    """Return the middle of a sole's back or front edge from the ankle, in the sole's axes."""
    sole = body.soles[side]
    corners = sole.corners @ sole.rotation
    middle = corners[:2].mean(0) if heel else corners[2:].mean(0)
    # The ankle is the origin of the foot's body.
    return middle


def _tip(capture: Capture, body: Body, side: str, sole: np.ndarray, scale: float) -> np.ndarray:
    """Return where the tip of a foot is (T, 3): as captured, or where our body's foot would have it."""
    if f"{side}_toes" in capture.points:
        return capture.points[f"{side}_toes"]
    return capture.points[f"{side}_foot"] + sole @ (_corner(body, side, heel=False) / scale)


def _floor(ankles: dict[str, np.ndarray], standing: dict[str, np.ndarray], height: float) -> np.ndarray:
    """Fit a plane through where ankles are when feet stand, so far above the floor: captured floors are often a little askew."""
    points = np.concatenate([ankles[side][standing[side]] for side in SIDES])
    if len(points) < 3:
        lowest = min(float(ankles[side][:, 2].min()) for side in SIDES)
        return np.array([lowest - height, 0.0, 0.0])
    middle = points.mean(0)
    offset = points - middle
    # A slope is believed where it shows over a way that is long against what heights scatter.
    slope = np.linalg.solve(
        offset[:, :2].T @ offset[:, :2] + 0.02 * len(points) * np.eye(2), offset[:, :2].T @ offset[:, 2]
    )
    slope = slope if np.linalg.norm(slope) < _STEEPEST else np.zeros(2)
    level = float(np.median(points[:, 2] - points[:, :2] @ slope))
    return np.array([level - height, *slope])


def _flattening(soles: np.ndarray) -> np.ndarray:
    """Return the rotation, in a sole's axes, after which it is flat when the foot stands: what names and offsets leave open."""
    if not len(soles):
        return np.eye(3)
    normal = np.median(soles[:, 2, :], axis=0)  # the world's up in the sole's axes
    return least_turn(np.array([0, 0, 1.0]), normal / np.linalg.norm(normal))


def least_turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smallest rotation (3, 3) that turns the unit vector a into b."""
    v, c = np.cross(a, b), float(a @ b)
    if c < -1 + 1e-9:
        axis = np.cross(a, np.eye(3)[np.abs(a).argmin()])
        axis /= np.linalg.norm(axis)
        return 2 * np.outer(axis, axis) - np.eye(3)
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + K + K @ K / (1 + c)
