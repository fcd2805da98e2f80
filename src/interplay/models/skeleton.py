"""What a compiled body is made of: its root, which way it stands and looks, its feet and hands."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, pick
from interplay.models.base import frame_quat
from interplay.models.extent import geom_extent
from interplay.models.files import ModelFile
from interplay.models.fit import held_together, points_in, shapes_of

SIDES = ("left", "right")
SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))

_HEADS, _FEET = re.compile("head|neck|skull", re.IGNORECASE), re.compile("foot|ankle|toe|sole", re.IGNORECASE)


class Limb(NamedTuple):
    """Bodies from the root to an end (foot or hand); the bodies that are held to that end move as one with it."""

    chain: list[int]
    end: int
    held: list[int]


class Skeleton:
    """Looks at a compiled body in its zero posture, or as near to it as the ranges of its joints allow, upright."""

    def __init__(self, file: str, found: ModelFile, root: str | None):
        """Take what was read from a file, and the root body's name where it is known."""
        self.m = found.model
        self.look(self.m)
        names = {self.m.body(b).name: b for b in range(1, self.m.nbody)}
        if not names:
            raise InputError(f"{file}: the file has no body")
        self.root = pick("root body", root, names) if root else self._root()
        self.bodies = [b for b in range(1, self.m.nbody) if self.root in self.up_from(b)]
        self.upward = self._upward()
        """Which way is up in the file's own axes."""
        self.file_axes = np.eye(3)
        """Turns what is seen here (z is up) into the file's own axes."""
        if self.upward[2] < 0.5:
            self._raise(found.spec)
        self.facing = self._facing()
        self.left = np.array([-self.facing[1], self.facing[0], 0.0])

    def look(self, m: mujoco.MjModel) -> None:
        """Compute where everything is; joints whose range leaves zero out start within it."""
        self.m, self.d = m, mujoco.MjData(m)
        for joint in range(m.njnt):
            if m.jnt_limited[joint] and int(m.jnt_type[joint]) in SCALAR:
                low, high = m.jnt_range[joint]
                margin = 0.03 * (high - low)
                if not low <= 0 <= high:
                    self.d.qpos[m.jnt_qposadr[joint]] = np.clip(0.0, low + margin, high - margin)
        self.start = self.d.qpos.copy()
        """Joint values of the posture that is looked at."""
        mujoco.mj_kinematics(m, self.d)
        mujoco.mj_comPos(m, self.d)

    def _raise(self, spec: mujoco.MjSpec) -> None:
        """Turn a file whose up is another axis, so that it is z here."""
        quat, R = np.empty(4), np.empty(9)
        side = (1, 0, 0) if abs(self.upward[0]) < 0.5 else (0, 1, 0)
        mujoco.mju_negQuat(quat, np.array(frame_quat(tuple(self.upward), side)))
        mujoco.mju_quat2Mat(R, quat)
        for body in spec.worldbody.bodies:
            turned = np.empty(4)
            mujoco.mju_mulQuat(turned, quat, np.array(body.quat, float))
            body.quat, body.pos = turned.tolist(), (R.reshape(3, 3) @ body.pos).tolist()
        self.file_axes = R.reshape(3, 3).T.copy()
        self.look(spec.compile())

    # -- structure -----------------------------------------------------------------------------------------------------

    def _root(self) -> int:
        m = self.m
        free = [
            b
            for b in range(1, m.nbody)
            if m.body_jntnum[b] and m.jnt_type[m.body_jntadr[b]] == mujoco.mjtJoint.mjJNT_FREE
        ]
        candidates = free or [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
        return max(candidates, key=lambda b: float(m.body_subtreemass[b]))

    def up_from(self, body: int) -> list[int]:
        """Return a body and those above it."""
        out = [body]
        while self.m.body_parentid[out[-1]]:
            out.append(int(self.m.body_parentid[out[-1]]))
        return out

    def below(self, body: int) -> list[int]:
        """Return a body and those that hang on it."""
        return [b for b in self.bodies if body in self.up_from(b)]

    def joints(self, body: int) -> list[int]:
        """Return the joints by which a body moves in another one; the root has none."""
        first, m = int(self.m.body_jntadr[body]), self.m
        if body == self.root:
            return []
        return [
            j for j in range(first, first + int(m.body_jntnum[body])) if m.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE
        ]

    def root_joints(self) -> list[str]:
        """Return the names of the joints, but for a free one, that join the root to the world."""
        m, first = self.m, int(self.m.body_jntadr[self.root])
        joints = range(first, first + int(m.body_jntnum[self.root]))
        return [m.joint(j).name for j in joints if m.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]

    def box(self, bodies: list[int]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the box around the shapes of some bodies, seen or not, in the world; None without shapes."""
        m, d = self.m, self.d
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for g in range(m.ngeom):
            if int(m.geom_bodyid[g]) in bodies and m.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE:
                lowest, highest = geom_extent(m, d, g, np.eye(3))
                low, high = np.minimum(low, lowest), np.maximum(high, highest)
        return (low, high) if np.isfinite(low).all() else None

    def astray(self, body: int) -> float:
        """Return how far [m] a body collides from where it is seen, if that is farther than either is large; else 0."""
        solid = shapes_of(self.m, [body])
        seen = [g for g in range(self.m.ngeom) if int(self.m.geom_bodyid[g]) == body and g not in solid]
        if not solid or not seen:
            return 0.0
        boxes = [[geom_extent(self.m, self.d, g, np.eye(3)) for g in group] for group in (solid, seen)]
        low, high = ([most([b[k] for b in box], axis=0) for box in boxes] for k, most in ((0, np.min), (1, np.max)))
        off = float(np.linalg.norm(np.add(low[0], high[0]) - np.add(low[1], high[1]))) / 2
        return off if off > max(float(np.linalg.norm(h - lo)) for lo, h in zip(low, high, strict=True)) else 0.0

    def mistaken(self, mesh: str) -> bool:
        """Return whether a mesh that is seen, and was turned from y to z up, would be more like what collides if it were not."""
        m = self.m
        for geom in range(m.ngeom):
            solid = shapes_of(m, [int(m.geom_bodyid[geom])])
            if m.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH or m.mesh(m.geom_dataid[geom]).name != mesh or not solid:
                continue
            if geom not in solid:
                body = int(m.geom_bodyid[geom])
                hard = np.vstack([points_in(m, self.d, g, body) for g in solid])
                seen = points_in(m, self.d, geom, body)
                off = [np.abs(_span(points) - _span(hard)).sum() for points in (seen, seen[:, [0, 2, 1]] * [1, 1, -1])]
                return bool(off[1] < 0.5 * off[0])
        return False

    def vast(self) -> list[int]:
        """Return the bodies with a collision shape that is larger than the whole body is tall: placeholders."""
        m, tall = self.m, float(np.ptp(self.d.xpos[self.bodies, 2]))
        return [b for b in self.bodies if any(m.geom_rbound[g] > 0.8 * tall for g in shapes_of(m, [b]))]

    def bottom(self, held: list[int]) -> float:
        """Return how low bodies that move as one reach: what collides, or else what is seen, or else their frames."""
        solid = shapes_of(self.m, held)
        if solid:
            return min(float(geom_extent(self.m, self.d, g, np.eye(3)[2:])[0][0]) for g in solid)
        box = self.box(held)
        return float(box[0][2]) if box else float(self.d.xpos[held, 2].min())

    def _groups(self) -> dict[int, list[int]]:
        """Return the bodies that move as one, by the one of them that has the joints."""
        out: dict[int, list[int]] = {}
        for b in self.bodies:
            mover = next((a for a in self.up_from(b) if a == self.root or self.joints(a)), b)
            out.setdefault(mover, []).append(b)
        return out

    # -- directions ----------------------------------------------------------------------------------------------------

    def _upward(self) -> np.ndarray:
        """Return the axis from the feet to the head, where they are called so; +z otherwise."""
        places = [
            [self.d.xpos[b] for b in self.bodies if pattern.search(self.m.body(b).name)] for pattern in (_FEET, _HEADS)
        ]
        if all(places):
            way = np.mean(places[1], axis=0) - np.mean(places[0], axis=0)
            axis = int(np.argmax(np.abs(way)))
            if abs(way[axis]) > 2 * np.delete(np.abs(way), axis).max():
                return np.sign(way[axis]) * np.eye(3)[axis]
        return np.array([0.0, 0.0, 1.0])

    def _facing(self) -> np.ndarray:
        """Return where it looks: across from its right to its left bodies, where they are called so; or where its feet point."""
        places = {self.m.body(b).name: self.d.xpos[b] for b in self.bodies}
        left = sum(
            (places[name] - places[other] for name in places for other in _mirrored(name) if other in places),
            start=np.zeros(3),
        )
        left[2] = 0.0
        axis = int(np.argmax(np.abs(left)))
        if np.linalg.norm(left) > 0.01 and abs(left[axis]) > 0.9 * np.linalg.norm(left):
            return np.cross(np.sign(left[axis]) * np.eye(3)[axis], [0.0, 0.0, 1.0])
        return self._toes()

    def _toes(self) -> np.ndarray:
        """Return where the feet point: from the shins' ends to the middle of the lowest shapes; +x if that says nothing."""
        total = np.zeros(3)
        moving = [held for mover, held in self._groups().items() if mover != self.root and self.box(held)]
        if not moving:
            return np.array([1.0, 0.0, 0.0])
        floor = min(self.bottom(held) for held in moving)
        height = max(float(self.d.xpos[self.bodies, 2].max()), self.box(self.bodies)[1][2]) - floor  # type: ignore[index]
        for held in moving:
            low, high = self.box(held)  # type: ignore[misc]
            if self.bottom(held) < floor + 0.03 * height:
                above = [
                    a for a in self.up_from(held[0]) if self.joints(a) and self.d.xpos[a, 2] > floor + 0.03 * height
                ]
                total += (low + high) / 2 - self.d.xpos[above[0] if above else held[0]]
        total[2] = 0.0
        if np.linalg.norm(total) < 0.01 * height:
            return np.array([1.0, 0.0, 0.0])
        axis = int(np.argmax(np.abs(total)))
        return np.sign(total[axis]) * np.eye(3)[axis]

    # -- limbs ---------------------------------------------------------------------------------------------------------

    def limbs(self) -> dict[str, Limb]:
        """Return foot and hand of both sides: the lowest and the farthest ends; what is not found is missing."""
        out, groups = {}, self._groups()
        middle = float(self.left @ self.d.subtree_com[self.root])
        low = {mover: self.bottom(held) for mover, held in groups.items()}
        floor, top = min(low.values()), float(self.d.xpos[self.bodies, 2].max())
        feet = {}
        for sign, side in zip((1, -1), SIDES, strict=True):
            mine = [b for b in low if b != self.root and sign * (self._sideways(groups[b]) - middle) > 0.02]
            lowest = min((low[b] for b in mine), default=np.inf)
            near = [b for b in mine if low[b] < lowest + 0.025 * (top - floor)]
            if near and lowest < floor + 0.05 * (top - floor):
                foot = max(near, key=lambda b: (self._footprint(groups[b]), len(self.up_from(b))))
                feet[f"{side}_foot"] = Limb(self.up_from(foot)[::-1], foot, groups[foot])
        if len(feet) == 2:  # one leg is none: what hangs lowest on one side only is no foot
            hips = self.hips(feet)
            hip = float(self.d.xpos[hips, 2].max())
            # What begins far above the centre of mass and ends little below the root is an arm, however low it hangs.
            low_hips = hip < self.d.subtree_com[self.root][2] + 0.1 * (top - floor)
            if low_hips or self.d.xpos[self.root, 2] - floor > 0.5 * (hip - floor):
                out |= feet
        legs = set.symmetric_difference(*(set(foot.chain) for foot in out.values())) if out else set()
        for sign, side in zip((1, -1), SIDES, strict=True):
            hand = self._hand([b for b in self.bodies if sign * (self._sideways([b]) - middle) > 0.02], legs)
            if hand is not None:
                out[f"{side}_hand"] = Limb(self.up_from(hand)[::-1], hand, groups[hand])
        return out

    def _footprint(self, held: list[int]) -> float:
        """Return the area [m²] over which some bodies are spread: of what is as low, a foot is larger than ankle and toes."""
        box = self.box(held)
        return float(np.prod((box[1] - box[0])[:2])) if box else 0.0

    def hips(self, limbs: dict[str, Limb]) -> list[int]:
        """Return the first body of each leg that the other one does not share."""
        chains = [limb.chain for name, limb in limbs.items() if name.endswith("foot")]
        shared = set(chains[0]).intersection(*chains)
        return [next(b for b in chain if b not in shared) for chain in chains]

    def _hand(self, mine: list[int], legs: set[int]) -> int | None:
        """Return the hand of a side: the end of what reaches farthest from the root and is no leg; not a single finger."""
        m = self.m
        arms = [b for b in mine if b != self.root and self.box([b]) and not legs & set(self.up_from(b))]
        arms = [b for b in arms if sum(bool(self.joints(a)) for a in self.up_from(b)) >= 2]
        if not arms:
            return None
        moving = [a for a in self.up_from(max(arms, key=self._way)) if self.joints(a)]
        heavy = (a for a in moving if m.body_subtreemass[a] > 0.004 * m.body_subtreemass[self.root])
        return next(heavy, moving[0])

    def _sideways(self, held: list[int]) -> float:
        """Return how far to the left the middle of some bodies is."""
        box = self.box(held)
        return float(self.left @ ((box[0] + box[1]) / 2 if box else self.d.xipos[held].mean(0)))

    def _way(self, body: int) -> float:
        """Return the length of the way from the root to a body, along the bodies between them [m]."""
        chain = self.up_from(body)
        return sum(float(np.linalg.norm(self.d.xpos[a] - self.d.xpos[b])) for a, b in itertools.pairwise(chain))

    def segments(self, chain: list[int]) -> list[int]:
        """Return the two longest bodies of a limb, in order: thigh and shank, or upper arm and forearm."""
        moving = [b for b in chain if self.joints(b)]
        places = [self.d.xpos[b] for b in moving] + [self.d.xipos[self.below(moving[-1])[-1]]] if moving else []
        length = {b: float(np.linalg.norm(places[k + 1] - places[k])) for k, b in enumerate(moving)}
        longest = sorted(sorted(length, key=lambda b: -length[b])[:2], key=moving.index)
        return longest if len(longest) == 2 else []

    def shaped(self, body: int) -> int:
        """Return a body, or where it has no collision shape, the largest that is held to it and has one."""
        m = self.m
        if shapes_of(m, [body]):
            return body
        others = [b for b in held_together(m, body) if shapes_of(m, [b]) and b in self.bodies]
        return max(others, key=lambda b: max(m.geom_rbound[g] for g in shapes_of(m, [b])), default=body)

    def turned(self, body: int, direction: np.ndarray) -> np.ndarray:
        """Return a direction of the world in a body's frame."""
        return self.d.xmat[body].reshape(3, 3).T @ direction


def _span(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points.min(0), points.max(0)])


def _mirrored(name: str) -> set[str]:
    """Return what a body on the right may be called whose fellow on the left has some name: LFoot, RFoot."""
    out = {name.replace(left, right) for left, right in (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"))}
    out |= {name[:k] + ("r" if c == "l" else "R") + name[k + 1 :] for k, c in enumerate(name) if c in "lL"}
    return out - {name}
