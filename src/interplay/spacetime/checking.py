"""What an optimal motion is worth between the points at which its equations hold: checked in plain MuJoCo.

Nothing of the program is used here but the motion and its ground forces: inverse dynamics, places and overlaps are MuJoCo's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.models.base import solid_shapes
from interplay.scene.scene import Scene
from interplay.spacetime.body import ROOT, SIDES
from interplay.spacetime.part import CARRIES, CORNERS, EDGES, OFF_STOPS, Part

HULLS = 1e-3
"""By how much parts of one body overlap as it is placed that are not looked at [m]."""
SAMPLES = 8
"""Moments of each interval that are looked at."""


class Figures(NamedTuple):
    """Of one character, over all moments.

    Force on its root that nothing gives, over its weight: mean and worst; farthest a corner that carries is from where its phase found it,
    or, without shoes, from the ground [m]; worst torque over its motor's limit; worst joint beyond its range [rad]; deepest overlap of two
    of its parts or with the ground, but what stands on it [m]; largest force under a foot over its weight; and of shoes the largest
    difference, over the weight, between the force under an edge and what it gives, by how far it sank.
    """

    root_mean: float
    root_worst: float
    slip: float
    torque_ratio: float
    limit_violation: float
    depth: float
    peak_force: float
    off_springs: float = 0.0

    def failures(self) -> tuple[str, ...]:
        """Return what is not as it must be, in words: all of it is, of what is called solved."""
        return tuple(
            f"{what} {scale * value:.3g}{unit}, expected {scale * most:g}{unit} at most"
            for name, (most, scale, unit, what) in SOUND.items()
            if not (value := getattr(self, name)) <= most
        )


SOUND = {
    "root_mean": (0.01, 100.0, " %", "force on the root that nothing gives, over the weight: on the mean"),
    "root_worst": (0.1, 100.0, " %", "force on the root that nothing gives, over the weight: at worst"),
    "slip": (1.5e-3, 1e3, " mm", "feet slip by"),
    "torque_ratio": (1.0, 1.0, "", "worst torque over its limit:"),
    "limit_violation": (1e-3, 1.0, " rad", "a joint beyond its range by"),
    "depth": (5e-3, 1e3, " mm", "deepest overlap"),
}
"""What figures may be at most: value, and how it is said (factor, unit, words)."""


Touching = Sequence[tuple[str, str]]
"""Pairs of bodies, by name."""


class Sampled(NamedTuple):
    """A part at many moments, in MuJoCo's terms, of a scene in which it is alone or not."""

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    qacc: np.ndarray
    torque: np.ndarray
    force: np.ndarray
    pull: np.ndarray
    phase: np.ndarray
    residual: np.ndarray


def sampled(part: Part, x: np.ndarray, times: np.ndarray | None = None) -> Sampled:
    """Return a part at some times, by default several in each interval; torques are what its ground forces leave to its motors."""
    body, m = part.body, part.body.scene.model
    if times is None:
        knots, shares = part.times(x), (np.arange(SAMPLES) + 0.5) / SAMPLES
        times = (knots[:-1, None] + np.diff(knots)[:, None] * shares).ravel()
    course, acceleration, phase = part.course(x, times)
    ground, pull = np.asarray(course.force), np.asarray(course.pull)
    d, T = mujoco.MjData(m), len(course.time)
    own = slice(body.dof_start, body.dof_start + body.n)
    qpos = np.tile(body.scene.qpos, (T, 1))
    qvel, qacc, torque, residual = np.zeros((T, m.nv)), np.zeros((T, m.nv)), np.zeros((T, m.nv)), np.zeros((T, ROOT))
    soles = [[part.sole(side, *corner) for corner in CORNERS] for side in SIDES]
    jac = np.zeros((3, m.nv))
    qpos[:, body.qpos_start : body.qpos_start + body.n + 1] = body.configuration(course.q)
    qvel[:, own], qacc[:, own] = body.twist(course.q, course.v), body.spun(course.q, course.v, acceleration)
    for k in range(T):
        d.qpos[:], d.qvel[:] = qpos[k], qvel[k]
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fwdVelocity(m, d)
        needed = np.zeros(m.nv)
        mujoco.mj_mulM(m, d, needed, qacc[k])
        needed += d.qfrc_bias - d.qfrc_passive
        for corners, forces in zip([*soles, part.pulled], [*ground[k], pull[k]], strict=True):
            for corner, force in zip(corners, forces, strict=True):
                b = body.bodies[corner.link]
                mujoco.mj_jac(m, d, jac, None, d.xpos[b] + d.xmat[b].reshape(3, 3) @ corner.place, b)
                needed -= jac.T @ force
        residual[k], torque[k, own] = needed[own][:ROOT], needed[own]
        torque[k, body.dof_start : body.dof_start + ROOT] = 0.0
    return Sampled(course.time, qpos, qvel, qacc, torque, ground, pull, phase, residual)


