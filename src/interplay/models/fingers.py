"""How fingers lie around what a hand holds: each joint bends until its segment meets it. Pure geometry, no DOF of the program.

A view that knows what is held asks for the poses of a hand's segments and draws them there (``pose_fingers`` writes them into
its model); the hand that holds nothing is relaxed, and one that presses with its palm lies flat.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import mujoco
import numpy as np

from interplay.models.base import VISUAL_GROUP
from interplay.models.distance import geom_distance
from interplay.models.hand import FINGERS, LENGTH, Hand, SegmentPose, segment_pose

CLEARANCE = 5e-4
"""How far a closed finger stays off what it holds [m]."""

RELAXED = {
    "index": (0.25, 0.35, 0.2),
    "middle": (0.32, 0.42, 0.25),
    "ring": (0.38, 0.48, 0.3),
    "little": (0.42, 0.5, 0.3),
    "thumb": (0.35, 0.1, 0.2),
}
"""Angles [rad] of a hand at rest."""

FLAT = {finger: (0.0, 0.0, 0.0) for finger in FINGERS}
"""Angles [rad] of an open hand, as on a face that it presses."""

Angles = Mapping[str, Sequence[float]]
"""Angles [rad] of every finger's joints."""

Distance = Callable[[np.ndarray], np.ndarray]
"""Signed distances (n,) of points (n, 3) of the hand's frame from what is held."""

_BISECTIONS, _STEP = 12, 0.08
"""How often an angle is halved; how far a joint turns at once before that [rad]."""

_SWINGS = 12
"""How many swings of the thumb before the palm are tried."""

_SAMPLES = np.linspace(0.0, 1.0, 9)[1:, None]


def finger_pose(hand: Hand, held: Distance) -> dict[str, list[SegmentPose]]:
    """Return where the segments of each finger lie in the hand's frame, closed around what is held."""
    return segments(hand, finger_angles(hand, held))


def segments(hand: Hand, angles: Angles) -> dict[str, list[SegmentPose]]:
    """Return where the segments of each finger lie in the hand's frame at some angles [rad]."""
    out = {}
    for finger in FINGERS:
        ends = hand.joints(finger, np.asarray(angles[finger], float))
        out[finger] = [segment_pose(a, b) for a, b in itertools.pairwise(ends)]
    return out


def finger_angles(hand: Hand, held: Distance) -> dict[str, tuple[float, ...]]:
    """Return the angles [rad] at which the fingers are closed around what is held."""
    return {finger: _oppose(hand, held) if finger == "thumb" else _close(hand, finger, held) for finger in FINGERS}


def blend(start: Angles, end: Angles, closure: float) -> dict[str, tuple[float, ...]]:
    """Return the angles on the way from one pose of the fingers (0) to another (1): a hand that closes or opens."""
    return {
        finger: tuple((1.0 - closure) * a + closure * b for a, b in zip(start[finger], end[finger], strict=True))
        for finger in FINGERS
    }


def held_distance(m: mujoco.MjModel, d: mujoco.MjData, hand: int, geoms: Iterable[int]) -> Distance:
    """Return the distance from some geoms as the hand's body sees them in the configuration of ``data``."""
    R, p, solid = d.xmat[hand].reshape(3, 3).copy(), d.xpos[hand].copy(), list(geoms)

    def distance(points: np.ndarray) -> np.ndarray:
        world = points @ R.T + p
        return np.min([geom_distance(m, d, g, world) for g in solid], axis=0)

    return distance


def hand_of(m: mujoco.MjModel, body: int) -> Hand:
    """Return the hand that a body is; ``ValueError`` if it has no fingers."""
    model, name = m.body(body).name.rsplit("/", 1)
    side = name.removesuffix("_hand")
    first = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, f"{model}/{side}_middle_1")
    if first < 0:
        raise ValueError(f"{m.body(body).name!r} has no fingers")
    return Hand(side, LENGTH * float(m.geom_size[first, 0]) / FINGERS["middle"].radii[0])


