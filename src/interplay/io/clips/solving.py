"""The optimisation over a whole clip: Gauss–Newton steps on all frames of a character at once.

Each frame asks for orientations and points; what was changed against a first guess must change smoothly. The normal equations
couple a frame with the two before and after it, so a step is one banded Cholesky factorisation: time and memory grow with the
length of a clip, not faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.clips.footing import runs
from interplay.io.clips.kernels import (
    add_limits,
    add_rows,
    add_smoothness,
    add_tasks,
    near_rows,
    solve_band,
    turn_locally,
)

_LIMIT, _CLOSE = 1e6, 2e4
"""Weights [1/rad²], [1/m²] of joints at their limits, and of shapes that would be in each other."""
_WINDOW, _OVERLAP = 500, 50
"""Frames of a clip that are solved for at once, and how many of them the next ones begin with again."""
_POOL = ThreadPoolExecutor(2, "clips")
_LARGEST_STEP = 0.5
_HELD, _HOLD = 3, 1e9
"""Frames beside those that move which stay as they are, and the weight that holds them."""
_TRIALS = 3
_LEAST = 1e-2
"""Least cost [1/rad²] of any change within a step."""


class Item(NamedTuple):
    """What is asked of one body: a point of it (3,) at targets (T, 3), its orientation as targets (T, 3, 3), with weights (T,)."""

    body: int
    point: np.ndarray
    place: np.ndarray
    turn: np.ndarray
    place_weight: np.ndarray
    turn_weight: np.ndarray
    bone: np.ndarray = np.zeros(3)
    """Axis in the body about which its orientation counts for little: how limbs are twisted differs from skeleton to skeleton."""


class Tasks(NamedTuple):
    """What is asked of one character, as arrays: items by item, then by frame."""

    bodies: np.ndarray
    points: np.ndarray
    places: np.ndarray
    turns: np.ndarray
    place_weights: np.ndarray
    turn_weights: np.ndarray
    bones: np.ndarray

    @classmethod
    def of(cls, items: list[Item]) -> Tasks:
        """Stack items."""
        return cls(
            np.array([item.body for item in items]), *(np.stack([item[k] for item in items]) for k in range(1, 7))
        )

    def frames(self, chosen: np.ndarray | slice) -> Tasks:
        """Return the same for some frames."""
        changing = ("places", "turns", "place_weights", "turn_weights")
        return self._replace(**{name: getattr(self, name)[:, chosen] for name in changing})


class Near(NamedTuple):
    """Shapes that are near each other: frames (n,), their bodies (n, 2) and nearest points (n, 2, 3).

    The second must go in a direction (n, 3) by so much (n,) at least; where that is negative, it may come nearer.
    """

    frames: np.ndarray
    bodies: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    ways: np.ndarray

    def window(self, begin: int, end: int) -> Near:
        """Return what is near in some frames."""
        inside = (self.frames >= begin) & (self.frames < end)
        return Near(self.frames[inside] - begin, *(array[inside] for array in self[1:]))


NOTHING_NEAR = Near(
    np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros((0, 2, 3)), np.zeros((0, 3)), np.zeros(0)
)


class Kinetics(NamedTuple):
    """Where a character's bodies are in all frames, and the axes of its degrees of freedom about its centre of mass."""

    cdof: np.ndarray
    com: np.ndarray
    xpos: np.ndarray
    xmat: np.ndarray

    def frames(self, begin: int, end: int) -> Kinetics:
        """Return the same for some frames."""
        return Kinetics(*(array[begin:end] for array in self))


