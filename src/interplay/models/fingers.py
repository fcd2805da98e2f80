"""How fingers lie around what a hand holds: each joint bends until its segment meets it. Pure geometry, no DOF of the program.

A view that knows what is held asks for the angles of a hand's joints and draws its segments there (``pose_fingers`` writes
them into its model); the hand that holds nothing is relaxed, and on a face that its palm presses the same closing lays it flat.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import mujoco
import numpy as np

from interplay.maths.steps import smooth_step
from interplay.models.base import COLLISION_GROUP, solid_shapes
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
"""Angles [rad] of a hand that reaches for a face."""

REACHING = {finger: tuple(0.5 * angle for angle in angles) for finger, angles in RELAXED.items()} | {
    "thumb": (0.0, -0.8, -0.4)
}
"""Angles [rad] of a hand that reaches for a handle: its fingers are half straight, its thumb is out of the way."""

Angles = Mapping[str, Sequence[float]]
"""Angles [rad] of every finger's joints."""

Distance = Callable[[np.ndarray], np.ndarray]
"""Signed distances (n,) of points (n, 3) of the hand's frame from what is held."""

_STEP, _REFINEMENTS, _FINER = 0.08, 2, 9
"""How far a joint turns at once [rad]; how often its last step is looked at more finely, at how many angles."""

_REACH, _FAR = 0.25, 10.0
"""How far from the wrist a hand reaches at most, and as far off as nothing is held [m]."""

_SWINGS = 12
"""How many swings of the thumb before the palm are tried."""

_THUMB_GAPS, _OPPOSED = (0.3, 1.0, 1.0), 0.005
"""What counts of how far the thumb's segments are off: rather its pads; and how much farther it may be for a turn around [m/rad]."""

_WAYS = 11
"""At how many angles between open and closed a finger is tried for room."""

_SAMPLES = np.linspace(0.0, 1.0, 9)[1:, None]


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


def open_around(hand: Hand, held: Distance, closed: Angles) -> dict[str, tuple[float, ...]]:
    """Return the angles [rad] of a hand that is about to close around something, or has let go of it and is there still.

    Fingers are as open as there is room for: on a face they lie as they do when it is pressed. The thumb is where it cannot
    meet a handle.
    """
    out = {"thumb": REACHING["thumb"] if any(closed["thumb"][1:]) else tuple(closed["thumb"])}
    for finger in FINGERS.keys() - out.keys():
        ways = [blend(REACHING, closed, part)[finger] for part in np.linspace(1.0, 0.0, _WAYS)]
        rooms = [room(hand, finger, angles, held).min() for angles in ways]
        out[finger] = ways[int(np.cumprod(np.array(rooms) >= min(rooms[0], 0.0)).sum()) - 1]
    return out


def blend(start: Angles, end: Angles, part: float) -> dict[str, tuple[float, ...]]:
    """Return the angles on the way from one pose of the fingers (0) to another (1)."""
    return {
        finger: tuple((1.0 - part) * a + part * b for a, b in zip(start[finger], end[finger], strict=True))
        for finger in FINGERS
    }


def closing(start: Angles, closed: Angles, closure: float) -> dict[str, tuple[float, ...]]:
    """Return the angles on the way to closed fingers (1). The thumb swings before a handle first, then bends over it."""
    out = blend(start, closed, closure)
    (a, *rest), (b, *bends) = start["thumb"], closed["thumb"]
    swing, bend = smooth_step(2.0 * closure), smooth_step(2.0 * closure - 1.0)
    out["thumb"] = (a + swing * (b - a), *(c + bend * (d - c) for c, d in zip(rest, bends, strict=True)))
    return out


def held_distance(
    m: mujoco.MjModel, d: mujoco.MjData, position: np.ndarray, rotation: np.ndarray, bodies: Iterable[int]
) -> Distance:
    """Return the distance from what is solid of some bodies, as a hand at a place in the world sees it; nothing there: far away."""
    solid = [g for body in bodies for g in _solid(m, body) if _near(m, d, g, position)]

    def distance(points: np.ndarray) -> np.ndarray:
        world = points @ rotation.T + position
        return np.min([np.full(len(points), _FAR), *(geom_distance(m, d, g, world) for g in solid)], axis=0)

    return distance


def _solid(m: mujoco.MjModel, body: int) -> np.ndarray:
    """Return the geoms of a body that can be held: those that collide, of these the seen ones where there are any."""
    first = int(m.body_geomadr[body])
    geoms = np.arange(first, first + int(m.body_geomnum[body]))
    geoms = geoms[solid_shapes(m)[geoms]]
    seen = geoms[m.geom_group[geoms] != COLLISION_GROUP]
    return seen if len(seen) else geoms


def _near(m: mujoco.MjModel, d: mujoco.MjData, geom: int, position: np.ndarray) -> bool:
    """Return whether a geom may be within a hand's reach; a plane is boundless, and has no bounding sphere."""
    radius = float(m.geom_rbound[geom]) or np.inf
    return bool(np.linalg.norm(d.geom_xpos[geom] - position) < radius + _REACH)