def figures(part: Part, x: np.ndarray) -> Figures:
    """Return what a part is worth, over all moments and all pairs of its parts."""
    return together(by_phase(part, x), [phase.intervals for phase in part.phases])


def by_phase(part: Part, x: np.ndarray) -> list[Figures]:
    """Return what a part is worth in each of its phases."""
    body = part.body
    seen = sampled(part, x)
    weight = body.mass * body.gravity
    root = np.linalg.norm(seen.residual[:, :3], axis=1) / weight
    own = slice(body.dof_start + ROOT, body.dof_start + body.n)
    hinges = seen.qpos[:, body.qpos_start + 7 : body.qpos_start + body.n + 1]
    each = np.stack(
        [
            root,
            (np.abs(seen.torque[:, own]) / body.torque).max(axis=1),
            np.maximum(body.low - hinges, hinges - body.high).max(axis=1).clip(0.0),
            _depths(body.scene, seen.qpos, [part]),
            seen.force[..., 2].sum(axis=2).max(axis=1) / weight,
        ]
    )
    out = []
    for phase, (slip, spring) in enumerate(zip(_slips(part, seen), _off_springs(part, seen), strict=True)):
        mine = each[:, seen.phase == phase]
        worst, torque, beyond, depth, peak = (float(one) for one in mine.max(axis=1))
        out.append(Figures(float(mine[0].mean()), worst, float(slip), torque, beyond, depth, peak, float(spring)))
    return out


def together(each: Sequence[Figures], intervals: Sequence[int]) -> Figures:
    """Return what phases of so many intervals are worth together."""
    worst = Figures(*(max(one) for one in zip(*each, strict=True)))
    return worst._replace(root_mean=float(np.average([one.root_mean for one in each], weights=intervals)))


def overlap(scene: Scene, configurations: np.ndarray, parts: Sequence[Part], touching: Touching = ()) -> float:
    """Return the deepest overlap of any two things of which one is a part's, but of feet and the ground [m]; of all pairs of parts.

    Pairs of bodies that touch on purpose are left out, and parts of one body that overlap as it is placed: robots' hulls do.
    What moves and is no part's is not looked at: where it is, is not known here.
    """
    return float(_depths(scene, configurations, parts, touching).max(initial=0.0))