class Character:
    """The degrees of freedom of one character in a scene: configurations, their changes, and their normal equations."""

    def __init__(self, model: mujoco.MjModel, dofs: np.ndarray):
        """Take the model and the character's degrees of freedom; the first six are those of its free root."""
        self.model, self.dofs = model, dofs
        m, first = model, int(dofs[0])
        joints = np.unique(m.dof_jntid[dofs])
        self.root = int(m.jnt_qposadr[joints[0]])
        self.scalars = m.jnt_qposadr[joints[1:]].astype(int)
        limited = m.jnt_limited[joints[1:]].astype(bool)
        self.low = np.where(limited, m.jnt_range[joints[1:], 0], -np.inf)
        self.high = np.where(limited, m.jnt_range[joints[1:], 1], np.inf)
        tree = int(m.body_treeid[m.dof_bodyid[first]])
        self.bodies = np.arange(m.tree_bodyadr[tree], m.tree_bodyadr[tree] + m.tree_bodynum[tree])
        self.chains = np.zeros((m.nbody, len(dofs)), bool)
        """Which degrees of freedom move a body."""
        for body in self.bodies:
            dof = int(m.body_dofadr[body] + m.body_dofnum[body] - 1) if m.body_dofnum[body] else -1
            self.chains[body] = self.chains[m.body_parentid[body]]
            while dof >= 0:
                self.chains[body, dof - first] = True
                dof = int(m.dof_parentid[dof])
        self.stiffness = np.ones(len(dofs))
        self.stiffness[:3] = 4.0

    def moved(self, qpos: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return configurations (T, nq) of the scene after changes (T, n) of this character."""
        out, r = qpos.copy(), self.root
        out[:, r : r + 3] += change[:, :3]
        turn_locally(out[:, r + 3 : r + 7], np.ascontiguousarray(change[:, 3:6]))
        out[:, self.scalars] += change[:, 6:]
        return out

    def clipped(self, qpos: np.ndarray) -> np.ndarray:
        """Return configurations with all joints within their ranges."""
        out = qpos.copy()
        out[:, self.scalars] = np.clip(out[:, self.scalars], self.low, self.high)
        return out

    def steps(
        self,
        kinetics: Kinetics,
        tasks: Tasks,
        qpos: np.ndarray,
        change: np.ndarray,
        near: Near,
        smooth: float,
        damping: np.ndarray,
        moving: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the Gauss–Newton step (T, n) of the changes so far, in frames that still move; long runs of them in windows.

        ``damping`` (T, n) makes a degree of freedom slower by so much (Marquardt's).
        """
        T, n = change.shape
        still = np.zeros(T, bool) if moving is None else ~moving

        def solve(window: tuple[int, int]) -> np.ndarray:
            begin, end = window
            return self._window(
                kinetics.frames(begin, end),
                tasks.frames(slice(begin, end)),
                qpos[begin:end, self.scalars],
                change[begin:end],
                near.window(begin, end),
                smooth,
                damping[begin:end],
                still[begin:end],
            )

        windows = _windows(still)
        out, total = np.zeros((T, n)), np.zeros(T)
        for (begin, end), step in zip(windows, (map if len(windows) == 1 else _POOL.map)(solve, windows), strict=True):
            # Where windows overlap, each counts the less the nearer its end is: it did not know what lies beyond.
            ramp = np.minimum(np.arange(1, end - begin + 1), np.arange(end - begin, 0, -1)).astype(float)
            ramp = np.minimum(ramp, _OVERLAP)
            out[begin:end] += ramp[:, None] * step
            total[begin:end] += ramp
        out /= np.maximum(total, 1e-9)[:, None]
        return np.clip(out, -_LARGEST_STEP, _LARGEST_STEP)

    def _window(self, kinetics, tasks, values, change, near, smooth, damping, still) -> np.ndarray:
        """Return the step of some frames at once.

        Which limits hold is found by solving again: first those that are violated, then those that the step would violate.
        """
        T, n = change.shape
        band, right = np.zeros((T * n, 2 * n + 1 if smooth else n)), np.zeros(T * n)
        add_tasks(*(*kinetics, *tasks, self.chains, band, right))
        band[:, 0] *= 1.0 + damping.reshape(-1)
        band[:, 0] += _LEAST
        if smooth:
            add_smoothness(change, smooth * self.stiffness, band, right)
        band[np.repeat(still, n), 0] += _HOLD
        rows = near_rows(kinetics.cdof, kinetics.com, near.frames, near.bodies, near.points, near.normals, self.chains)
        over = np.maximum(values - self.high, 0) - np.maximum(self.low - values, 0)
        active = near.ways > 0
        step = np.zeros((T, n))
        for trial in range(_TRIALS if smooth else 1):
            matrix, x = band.copy(), right.copy()
            add_limits(over, values, self.low, self.high, _LIMIT, matrix, x)
            add_rows(near.frames, rows, near.ways, active, _CLOSE, matrix, x)
            solve_band(matrix, x)
            step = x.reshape(T, n)
            after = values + step[:, 6:]
            beyond = np.maximum(after - self.high, 0) - np.maximum(self.low - after, 0)
            pressing = (rows * step[near.frames]).sum(1) < near.ways
            if trial and (np.sign(beyond) == np.sign(over)).all() and (pressing == active).all():
                break
            over, active = beyond, pressing
        return step


def _windows(still: np.ndarray) -> list[tuple[int, int]]:
    """Return windows (first frame, frame after the last) that cover what moves, and overlap where that is long."""
    out, T = [], len(still)
    for first, last in runs(~still):
        begin, stop = max(first - _HELD, 0), min(last + _HELD, T)
        count = max(1, -(-(stop - begin - _OVERLAP) // (_WINDOW - _OVERLAP)))
        edges = np.linspace(begin, stop - _OVERLAP, count + 1).astype(int) if count > 1 else [begin, stop - _OVERLAP]
        out += [(int(a), int(b) + _OVERLAP) for a, b in itertools.pairwise(edges)]
    return [(max(a, 0), min(b, T)) for a, b in out]


def new_kinetics(model: mujoco.MjModel, characters: list[Character], T: int) -> list[Kinetics]:
    """Return room for where bodies are in so many frames."""
    n = model.nbody
    return [
        Kinetics(np.empty((T, len(c.dofs), 6)), np.empty((T, 3)), np.empty((T, n, 3)), np.empty((T, n, 3, 3)))
        for c in characters
    ]


def update_kinetics(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: np.ndarray,
    characters: list[Character],
    out: list[Kinetics],
    frames: Iterable[int],
    look: Callable[[int], None] | None = None,
) -> None:
    """Write where the bodies of some characters are in some frames; ``look(frame)`` sees each one as it is placed."""
    slices = [slice(int(c.dofs[0]), int(c.dofs[-1]) + 1) for c in characters]
    roots = [int(model.body_rootid[c.bodies[0]]) for c in characters]
    cdof, com, xpos, xmat = data.cdof, data.subtree_com, data.xpos, data.xmat.reshape(-1, 3, 3)
    for t in frames:
        data.qpos[:] = qpos[t]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        for kinetics, dofs, root in zip(out, slices, roots, strict=True):
            kinetics.cdof[t], kinetics.com[t], kinetics.xpos[t], kinetics.xmat[t] = cdof[dofs], com[root], xpos, xmat
        if look is not None:
            look(t)


def kinetics_of(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray, character: Character) -> Kinetics:
    """Return where the bodies of a character are in all frames."""
    out = new_kinetics(model, [character], len(qpos))
    update_kinetics(model, data, qpos, [character], out, range(len(qpos)))
    return out[0]