def hand_of(m: mujoco.MjModel, body: int) -> Hand | None:
    """Return the hand that a body is; None if it lacks our fingers, as bodies from files do."""
    model, _, name = m.body(body).name.rpartition("/")
    hand = Hand(name.removesuffix("_hand"), LENGTH)
    names = [f"{model}/{segment}" for finger in FINGERS for segment in hand.names(finger)]
    if any(mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, segment) < 0 for segment in names):
        return None
    return Hand(hand.side, LENGTH * float(m.geom(names[0]).size[0]) / next(iter(FINGERS.values())).radii[0])


def pose_fingers(m: mujoco.MjModel, model: str, hand: Hand, angles: Angles) -> None:
    """Lay the fingers of a hand of a placed model as angles say, in what is drawn: their geoms move in the hand's frame."""
    for finger, poses in segments(hand, angles).items():
        for name, pose in zip(hand.names(finger), poses, strict=True):
            geom = m.geom(f"{model}/{name}").id
            m.geom_pos[geom], m.geom_quat[geom] = pose.pos, pose.quat


def room(hand: Hand, finger: str, angles: Sequence[float] | np.ndarray, held: Distance) -> np.ndarray:
    """Return how far each segment of a finger is from what is held [m], negative inside."""
    ends = hand.joints(finger, np.asarray(angles, float))
    points = np.concatenate([a + _SAMPLES * (b - a) for a, b in itertools.pairwise(ends)])
    return held(points).reshape(len(ends) - 1, -1).min(axis=1) - hand.radii(finger)


def _close(hand: Hand, finger: str, held: Distance) -> tuple[float, ...]:
    """Bend the joints one after the other, from the palm outward, until the segment of each meets what is held.

    Segments farther out do not count yet: they fold when it is their turn, as fingers do that close before a wall.
    """
    angles: list[float] = []
    for high in (limits[1] for limits in FINGERS[finger].limits):
        met = _bend(hand, finger, held, angles)
        angles.append(high if met is None else met)
    return tuple(angles)


def _oppose(hand: Hand, held: Distance) -> tuple[float, ...]:
    """Swing the thumb before the palm and bend it back, of all swings the one that brings it closest around what is held.

    A handle lies between thumb and palm, so that the thumb cannot swing onto it: it comes from the other side, and bends as a
    whole until any of it meets the handle. Beside a palm on a face it swings onto that and stays straight.
    """
    low, high = FINGERS["thumb"].limits[0]
    best, nearest = (_bend(hand, "thumb", held, (), whole=True) or low, 0.0, 0.0), np.inf
    ways = [best]
    for swing in np.linspace(low, high, _SWINGS).tolist():
        middle = _bend(hand, "thumb", held, (swing,), whole=True) or 0.0
        ways.append((swing, middle, _bend(hand, "thumb", held, (swing, middle)) or 0.0))
    for angles in ways:
        gaps = room(hand, "thumb", angles, held)
        far = float(gaps @ _THUMB_GAPS) - _OPPOSED * sum(angles)
        if gaps.min() >= 0 and far < nearest:
            best, nearest = angles, far
    return best


def _bend(hand: Hand, finger: str, held: Distance, bent: Sequence[float], whole: bool = False) -> float | None:
    """Return at which angle [rad] the next joint's segment meets what is held, those before it being bent; None: at none.

    With ``whole``, any segment that it moves may meet it. Where it is inside something, it bends until it is clear of that first.
    """
    joint = len(bent)
    low, high = FINGERS[finger].limits[joint]
    moved = slice(joint, None if whole else joint + 1)
    lengths, radii = np.array(FINGERS[finger].lengths[moved]), hand.radii(finger)[moved] + CLEARANCE
    # The samples of all segments that move, in units of the first one's length, which lies in line with the others.
    samples = (np.cumsum(lengths) - lengths + _SAMPLES * lengths).T.reshape(-1, 1, 1) / lengths[0]
    radius = np.repeat(radii, len(_SAMPLES))[:, None]

    def gaps(turns: np.ndarray) -> np.ndarray:
        start, end = hand.sweep(finger, bent, turns)
        points = start + samples * (end - start)
        return (held(points.reshape(-1, 3)).reshape(len(samples), -1) - radius).min(axis=0)

    turns = np.arange(0.0, high + 1e-9, _STEP)
    found = gaps(turns)
    if found[0] < 0:  # rather back than through
        back = np.arange(0.0, low - 1e-9, -0.5 * _STEP)[:0:-1]
        turns, found = np.concatenate([back, turns]), np.concatenate([gaps(back), found])
    if not (found >= 0).any():
        return float(turns[np.argmax(found)])
    first = int(np.argmax(found >= 0))
    met = np.flatnonzero(found[first:] < 0)
    if not len(met):
        return None if first == 0 else float(turns[first])
    free, blocked = turns[first + met[0] - 1], turns[first + met[0]]
    for _ in range(_REFINEMENTS):
        turns = np.linspace(free, blocked, _FINER)
        clear = int(np.cumprod(gaps(turns[1:-1]) >= 0).sum())
        free, blocked = turns[clear], turns[clear + 1]
    return float(free)
