"""Guesses of what a body stands on and holds with, and of a posture in which it stands."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import ConvexHull, QhullError

from interplay.models.extent import geom_extent
from interplay.models.fit import SECTION, TOLERANCE, Hull, Patch, flat_patch, points_in, shapes_of
from interplay.models.skeleton import Limb, Skeleton

_BEND, _DROP = 0.035, 0.86
"""How far the root is lowered to bend the knees, of the leg's length; how far hands hang, of the arm's length."""

_DOWN = np.array([0.0, 0.0, -1.0])


class Sole(NamedTuple):
    """What a foot stands on, in its body's frame: a face; or a point of it, the lowest of a ball of some radius."""

    face: Patch
    radius: float
    """Radius [m] of the ball within the foot that touches the face in its middle."""
    point: bool
    """Whether it stands on that ball."""
    round: bool
    """Whether the face is no more than what is flat of the ball."""

    @property
    def centre(self) -> np.ndarray:
        """Centre of the ball."""
        return self.face.pos - self.radius * self.face.normal


def sole(body: Skeleton, foot: Limb) -> Sole:
    """Return what a foot stands on, in the frame of its end: the lowest face of what collides of it, or its round end.

    It is a point where the foot is round, and where the leg has fewer than six joints: flat soles would hold the body fast.
    The face points down in the zero posture, or along the nearest axis of the body if that is almost down (legs may be
    spread), or as a face of the foot does that is much larger than what touches a floor then (toes may point down).
    """
    m, d = body.m, body.d
    solid = shapes_of(m, foot.held)
    points = np.vstack([points_in(m, d, g, foot.end) for g in solid])
    down = body.turned(foot.end, _DOWN)
    axis = int(np.argmax(np.abs(down)))
    if abs(down[axis]) > 0.9:
        down = np.sign(down[axis]) * np.eye(3)[axis]
    along = body.turned(foot.end, body.facing)
    found = flat_patch(points, down, along)
    for normal in _faces(points, down):
        other = flat_patch(points, normal, along)
        if other.half.prod() > 2.0 * found.half.prod():
            found = other
    radius = _largest_ball(points, found)
    round_end = bool(found.half.max() < 1.5 * np.sqrt(radius * SECTION))
    point = radius > 0 and (round_end or sum(len(body.joints(b)) for b in foot.chain) < 6)
    if point and not round_end:
        found = _amid(points, found)
        radius = _largest_ball(points, found)
    return Sole(found, radius, point, round_end)


def _amid(points: np.ndarray, face: Patch) -> Patch:
    """Move a face within itself to the middle of the foot: about a point there, toes and heel sink least when it tilts."""
    axes = np.array([face.along, np.cross(face.normal, face.along)])
    middle = 0.5 * ((points @ axes.T).min(0) + (points @ axes.T).max(0)) - axes @ face.pos
    return face._replace(pos=face.pos + np.clip(middle, -0.8 * face.half, 0.8 * face.half) @ axes)