def around(m: mujoco.MjModel, d: mujoco.MjData, body: int, held: Iterable[int]) -> dict[str, tuple[float, ...]]:
    """Return the angles at which the fingers of a hand's body are closed around what is seen of some bodies."""
    bodies = set(held)
    geoms = [
        g
        for g in range(m.ngeom)
        if int(m.geom_bodyid[g]) in bodies and m.geom_group[g] == VISUAL_GROUP and m.geom_contype[g]
    ]
    return finger_angles(hand_of(m, body), held_distance(m, d, body, geoms))


def pose_fingers(m: mujoco.MjModel, body: int, angles: Angles) -> None:
    """Lay the fingers of a hand's body as some angles say in a model that is drawn: their geoms move in the hand's frame."""
    hand, model = hand_of(m, body), m.body(body).name.rsplit("/", 1)[0]
    for finger, poses in segments(hand, angles).items():
        for name, pose in zip(hand.names(finger), poses, strict=True):
            geom = m.geom(f"{model}/{name}").id
            m.geom_pos[geom], m.geom_quat[geom] = pose.pos, pose.quat


def room(hand: Hand, finger: str, angles: Sequence[float] | np.ndarray, held: Distance) -> np.ndarray:
    """Return how far each segment of a finger is from what is held [m], negative inside."""
    ends = hand.joints(finger, np.asarray(angles, float))
    points = np.concatenate([a + _SAMPLES * (b - a) for a, b in itertools.pairwise(ends)])
    return held(points).reshape(len(ends) - 1, -1).min(axis=1) - hand.radii(finger)


def _close(
    hand: Hand, finger: str, held: Distance, begin: Sequence[float] = (0.0, 0.0, 0.0), first: int = 0
) -> tuple[float, ...]:
    """Bend the joints one after the other, from the palm outward, until the segment of each meets what is held.

    Segments farther out do not count yet: they fold when it is their turn, as fingers do that close before a wall. Where the
    straight segment is inside something, it bends until it is clear of that first.
    """
    angles = np.array(begin, float)

    def gap(joint: int, angle: float) -> float:
        angles[joint] = angle
        return float(room(hand, finger, angles, held)[joint]) - CLEARANCE

    for joint, (low, high) in enumerate(FINGERS[finger].limits[first:], first):
        turns = np.arange(max(low, float(angles[joint])), high + 1e-9, _STEP)
        if gap(joint, turns[0]) < 0:  # inside: rather back than through
            back = np.arange(turns[0], low - 1e-9, -0.5 * _STEP)
            turns = np.concatenate([back[:0:-1], turns])
        gaps = np.array([gap(joint, turn) for turn in turns])
        clear = np.flatnonzero(gaps >= 0)
        if not len(clear):
            angles[joint] = turns[int(np.argmax(gaps))]
            continue
        last = int(clear[0])
        while last + 1 < len(turns) and gaps[last + 1] >= 0:
            last += 1
        free, blocked = float(turns[last]), float(turns[min(last + 1, len(turns) - 1)])
        for _ in range(_BISECTIONS):
            middle = 0.5 * (free + blocked)
            free, blocked = (middle, blocked) if gap(joint, middle) >= 0 else (free, middle)
        angles[joint] = free
    return tuple(angles.tolist())


def _oppose(hand: Hand, held: Distance) -> tuple[float, ...]:
    """Swing the thumb before the palm and bend it back, of all swings the one that brings it closest to what is held.

    A handle lies between thumb and palm, so that the thumb cannot swing onto it: it comes from the other side.
    """
    low, high = FINGERS["thumb"].limits[0]
    best, nearest = (low, 0.0, 0.0), np.inf
    for swing in np.linspace(low, high, _SWINGS):
        if room(hand, "thumb", (swing, 0.0, 0.0), held).min() < CLEARANCE:
            continue
        angles = _close(hand, "thumb", held, (swing, 0.0, 0.0), first=1)
        gap = float(room(hand, "thumb", angles, held)[1:].sum())
        if gap < nearest - 1e-3:
            best, nearest = angles, gap
    return best
