"""A first sidecar from a model file: root, soles, hands, names, posture and limits, each guess marked as one."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import least_squares

from interplay.errors import InputError, pick
from interplay.models.extent import geom_extent
from interplay.models.files import ModelFile, read_model
from interplay.models.motors import torque_limits

_SIDES = ("left", "right")
_BEND, _DROP = 0.035, 0.86
"""How far the root is lowered to bend the knees, of the leg's length; how far hands hang, of the arm's length."""


class _Limb(NamedTuple):
    """Bodies from the root to an end (foot or hand), and the box around the end's shapes: (low, high) in the world."""

    chain: list[int]
    end: int
    low: np.ndarray
    high: np.ndarray


def guess_sidecar(path: str | Path, root: str | None = None, beside: Path | None = None) -> str:
    """Return the text of a first sidecar for a model file, to be written into the folder ``beside`` (by default the file's).

    ``root`` names the root body where the guess would be wrong.
    """
    path = Path(path)
    address = path.name if beside is None else os.path.relpath(path, beside)
    return _Guess(path, address, read_model(path), root).text()


class _Guess:
    """Looks at a compiled body in its zero posture."""

    def __init__(self, path: Path, address: str, found: ModelFile, root: str | None):
        self.path, self.address, self.found, self.m = path, address, found, found.model
        m = self.m
        self.d = mujoco.MjData(m)
        mujoco.mj_kinematics(m, self.d)
        mujoco.mj_comPos(m, self.d)
        names = {m.body(b).name: b for b in range(1, m.nbody)}
        if not names:
            raise InputError(f"{path.name}: the file has no body")
        self.root = pick("root body", root, names) if root else self._root()
        self.bodies = [b for b in range(1, m.nbody) if self.root in self._up(b)]
        self.facing = self._facing()
        self.left = np.array([-self.facing[1], self.facing[0], 0.0])

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

    def _up(self, body: int) -> list[int]:
        out = [body]
        while self.m.body_parentid[out[-1]]:
            out.append(int(self.m.body_parentid[out[-1]]))
        return out

    def _joints(self, body: int) -> list[int]:
        m = self.m
        first = int(m.body_jntadr[body])
        return [
            j for j in range(first, first + int(m.body_jntnum[body])) if m.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE
        ]

    def _box(self, bodies: list[int]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the box around the shapes of some bodies, along facing, left and up; None without shapes."""
        m, d = self.m, self.d
        axes = np.array([self.facing, self.left, [0, 0, 1]]) if hasattr(self, "left") else np.eye(3)
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for g in range(m.ngeom):
            if int(m.geom_bodyid[g]) in bodies and m.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE:
                lowest, highest = geom_extent(m, d, g, axes)
                low, high = np.minimum(low, lowest), np.maximum(high, highest)
        return (low, high) if np.isfinite(low).all() else None

    def _way(self, body: int) -> float:
        """Return the length of the way from the root to a body, along the bodies between them [m]."""
        chain = self._up(body)
        return sum(float(np.linalg.norm(self.d.xpos[a] - self.d.xpos[b])) for a, b in itertools.pairwise(chain))

    def _below(self, body: int) -> list[int]:
        return [b for b in self.bodies if body in self._up(b)]

    def _facing(self) -> np.ndarray:
        """Return where the feet point: from the shins' ends to the middle of the lowest shapes; +x if that says nothing."""
        total = np.zeros(3)
        whole = self._box(self.bodies)
        if whole is None:
            return np.array([1.0, 0.0, 0.0])
        floor, height = whole[0][2], whole[1][2] - whole[0][2]
        for b in self.bodies:
            box = self._box([b])
            if box and box[0][2] < floor + 0.03 * height:
                above = [a for a in self._up(b) if self._joints(a) and self.d.xpos[a, 2] > floor + 0.03 * height]
                total += (box[0] + box[1]) / 2 - self.d.xpos[above[0] if above else b]
        total[2] = 0.0
        if np.linalg.norm(total) < 0.01 * height:
            return np.array([1.0, 0.0, 0.0])
        axis = int(np.argmax(np.abs(total)))
        return np.sign(total[axis]) * np.eye(3)[axis]

    def _limbs(self) -> dict[str, _Limb]:
        """Return foot and hand of both sides: the lowest and the farthest ends; what is not found is missing."""
        m, out = self.m, {}
        ends = [b for b in self.bodies if self._box([b]) and b != self.root]
        if not ends:
            return out
        floor = min(self._box([b])[0][2] for b in ends)  # type: ignore[index]
        middle = self.left @ self.d.subtree_com[self.root]
        top = max(self._box([b])[1][2] for b in ends)  # type: ignore[index]
        for sign, side in ((1, "left"), (-1, "right")):
            mine = [b for b in ends if sign * (self.left @ self.d.xipos[b] - middle) > 0.02]
            boxes = {b: self._box([b]) for b in mine}
            near, flat = floor + 0.025 * (top - floor), floor + 0.15 * (top - floor)
            low = [b for b, box in boxes.items() if box and box[0][2] < near and box[1][2] < flat]
            feet = [next((a for a in self._up(b) if self._joints(a)), b) for b in low]
            if feet:
                foot = min(feet, key=lambda b: len(self._up(b)))
                end = foot if self._box([foot]) else low[0]
                held = [
                    b
                    for b in self._below(foot)
                    if not any(self._joints(a) for a in self._up(b) if a != foot and foot in self._up(a))
                ]
                box = self._box(held) or self._box([end])
                out[f"{side}_foot"] = _Limb(self._up(foot)[::-1], foot, *box)  # type: ignore[misc]
            legs = set(out[f"{side}_foot"].chain) if f"{side}_foot" in out else set()
            arms = [b for b in mine if not (legs - {self.root}) & set(self._up(b))]
            arms = [b for b in arms if sum(bool(self._joints(a)) for a in self._up(b)) >= 2]
            if arms:
                far = max(arms, key=self._way)
                moving = [a for a in self._up(far) if self._joints(a)]
                hand = next(
                    (a for a in moving if m.body_subtreemass[a] > 0.004 * m.body_subtreemass[self.root]), moving[0]
                )
                out[f"{side}_hand"] = _Limb(self._up(hand)[::-1], hand, *self._box(self._below(hand)))  # type: ignore[misc]
        return out

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the sidecar."""
        m, limbs = self.m, self._limbs()
        lines = [
            f"# A first sidecar for {self.path.name}. What is marked as a guess was guessed: check it, then remove the mark.",
            f"model: {_text(self.address)}",
            f"root: {_text(m.body(self.root).name)}  # guess: the heaviest tree",
            f"facing: {_numbers(self.facing)}  # guess: where the feet point",
        ]
        lines += self._names(limbs)
        lines += self._surfaces(limbs)
        lines += self._posture(limbs)
        lines += self._limits()
        lines += [f"# left out: {what}" for what in dict.fromkeys(self.found.dropped)]
        return "\n".join(lines) + "\n"

    def _names(self, limbs: dict[str, _Limb]) -> list[str]:
        m, out = self.m, {}
        hands = [limbs[f"{s}_hand"].chain for s in _SIDES if f"{s}_hand" in limbs]
        feet = [limbs[f"{s}_foot"].chain for s in _SIDES if f"{s}_foot" in limbs]
        if len(hands) == 2:
            out["chest"] = [b for b in hands[0] if b in hands[1]][-1]
        if len(feet) == 2:
            out["pelvis"] = [b for b in feet[0] if b in feet[1]][-1]
        head = [b for b in self.bodies if "head" in m.body(b).name.lower() and self._box(self._below(b))]
        if head:
            out["head"] = max(head, key=lambda b: float(m.body_mass[b]))
        for side in _SIDES:
            if f"{side}_foot" in limbs:
                out[f"{side}_foot"] = limbs[f"{side}_foot"].end
                out |= dict(
                    zip((f"{side}_thigh", f"{side}_shank"), self._segments(limbs[f"{side}_foot"].chain), strict=False)
                )
            if f"{side}_hand" in limbs:
                out[f"{side}_hand"] = limbs[f"{side}_hand"].end
                arm = zip(
                    (f"{side}_upper_arm", f"{side}_forearm"), self._segments(limbs[f"{side}_hand"].chain), strict=False
                )
                out |= dict(arm)
        used, lines = set(), []
        for name, body in out.items():
            own = m.body(body).name
            taken = any(m.body(b).name == name and b != body for b in self.bodies)
            if body not in used and own and not taken:
                used.add(body)
                lines.append(f"  {name}: {_text(own)}  # guess")
        return ["bodies:", *lines] if lines else []

    def _segments(self, chain: list[int]) -> list[int]:
        """Return the two longest bodies of a limb, in order: thigh and shank, or upper arm and forearm."""
        moving = [b for b in chain if self._joints(b)]
        places = [self.d.xpos[b] for b in moving] + [self.d.xipos[self._below(moving[-1])[-1]]] if moving else []
        length = {b: float(np.linalg.norm(places[k + 1] - places[k])) for k, b in enumerate(moving)}
        longest = sorted(sorted(length, key=lambda b: -length[b])[:2], key=moving.index)
        return longest if len(longest) == 2 else []

    def _local(self, body: int, point: np.ndarray) -> np.ndarray:
        """Return a point, given along facing, left and up, in a body's frame."""
        world = point[0] * self.facing + point[1] * self.left + [0, 0, point[2]]
        return self.d.xmat[body].reshape(3, 3).T @ (world - self.d.xpos[body])

    def _turned(self, body: int, direction: np.ndarray) -> np.ndarray:
        return self.d.xmat[body].reshape(3, 3).T @ direction

    def _surfaces(self, limbs: dict[str, _Limb]) -> list[str]:
        surfaces, grips = [], []
        for side in _SIDES:
            foot, hand = limbs.get(f"{side}_foot"), limbs.get(f"{side}_hand")
            if foot:
                name, ball = _text(self.m.body(foot.end).name), self._only_ball(foot)
                if ball is not None:
                    body, geom = ball
                    radius = float(self.m.geom_size[geom, 0])
                    surfaces.append(
                        f"  {side}_sole: {{body: {_text(self.m.body(body).name)}, ball: {{pos: {_numbers(self.m.geom_pos[geom])}, "
                        f"radius: {radius:.4g}}}}}  # guess: a round end"
                    )
                else:
                    pos, half, normal, along = self._sole(foot)
                    surfaces.append(
                        f"  {side}_sole: {{body: {name}, box: {{pos: {_numbers(pos)}, size: {_numbers(half)}, "
                        f"normal: {_numbers(normal)}, along: {_numbers(along)}}}}}  # guess: below the lowest body"
                    )
            if hand:
                name = _text(self.m.body(hand.end).name)
                centre = (hand.low + hand.high) / 2
                middle = centre[0] * self.facing + centre[1] * self.left + [0, 0, centre[2]]
                fingers = middle - self.d.xpos[hand.end]
                fingers /= max(float(np.linalg.norm(fingers)), 1e-9)
                normal = self._palm(hand, fingers, self.left * (-1.0 if side == "left" else 1.0))
                axis = np.cross(fingers, normal)
                reach = 0.5 * float(
                    np.abs(np.array([normal @ self.facing, normal @ self.left, normal[2]])) @ (hand.high - hand.low)
                )
                box = self._local(hand.end, centre) + self._turned(hand.end, normal) * min(reach, 0.04)
                surfaces.append(
                    f"  {side}_palm: {{body: {name}, box: {{pos: {_numbers(box)}, size: [0.04, 0.04], "
                    f"normal: {_numbers(self._turned(hand.end, normal))}, along: {_numbers(self._turned(hand.end, fingers))}}}}}  # guess"
                )
                hold = self._local(hand.end, centre) + self._turned(hand.end, normal) * min(reach, 0.03)
                grips.append(
                    f"  {side}_grip: {{body: {name}, pos: {_numbers(hold)}, axis: {_numbers(self._turned(hand.end, axis))}, "
                    f"along: {_numbers(self._turned(hand.end, fingers))}}}  # guess"
                )
        return [*(["surfaces:", *surfaces] if surfaces else []), *(["grips:", *grips] if grips else [])]

    def _palm(self, hand: _Limb, fingers: np.ndarray, inward: np.ndarray) -> np.ndarray:
        """Return the normal of a palm in the world: across the fingers, where the hand is flat, and rather inward or down."""
        m, d, R = self.m, self.d, self.d.xmat[hand.end].reshape(3, 3)
        toward = inward - [0, 0, 0.8]
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
            normal = np.array([0.0, 0.0, -1.0]) + fingers * fingers[2]
        return normal / np.linalg.norm(normal)

    def _sole(self, foot: _Limb) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return centre, half sizes, normal and x axis of a sole in its body's frame.

        It points down in the zero posture, or along the nearest axis of the body if that is almost down (legs may be spread).
        """
        m, d, body = self.m, self.d, foot.end
        normal = self._turned(body, np.array([0.0, 0.0, -1.0]))
        axis = int(np.argmax(np.abs(normal)))
        if abs(normal[axis]) > 0.9:
            normal = np.sign(normal[axis]) * np.eye(3)[axis]
        along = self._turned(body, self.facing)
        along = along - normal * (along @ normal)
        along /= np.linalg.norm(along)
        axes = np.array([along, np.cross(normal, along), normal])
        held = [
            b
            for b in self._below(body)
            if b == body or not any(self._joints(a) for a in self._up(b)[: self._up(b).index(body)])
        ]
        R, p = d.xmat[body].reshape(3, 3), d.xpos[body]
        reach = [geom_extent(m, d, g, axes @ R.T) for g in range(m.ngeom) if int(m.geom_bodyid[g]) in held]
        low = np.min([r[0] for r in reach], axis=0) - axes @ R.T @ p
        high = np.max([r[1] for r in reach], axis=0) - axes @ R.T @ p
        centre = (low + high) / 2
        centre[2] = high[2]
        return axes.T @ centre, 0.45 * (high - low)[:2], normal, along

    def _only_ball(self, foot: _Limb) -> tuple[int, int] | None:
        """Return body and geom of a foot whose lowest shape is one ball."""
        m, d = self.m, self.d
        low = [
            g
            for b in self._below(foot.end)
            for g in range(m.ngeom)
            if int(m.geom_bodyid[g]) == b and d.geom_xpos[g, 2] - m.geom_rbound[g] < foot.low[2] + 0.01
        ]
        balls = [g for g in low if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_SPHERE]
        return (int(m.geom_bodyid[balls[0]]), balls[0]) if len(low) == 1 and balls else None

    def _posture(self, limbs: dict[str, _Limb]) -> list[str]:
        """Guess a rest posture: arms hanging, knees a little bent, the centre of mass over the soles."""
        m, d = self.m, self.d
        zero, values = d.qpos.copy(), {}
        goals = {name: self._goal(name, limb, limbs) for name, limb in limbs.items()}
        for name in sorted(goals, key=lambda name: name.endswith("foot")) * 2:  # feet last, under what is then the COM
            joints, local, goal, flat = goals[name]
            if not joints:
                continue
            if name.endswith("foot"):
                mujoco.mj_comPos(m, d)
                goal = goal + self.facing * (self.facing @ (d.subtree_com[self.root] - goal))
            values |= dict(zip(joints, self._reach(joints, limbs[name].end, local, goal, flat), strict=True))
        d.qpos[:] = zero
        mujoco.mj_kinematics(m, d)
        shown = {m.joint(j).name: v for j, v in values.items() if abs(v) > 0.01 and m.joint(j).name}
        lines = [f"  {_text(name)}: {value:.3f}" for name, value in shown.items()]
        return ["posture:  # guess: arms hanging, knees a little bent", *lines] if lines else []

    def _goal(
        self, name: str, limb: _Limb, limbs: dict[str, _Limb]
    ) -> tuple[list[int], np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the joints of a limb, the point of its end that is placed, where to, and for a sole the end's rotation."""
        m, d = self.m, self.d
        side, _, part = name.partition("_")
        other = limbs.get(f"{'right' if side == 'left' else 'left'}_{part}")
        own = [b for b in limb.chain if other is None or b not in other.chain]
        joints = [j for b in own for j in self._joints(b) if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
        if not joints:
            return [], np.zeros(3), np.zeros(3), None
        start, R = d.xpos[m.jnt_bodyid[joints[0]]].copy(), d.xmat[limb.end].reshape(3, 3)
        if part == "hand":
            length = float(np.linalg.norm(d.xpos[limb.end] - start))
            outward = self.left * (1.0 if side == "left" else -1.0)
            return (
                joints,
                np.zeros(3),
                start + length * (0.12 * outward + 0.25 * self.facing) - [0, 0, _DROP * length],
                None,
            )
        ball = self._only_ball(limb)
        if ball is not None:
            local, flat = R.T @ (d.geom_xpos[ball[1]] - d.xpos[limb.end]), None
        else:
            local, _, normal, along = self._sole(limb)
            down = np.array([0.0, 0.0, -1.0])
            wanted = np.array([self.facing, np.cross(down, self.facing), down])
            flat = wanted.T @ np.array([along, np.cross(normal, along), normal])
        length = float(np.linalg.norm(d.xpos[limb.end] + R @ local - start))
        return joints, local, start - [0, 0, (1.0 - _BEND) * length], flat

    def _reach(
        self, joints: list[int], body: int, local: np.ndarray, goal: np.ndarray, rotation: np.ndarray | None
    ) -> np.ndarray:
        """Return the joint values that bring a body's point to a goal, with a rotation if it is given."""
        m, d = self.m, self.d
        adr = m.jnt_qposadr[joints]
        limited = m.jnt_limited[joints].astype(bool)
        low = np.where(limited, m.jnt_range[joints, 0], -np.pi)
        high = np.where(limited, m.jnt_range[joints, 1], np.pi)
        margin = 0.03 * (high - low)
        low, high = low + margin, high - margin

        def residual(x: np.ndarray) -> np.ndarray:
            d.qpos[adr] = x
            mujoco.mj_kinematics(m, d)
            R = d.xmat[body].reshape(3, 3)
            parts = [10.0 * (d.xpos[body] + R @ local - goal), 0.05 * x]
            if rotation is not None:
                parts.append((3.0 * (R - rotation)).ravel())
            return np.concatenate(parts)

        # A knee that starts straight has no gradient: begin a little bent.
        start = np.clip(np.where(np.arange(len(joints)) % 2, 0.05, -0.05), low, high)
        return least_squares(residual, start, bounds=(low, np.maximum(high, low + 1e-6)), max_nfev=300).x

    def _limits(self) -> list[str]:
        m, out = self.m, []
        torque = torque_limits(m)
        joints = [j for b in self.bodies for j in self._joints(b)]
        if any(not np.isfinite(torque[m.jnt_dofadr[j]]) and not m.jnt_actfrclimited[j] for j in joints):
            out.append("torque: 100  # guess: joints that the file gives no limit [N·m]")
        if any(m.joint(j).name not in self.found.velocity for j in joints):
            out.append("velocity: 10  # guess: joints that the file gives no limit [rad/s]")
        dofs = m.jnt_dofadr[joints]
        if (0.005 * m.dof_damping[dofs] > 0.8 * m.dof_M0[dofs]).any() or (
            2.5e-5 * m.jnt_stiffness[joints] > 0.8 * m.dof_M0[dofs]
        ).any():
            out.append("passive: drop  # guess: the file's dampers are too quick for control steps of 5 ms")
        free = [
            m.joint(j).name for j in joints if not m.jnt_limited[j] and m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE
        ]
        if free:
            out += [
                "limits:",
                *(f"  {_text(name)}: {{range: [-3.14, 3.14]}}  # guess: the file has no range" for name in free),
            ]
        return out


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{float(v) + 0.0:.4g}" if abs(v) > 5e-5 else "0" for v in values) + "]"


def _text(name: str) -> str:
    """Return a name as YAML reads it back as text."""
    plain = name.replace("_", "").replace("-", "").isalnum() and not name[:1].isdigit()
    return (
        name
        if plain and name.lower() not in ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
        else repr(name)
    )
