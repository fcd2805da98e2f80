"""A character as symbols: inverse dynamics and places of its points, read from the compiled scene (CasADi).

Coordinates q (n,) are place [m] and yaw, roll, pitch [rad] of the root (R = Rz Rx Ry), then its hinges in MuJoCo's order, so that a motion
is plain functions of time. Forces and accelerations of the root are in MuJoCo's layout: force in world axes, torque in the root's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.maths.rotations import quaternion_of, rotation
from interplay.models.motors import torque_limits
from interplay.scene.scene import Scene
from interplay.spacetime.anatomy import Does, done_by

FREE, HINGE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_HINGE)
ROOT = 6
"""Coordinates of the root."""
SIDES = ("left", "right")


class Link(NamedTuple):
    """A body: its parent's index (−1: none), where it is in it, its hinges (coordinate, axis, anchor), and what it weighs."""

    name: str
    parent: int
    place: np.ndarray
    turn: np.ndarray
    hinges: tuple[tuple[int, np.ndarray, np.ndarray], ...]
    mass: float
    centre: np.ndarray
    inertia: np.ndarray


class Point(NamedTuple):
    """A point of a body: the index of its link, and where it is in its frame [m]."""

    link: int
    place: np.ndarray


class Body:
    """A placed character, as symbols."""

    def __init__(self, scene: Scene, name: str):
        """Read a character of a scene: a free root and hinges, whatever its size."""
        m = scene.model
        tree, *more = scene.trees(name)
        if more:
            raise InputError(f"{name!r}: expected a character, got {1 + len(more)} bodies that move apart")
        bodies = range(int(m.tree_bodyadr[tree]), int(m.tree_bodyadr[tree] + m.tree_bodynum[tree]))
        self.scene, self.name = scene, name
        self.qpos_start, self.dof_start = (
            int(m.jnt_qposadr[m.body_jntadr[bodies[0]]]),
            int(m.body_dofadr[bodies[0]]),
        )
        self.bodies = list(bodies)
        self.joints: list[str] = []
        self.links: list[Link] = []
        kinds, names = [], []
        for b in bodies:
            hinges = []
            for j in range(int(m.body_jntadr[b]), int(m.body_jntadr[b] + m.body_jntnum[b])):
                kinds.append(int(m.jnt_type[j]))
                if kinds[-1] == HINGE:
                    hinges.append((ROOT + len(names), m.jnt_axis[j].copy(), m.jnt_pos[j].copy()))
                    names.append(m.joint(j).name.split("/", 1)[1])
            frame = rotation(m.body_iquat[b])
            self.links.append(
                Link(
                    m.body(b).name.split("/", 1)[1],
                    self.bodies.index(int(m.body_parentid[b])) if b != bodies[0] else -1,
                    m.body_pos[b].copy(),
                    rotation(m.body_quat[b]),
                    tuple(hinges),
                    float(m.body_mass[b]),
                    m.body_ipos[b].copy(),
                    frame @ np.diag(m.body_inertia[b]) @ frame.T,
                )
            )
        if kinds[0] != FREE or any(kind != HINGE for kind in kinds[1:]):
            raise InputError(f"{name!r}: expected a body with a free root and hinges alone, as characters are")
        self.joints = names
        self.does = self._done_by()
        """What each joint does, by what ours are called, and whether it turns as they do."""
        self.n = ROOT + len(names)
        own = slice(self.dof_start + ROOT, self.dof_start + self.n)
        self.armature = m.dof_armature[own].copy()
        self.damping = m.dof_damping[own].copy()
        joints = [scene.joint(f"{name}/{joint}") for joint in names]
        self.stiffness = np.column_stack([m.jnt_stiffness[joints], m.jnt_stiffnesspoly[joints]])
        """Of springs that are polynomials of how far they are from rest, without a constant (MuJoCo)."""
        self.springs_rest = m.qpos_spring[m.jnt_qposadr[joints]].copy()
        ranges, limited = m.jnt_range[joints], m.jnt_limited[joints].astype(bool)
        self.low = np.where(limited, ranges[:, 0], -np.inf)
        self.high = np.where(limited, ranges[:, 1], np.inf)
        speeds = m.jnt_user[joints, 0] if m.nuser_jnt else np.zeros(len(joints))
        self.speed = np.where(speeds > 0, speeds, np.inf)
        limits = torque_limits(m)[own]
        if weak := [joint for joint, limit in zip(names, limits, strict=True) if not limit > 0.0]:
            more = f" (and {len(weak) - 3} more)" if len(weak) > 3 else ""
            raise InputError(f"{name!r}: expected joints with motors; no torque limit has {', '.join(weak[:3])}{more}")
        self.torque = limits
        """Limits of the hinges [rad], of their speeds [rad/s] and of their motors [N·m]."""
        self.mass, self.gravity = sum(link.mass for link in self.links), scene.gravity
        self.height = float(scene.rest.geom_xpos[np.isin(m.geom_bodyid, self.bodies), 2].max())
        """Of its highest part in its initial posture [m]."""
        self.pendulum = float(np.sqrt(scene.qpos[self.qpos_start + 2] / 0.9))
        """How long what swings takes, of what it takes with a man of 1.74 m."""
        soles = [scene.site(f"{name}/{side}_sole") for side in SIDES if self.has_site(f"{side}_sole")]
        self.shoes = float(m.site_user[soles, 0].min(initial=np.inf)) if m.nuser_site and soles else 0.0
        """Stiffness of heels and toes of what it has on its feet [N/m]; 0: soles are rigid."""
        self._kernels: dict[tuple, Any] = {}

    def _done_by(self) -> list[Does]:
        """Return what joints do; their axes in those of the root, all at zero, are kept."""
        of = {k: b for b, link in enumerate(self.links) for k, _, _ in link.hinges}
        R = [np.asarray(one) for one, _ in self.frames(ca.DM.zeros(ROOT + len(self.joints)))]
        axes = self._axes = {k: R[b] @ axis for b, link in enumerate(self.links) for k, axis, _ in link.hinges}
        parents = [link.parent for link in self.links]
        ordered = range(ROOT, ROOT + len(self.joints))
        names = [link.name for link in self.links]
        return done_by(self.joints, names, parents, [of[k] for k in ordered], [axes[k] for k in ordered])

    def doing(self, name: str) -> tuple[int, float] | None:
        """Return the coordinate that does what a joint of ours does, by its name, and whether it turns the same way (1) or not (−1)."""
        found = [(ROOT + k, does.sign) for k, does in enumerate(self.does) if does.name == name]
        return found[0] if found else None

    def turned_by(self, name: str, otherwise: int) -> int:
        """Return the link that is turned by what does what a joint of ours does; if nothing does, another one."""
        found = self.doing(name)
        if found is None:
            return otherwise
        return next(b for b, link in enumerate(self.links) if found[0] in [k for k, _, _ in link.hinges])

    def kernel(self, key: tuple, make: Callable[[], Any]) -> Any:
        """Return what was made once for this body: derivatives of its dynamics take a second."""
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]

    # -- from and to the scene -----------------------------------------------------------------------------------------

    def point(self, site: str, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> Point:
        """Return a surface's middle, or a point of it, as a point of its body; ``offset`` in the surface's half sizes."""
        m, s = self.scene.model, self.scene.site(f"{self.name}/{site}")
        place = m.site_pos[s] + rotation(m.site_quat[s]) @ (np.asarray(offset) * m.site_size[s])
        return Point(self.bodies.index(int(m.site_bodyid[s])), place)

    def has_site(self, name: str) -> bool:
        """Return whether it has a surface of a name."""
        return mujoco.mj_name2id(self.scene.model, mujoco.mjtObj.mjOBJ_SITE, f"{self.name}/{name}") >= 0

    def at(self, link: str, place: Sequence[float] = (0.0, 0.0, 0.0)) -> Point:
        """Return a point of a link."""
        return Point([one.name for one in self.links].index(link), np.asarray(place, float))

    def coordinates(self, qpos: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of a configuration of the scene (nq,)."""
        start = self.qpos_start
        R = rotation(qpos[start + 3 : start + 7])
        roll = np.arcsin(np.clip(R[2, 1], -1, 1))
        yaw, pitch = np.arctan2(-R[0, 1], R[1, 1]), np.arctan2(-R[2, 0], R[2, 2])
        return np.concatenate([qpos[start : start + 3], [yaw, roll, pitch], qpos[start + 7 : start + 1 + self.n]])

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Return MuJoCo's values (..., n + 1) of this character in some coordinates (..., n)."""
        turns = _turning()["root"](q[..., 3:6].reshape(-1, 3).T)
        quaternions = [quaternion_of(np.ascontiguousarray(R)) for R in np.asarray(turns).T.reshape(-1, 3, 3)]
        return np.concatenate([q[..., :3], np.reshape(quaternions, (*q.shape[:-1], 4)), q[..., ROOT:]], axis=-1)

    def twist(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return MuJoCo's velocities (..., n) of rates of the coordinates."""
        return _with_spin(v, "spin", q, v)

    def spun(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return MuJoCo's accelerations (..., n) of second derivatives of the coordinates."""
        return _with_spin(a, "gain", q, v, a)

    def mirror(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which coordinate (n,) each becomes in a mirror along the x axis, and its sign."""
        index = {joint: ROOT + k for k, joint in enumerate(self.joints)}
        order, sign = [0, 1, 2, 3, 4, 5], [1.0, -1.0, 1.0, -1.0, -1.0, 1.0]
        for joint in self.joints:
            twin = _swapped(joint)
            if twin not in index:
                raise InputError(f"{self.name!r} has no mirror image: {joint!r} has no twin {twin!r}")
            order.append(index[twin])
            sign.append(_parity(self._axes[index[joint]], self._axes[index[twin]]))
        return np.array(order), np.array(sign, float)

    # -- symbols -------------------------------------------------------------------------------------------------------

    def frames(self, q: Any) -> list[tuple[Any, Any]]:
        """Return rotation and origin of each link, in world axes."""
        out: list[tuple[Any, Any]] = []
        for link in self.links:
            if link.parent < 0:
                out.append((_root(q[3:6]), q[:3]))
                continue
            R, p = out[link.parent]
            p, R = p + R @ _c(link.place), R @ _c(link.turn)
            for k, axis, anchor in link.hinges:
                turn = _hinge(axis, q[k])
                if anchor.any():
                    p = p + R @ (_c(anchor) - turn @ _c(anchor))
                R = R @ turn
            out.append((R, p))
        return out

    def posed(self, link: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation (3, 3) and origin (3,) of a link, in world axes, in some coordinates (n,)."""

        def make() -> ca.Function:
            symbols = ca.SX.sym("q", self.n)
            return ca.Function("posed", [symbols], [ca.densify(ca.SX(one)) for one in self.frames(symbols)[link]])

        R, p = self.kernel(("posed", link), make)(q)
        return np.asarray(R), np.asarray(p).ravel()

    def inverse_dynamics(self, q: Any, v: Any, a: Any, forces: Mapping[int, Sequence[tuple[Point, Any]]] | None = None):
        """Return what root and hinges must give (n,) for a motion, beside forces in world axes at points of links."""
        frames = self.frames(q) if forces else []
        spin, gain = _spin(q[3:6], v[3:6]), _spin_rate(q[3:6], v[3:6], a[3:6])
        R = _root(q[3:6])
        lift = R.T @ (a[:3] + ca.DM([0, 0, self.gravity]))
        moving: list[tuple[Any, Any, Any]] = []
        for link in self.links:  # outward: spin, its rate and acceleration, in each link's own axes
            if link.parent < 0:
                moving.append((spin, gain, lift))
                continue
            w, dw, acc = moving[link.parent]
            r, Q = _c(link.place), _c(link.turn)
            acc = acc + ca.cross(dw, r) + ca.cross(w, ca.cross(w, r))
            w, dw, acc = Q.T @ w, Q.T @ dw, Q.T @ acc
            for k, axis, anchor in link.hinges:
                turn, c, u = _hinge(axis, q[k]), _c(anchor), _c(axis)
                acc = acc + ca.cross(dw, c) + ca.cross(w, ca.cross(w, c)) if anchor.any() else acc
                w, dw, acc = turn.T @ w, turn.T @ dw, turn.T @ acc
                dw, w = dw + u * a[k] + ca.cross(w, u) * v[k], w + u * v[k]
                acc = acc - ca.cross(dw, c) - ca.cross(w, ca.cross(w, c)) if anchor.any() else acc
            moving.append((w, dw, acc))
        loads: list[tuple[Any, Any]] = []
        for b, (link, (w, dw, acc)) in enumerate(zip(self.links, moving, strict=True)):
            c, inertia = _c(link.centre), _c(link.inertia)
            f = link.mass * (acc + ca.cross(dw, c) + ca.cross(w, ca.cross(w, c)))
            t = ca.cross(c, f) + inertia @ dw + ca.cross(w, inertia @ w)
            for point, force in (forces or {}).get(b, ()):
                local = frames[b][0].T @ force
                f, t = f - local, t - ca.cross(_c(point.place), local)
            loads.append((f, t))
        needed: dict[int, Any] = {}
        for b in range(len(self.links) - 1, 0, -1):  # inward: what each link asks of its parent
            link, (f, t) = self.links[b], loads[b]
            for k, axis, anchor in reversed(link.hinges):
                c, u, turn = _c(anchor), _c(axis), _hinge(axis, q[k])
                t = t - ca.cross(c, f) if anchor.any() else t
                needed[k] = ca.dot(u, t)
                f, t = turn @ f, turn @ t
                t = t + ca.cross(c, f) if anchor.any() else t
            f, t = _c(link.turn) @ f, _c(link.turn) @ t
            F, T = loads[link.parent]
            loads[link.parent] = F + f, T + t + ca.cross(_c(link.place), f)
        f, t = loads[0]
        hinges = [needed[k] for k in range(ROOT, self.n)]
        h = slice(ROOT, self.n)
        away = q[h] - self.springs_rest
        springs = sum(_c(k) * away**power for power, k in enumerate(self.stiffness.T, start=1))
        own = self.armature * a[h] + self.damping * v[h] + springs
        return ca.vertcat(R @ f, t, ca.vertcat(*hinges) + own)


def _c(value: np.ndarray) -> ca.DM:
    return ca.DM(np.where(np.abs(value) < 1e-15, 0.0, value))


def _hinge(axis: np.ndarray, angle: Any) -> Any:
    """Return the rotation about an axis of a link."""
    x, y, z = np.where(np.abs(axis) < 1e-12, 0.0, axis)
    K = ca.DM([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return ca.DM.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


def _root(angles: Any) -> Any:
    """Return the rotation of the root: Rz(yaw) Rx(roll) Ry(pitch)."""
    z, x, y = np.eye(3)[2], np.eye(3)[0], np.eye(3)[1]
    return _hinge(z, angles[0]) @ _hinge(x, angles[1]) @ _hinge(y, angles[2])


def _spin(angles: Any, rates: Any) -> Any:
    """Return the angular velocity of the root in its own axes."""
    (_, roll, pitch), (dyaw, droll, dpitch) = ca.vertsplit(angles), ca.vertsplit(rates)
    cr, sr, cp, sp = ca.cos(roll), ca.sin(roll), ca.cos(pitch), ca.sin(pitch)
    return ca.vertcat(cp * droll - sp * cr * dyaw, dpitch + sr * dyaw, sp * droll + cp * cr * dyaw)


def _spin_rate(angles: Any, rates: Any, gains: Any) -> Any:
    """Return its rate."""
    (_, roll, pitch), (dyaw, droll, dpitch) = ca.vertsplit(angles), ca.vertsplit(rates)
    cr, sr, cp, sp = ca.cos(roll), ca.sin(roll), ca.cos(pitch), ca.sin(pitch)
    moved = ca.vertcat(
        -sp * dpitch * droll + (sp * sr * droll - cp * cr * dpitch) * dyaw,
        cr * droll * dyaw,
        cp * dpitch * droll - (sp * cr * dpitch + cp * sr * droll) * dyaw,
    )
    return _spin(angles, gains) + moved


@functools.cache
def _turning() -> dict[str, ca.Function]:
    """Return the functions above, of numbers: one column for each moment; of the rotation its rows."""
    given = [ca.SX.sym(name, 3) for name in ("angles", "rates", "gains")]
    found = {"root": ca.vec(_root(given[0]).T), "spin": _spin(*given[:2]), "gain": _spin_rate(*given)}
    return {name: ca.Function(name, given[:k], [found[name]]) for k, name in enumerate(("root", "spin", "gain"), 1)}


def _with_spin(values: np.ndarray, what: str, *given: np.ndarray) -> np.ndarray:
    """Return values (..., n) with what the root's angles (3:6) come to in its own axes."""
    out = values.copy()
    found = _turning()[what](*(one[..., 3:6].reshape(-1, 3).T for one in given))
    out[..., 3:6] = np.asarray(found).T.reshape(out[..., 3:6].shape)
    return out


def _swapped(name: str) -> str:
    for side, other in (("left", "right"), ("right", "left")):
        if side in name:
            return name.replace(side, other)
    return name


def _parity(axis: np.ndarray, twin: np.ndarray) -> float:
    """Return the sign of an angle's twin: a mirror turns an axis (x, y, z) into (−x, y, −z)."""
    return 1.0 if np.dot(axis * (-1, 1, -1), twin) > 0 else -1.0