def _faces(points: np.ndarray, down: np.ndarray) -> list[np.ndarray]:
    """Return the normals of the largest faces of the hull of some points that look down, within 25°."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return []
    a, b, c = (hull.points[hull.simplices[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    near = hull.equations[:, :3] @ down > np.cos(np.radians(25))
    sums: dict[tuple[float, ...], float] = {}
    for normal, size in zip(hull.equations[near, :3], area[near], strict=True):
        key = tuple(np.round(normal, 2))
        sums[key] = sums.get(key, 0.0) + float(size)
    largest = sorted(sums, key=lambda key: -sums[key])[:3]
    return [np.array(key) / np.linalg.norm(key) for key in largest]


def _largest_ball(points: np.ndarray, face: Patch) -> float:
    """Return the radius of the largest ball, up to 10 cm, within a foot that touches its face in the middle; 0 without one."""
    hull = Hull.of(points)
    if hull is None:
        return 0.0
    sizes = np.geomspace(0.1, 0.001, 200)
    return next((float(r) for r in sizes if hull.outside(face.pos - r * face.normal) + r < 0.3 * TOLERANCE), 0.0)


def palm(body: Skeleton, hand: Limb, inward: np.ndarray) -> Patch | None:
    """Return the palm of a hand in the frame of its end, x along the fingers; None where nothing of it collides."""
    m, d = body.m, body.d
    solid = shapes_of(m, hand.held)
    box = body.box(body.below(hand.end))
    if not solid or box is None:
        return None
    fingers = (box[0] + box[1]) / 2 - d.xpos[hand.end]
    fingers /= max(float(np.linalg.norm(fingers)), 1e-9)
    normal = body.turned(hand.end, _palm_normal(body, hand, fingers, inward))
    points = np.vstack([points_in(m, d, g, hand.end) for g in solid])
    return flat_patch(points, normal, body.turned(hand.end, fingers), most=0.04)


def _palm_normal(body: Skeleton, hand: Limb, fingers: np.ndarray, inward: np.ndarray) -> np.ndarray:
    """Return the normal of a palm in the world: across the fingers, where the hand is flat, and rather inward or down."""
    m, d, R = body.m, body.d, body.d.xmat[hand.end].reshape(3, 3)
    toward = inward + 0.8 * _DOWN
    own = [g for g in range(m.ngeom) if int(m.geom_bodyid[g]) == hand.end]
    across = [k for k in range(3) if abs(R[:, k] @ fingers) < 0.5]
    if own and len(across) == 2:
        reach = [geom_extent(m, d, g, R[:, across].T) for g in own]
        size = np.max([r[1] for r in reach], axis=0) - np.min([r[0] for r in reach], axis=0)
        if size.min() < 0.7 * size.max():
            normal = R[:, across[int(size.argmin())]]
            return normal if normal @ toward > 0 else -normal
    normal = inward - fingers * (inward @ fingers)
    if np.linalg.norm(normal) < 0.3:  # arms spread: palms down
        normal = _DOWN + fingers * fingers[2]
    return normal / np.linalg.norm(normal)


# -- posture -----------------------------------------------------------------------------------------------------------


class _Goal(NamedTuple):
    """The joints of a limb, the point of its end that is placed, where to, and for a sole the end's rotation."""

    joints: list[int]
    local: np.ndarray
    place: np.ndarray
    rotation: np.ndarray | None


def posture(body: Skeleton, limbs: dict[str, Limb], soles: dict[str, Sole]) -> dict[str, float]:
    """Put the body into a rest posture and return it: arms hanging, knees a little bent, soles level, the centre of mass over them."""
    m, d = body.m, body.d
    goals = {name: _goal(body, name, limb, limbs, soles) for name, limb in limbs.items()}
    for part in ("hand", "foot", "foot", "foot"):  # feet last, under what is then the COM
        mujoco.mj_comPos(m, d)
        middle = float(body.facing @ d.subtree_com[body.root])
        for name, goal in goals.items():
            if name.endswith(part) and goal.joints:
                ahead = middle - float(body.facing @ goal.place) if part == "foot" else 0.0
                _reach(body, limbs[name].end, goal._replace(place=goal.place + ahead * body.facing))
    _level(body, limbs, goals)
    for name, ground in soles.items():
        _lift_toes(body, limbs[name], ground)
    values = {}
    for b in body.bodies:
        for joint in body.joints(b):
            value, name = float(d.qpos[m.jnt_qposadr[joint]]), m.joint(joint).name
            if name and (abs(value) > 0.01 or abs(body.start[m.jnt_qposadr[joint]]) > 0):
                values[name] = value
    return values


def _lift_toes(body: Skeleton, foot: Limb, ground: Sole) -> None:
    """Bend the joints beyond a foot, as little as need be, so that nothing there is below its sole."""
    m, d = body.m, body.d
    beyond = [b for b in body.below(foot.end) if b not in foot.held]
    for joint in [j for b in beyond for j in body.joints(b)]:
        adr, own = m.jnt_qposadr[joint], body.below(int(m.jnt_bodyid[joint]))
        low, high = m.jnt_range[joint] if m.jnt_limited[joint] else (-1.0, 1.0)
        if not shapes_of(m, own):
            continue
        for value in sorted([d.qpos[adr], *np.linspace(low, high, 41)[1:-1]], key=lambda v: abs(v - d.qpos[adr])):
            d.qpos[adr] = value
            mujoco.mj_kinematics(m, d)
            floor = d.xpos[foot.end, 2] + d.xmat[foot.end].reshape(3, 3)[2] @ ground.face.pos
            if body.bottom(own) > floor - 0.3 * TOLERANCE:
                break