def _depths(scene: Scene, configurations: np.ndarray, parts: Sequence[Part], touching: Touching = ()) -> np.ndarray:
    """Return the deepest overlap in each configuration (T,)."""
    m, depth = scene.model, np.zeros(len(configurations))
    d, solid = mujoco.MjData(m), solid_shapes(m)
    feet = {part.body.bodies[part.sole(side).link] for part in parts for side in SIDES}
    known = {b for part in parts for b in part.body.bodies}
    meant = [{m.body(one).id, m.body(other).id} for one, other in touching]
    known |= {b for b in range(m.nbody) if m.body_weldid[b] == 0}
    d.qpos[:] = scene.qpos
    mujoco.mj_fwdPosition(m, d)
    placed = [m.geom_bodyid[contact.geom] for contact in d.contact if contact.dist < -HULLS]
    meant += [set(pair.tolist()) for pair in placed if m.body_treeid[pair[0]] == m.body_treeid[pair[1]]]
    for k, qpos in enumerate(configurations):
        d.qpos[:] = qpos
        mujoco.mj_fwdPosition(m, d)
        for contact in d.contact:
            bodies = set(m.geom_bodyid[contact.geom].tolist())
            if (
                solid[contact.geom].all()
                and bodies <= known
                and bodies not in meant
                and not (0 in bodies and bodies & feet)
            ):
                depth[k] = max(depth[k], -float(contact.dist))
    return depth


def roughest(part: Part, x: np.ndarray) -> np.ndarray:
    """Return, for each phase (P, 4), what may be off between its points.

    Worst and mean force on the root that nothing gives, over the weight; the worst slip [m]; and how far a joint is beyond its range, less
    what it keeps off it at knots [rad].
    """
    seen = sampled(part, x)
    root = np.linalg.norm(seen.residual[:, :3], axis=1) / (part.body.mass * part.body.gravity)
    body = part.body
    hinges = seen.qpos[:, body.qpos_start + 7 : body.qpos_start + body.n + 1]
    beyond = np.maximum(body.low - hinges, hinges - body.high).max(axis=1)

    def worst(of: np.ndarray) -> list[float]:
        return [float(of[seen.phase == k].max()) for k in range(len(part.phases))]

    mean = [root[seen.phase == k].mean() for k in range(len(part.phases))]
    return np.stack([worst(root), mean, _slips(part, seen), worst(beyond + OFF_STOPS)], axis=1)


def _slips(part: Part, seen: Sampled) -> np.ndarray:
    """Return, for each phase (P,), how far a corner that carries is from where its phase found it, or, without shoes, from the ground [m]."""
    out, places = np.zeros(len(part.phases)), _places(part, seen)
    for index, phase in enumerate(part.phases):
        for s, side in enumerate(SIDES):
            for c in CARRIES[phase.mode(side)]:
                there = places[seen.phase == index, s, c]
                moved = np.linalg.norm(there[:, :2] - there[0, :2], axis=1)
                out[index] = max(out[index], float(moved.max()))
                if not part.body.shoes:
                    out[index] = max(out[index], float(np.abs(there[:, 2] - part.heights(side)[index]).max()))
    return out


def _off_springs(part: Part, seen: Sampled) -> np.ndarray:
    """Return, for each phase (P,), how far forces under edges of shoes are from what those give, over the weight."""
    out, places, stiffness = np.zeros(len(part.phases)), _places(part, seen), part.body.shoes
    for index in range(len(part.phases)) if stiffness else ():
        mine = seen.phase == index
        for s, side in enumerate(SIDES):
            for edge in EDGES:
                sunk = part.heights(side)[index] - places[mine, s][:, edge, 2].mean(axis=1)
                given = stiffness * sunk if part.carries(index, side, edge) else np.zeros(mine.sum())
                off = np.abs(seen.force[mine, s][:, edge, 2].sum(axis=1) - given)
                out[index] = max(out[index], float(off.max()))
    return out / (part.body.mass * part.body.gravity)


def _places(part: Part, seen: Sampled) -> np.ndarray:
    """Return where the corners of both soles are (T, 2, 4, 3)."""
    body = part.body
    m = body.scene.model
    d, soles = mujoco.MjData(m), [[part.sole(side, *corner) for corner in CORNERS] for side in SIDES]
    places = np.zeros((len(seen.time), 2, 4, 3))
    for k, qpos in enumerate(seen.qpos):
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        for s in range(2):
            for c, point in enumerate(soles[s]):
                b = body.bodies[point.link]
                places[k, s, c] = d.xpos[b] + d.xmat[b].reshape(3, 3) @ point.place
    return places