def weights_held(body: Skeleton, limbs: dict[str, Limb]) -> dict[int, float]:
    """Return the torques [N·m, N] with which joints that are not in the legs hold up what hangs on them, as it is now."""
    m, d = body.m, body.d
    legs = {b for name, limb in limbs.items() if name.endswith("foot") for b in limb.chain}
    m.opt.gravity[:] = [0, 0, -9.81]
    d.qvel[:] = 0
    mujoco.mj_forward(m, d)
    joints = [j for b in body.bodies if b not in legs for j in body.joints(b)]
    return {j: abs(float(d.qfrc_bias[m.jnt_dofadr[j]])) for j in joints}


def _level(body: Skeleton, limbs: dict[str, Limb], goals: dict[str, _Goal]) -> None:
    """Bring both soles to one height, that of the straighter leg: ranges may keep the other from bending as much."""
    d = body.d
    feet = [name for name, goal in goals.items() if name.endswith("foot") and goal.joints]
    ends = {n: d.xpos[limbs[n].end] + d.xmat[limbs[n].end].reshape(3, 3) @ goals[n].local for n in feet}
    if feet and np.ptp([end[2] for end in ends.values()]) > 5e-4:
        floor = min(end[2] for end in ends.values())
        for name in feet:
            _reach(body, limbs[name].end, goals[name]._replace(place=np.array([*ends[name][:2], floor])), 300.0)


def _goal(body: Skeleton, name: str, limb: Limb, limbs: dict[str, Limb], soles: dict[str, Sole]) -> _Goal:
    m, d = body.m, body.d
    side, _, part = name.partition("_")
    other = limbs.get(f"{'right' if side == 'left' else 'left'}_{part}")
    own = [b for b in limb.chain if other is None or b not in other.chain]
    joints = [j for b in own for j in body.joints(b) if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    if not joints:
        return _Goal([], np.zeros(3), np.zeros(3), None)
    start, R = d.xpos[m.jnt_bodyid[joints[0]]].copy(), d.xmat[limb.end].reshape(3, 3)
    if part == "hand":
        length = float(np.linalg.norm(d.xpos[limb.end] - start))
        outward = body.left * (1.0 if side == "left" else -1.0)
        place = start + length * (0.12 * outward + 0.25 * body.facing + _DROP * _DOWN)
        return _Goal(joints, np.zeros(3), place, None)
    ground, rotation = soles[name].face, None
    if not soles[name].round:
        wanted = np.array([body.facing, np.cross(_DOWN, body.facing), _DOWN])
        rotation = wanted.T @ np.array([ground.along, np.cross(ground.normal, ground.along), ground.normal])
    length = float(np.linalg.norm(d.xpos[limb.end] + R @ ground.pos - start))
    return _Goal(joints, ground.pos, start + (1.0 - _BEND) * length * _DOWN, rotation)


def _reach(body: Skeleton, end: int, goal: _Goal, upright: float = 10.0) -> None:
    """Move the joints of a limb so that a point of its end comes to a goal, with a rotation if it is given.

    ``upright`` is the weight of the height of that point; that of its place is 10.
    """
    m, d = body.m, body.d
    adr = m.jnt_qposadr[goal.joints]
    limited = m.jnt_limited[goal.joints].astype(bool)
    low = np.where(limited, m.jnt_range[goal.joints, 0], -np.pi)
    high = np.where(limited, m.jnt_range[goal.joints, 1], np.pi)
    margin = 0.03 * (high - low)
    low, high = low + margin, high - margin

    def residual(x: np.ndarray) -> np.ndarray:
        d.qpos[adr] = x
        mujoco.mj_kinematics(m, d)
        R = d.xmat[end].reshape(3, 3)
        parts = [[10.0, 10.0, upright] * (d.xpos[end] + R @ goal.local - goal.place), 0.05 * x]
        if (
            goal.rotation is not None
        ):  # soles are level first of all: a tilt of a hundredth leaves one edge in the floor
            parts.append((30.0 * (R - goal.rotation)).ravel())
        return np.concatenate(parts)

    # A knee that starts straight has no gradient: begin a little bent.
    begin = np.clip(np.where(np.arange(len(goal.joints)) % 2, 0.05, -0.05), low, high)
    residual(least_squares(residual, begin, bounds=(low, np.maximum(high, low + 1e-6)), max_nfev=300).x)
