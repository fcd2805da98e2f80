"""The optimisation over a whole clip: Gauss–Newton steps on all frames of some characters at once.

Each frame asks for orientations and points; what was changed against a first guess must change smoothly. The normal equations
couple a frame with the two before and after it, so a step is one banded Cholesky factorisation: time and memory grow with the
length of a clip, not faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
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

_LIMIT = 1e6
"""Weight [1/rad²] of joints at their limits."""
_WINDOW, _OVERLAP = 250, 40
"""Frames of a clip that are solved for at once, and how many of them the next ones begin with again."""
_POOL = ThreadPoolExecutor(2, "clips")
_LARGEST_STEP = 0.5
_PASSED = 1e-3
"""How far [rad, m] a step may go beyond limits that it did not know of before it is solved for again."""
_HELD, _HOLD = 3, 1e9
"""Frames beside those that move which stay as they are, and the weight that holds them."""


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
    """What is asked of some characters, as arrays: items by item, then by frame."""

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

    @classmethod
    def joined(cls, several: Sequence[Tasks]) -> Tasks:
        """Return all that is asked, as one."""
        return several[0] if len(several) == 1 else cls(*map(np.concatenate, zip(*several, strict=True)))

    def frames(self, chosen: np.ndarray | slice) -> Tasks:
        """Return the same for some frames."""
        changing = ("places", "turns", "place_weights", "turn_weights")
        return self._replace(**{name: np.ascontiguousarray(getattr(self, name)[:, chosen]) for name in changing})


class Near(NamedTuple):
    """Points of bodies that are near each other: frames (n,), their bodies (n, 2) and the points (n, 2, 3).

    The second must go in a direction (n, 3) by so much (n,) at least; where that is negative, it may come nearer. Where it is to
    go exactly so far, it is ``held`` (n,). ``weights`` (n,) are [1/m²].
    """

    frames: np.ndarray
    bodies: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    ways: np.ndarray
    weights: np.ndarray
    held: np.ndarray

    @classmethod
    def joined(cls, several: Sequence[Near]) -> Near:
        """Return all that is near, as one."""
        return several[0] if len(several) == 1 else cls(*map(np.concatenate, zip(*several, strict=True)))

    def window(self, begin: int, end: int) -> Near:
        """Return what is near in some frames."""
        inside = (self.frames >= begin) & (self.frames < end)
        return Near(self.frames[inside] - begin, *(array[inside] for array in self[1:]))


NOTHING_NEAR = Near(
    np.zeros(0, np.int64),
    np.zeros((0, 2), np.int64),
    np.zeros((0, 2, 3)),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0),
    np.zeros(0, bool),
)


class Kinetics(NamedTuple):
    """Where the bodies of a scene are in all frames, and the axes of its degrees of freedom about their trees' centres of mass.

    The arrays are (T, nv, 6), (T, nbody, 3), (T, nbody, 3) and (T, nbody, 3, 3); a tree's centre is at its root.
    """

    cdof: np.ndarray
    com: np.ndarray
    xpos: np.ndarray
    xmat: np.ndarray

    @classmethod
    def room(cls, model: mujoco.MjModel, T: int) -> Kinetics:
        """Return room for so many frames."""
        n = model.nbody
        return cls(np.empty((T, model.nv, 6)), np.empty((T, n, 3)), np.empty((T, n, 3)), np.empty((T, n, 3, 3)))

    def update(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        qpos: np.ndarray,
        frames: Iterable[int],
        look: Callable[[int], None] | None = None,
    ) -> None:
        """Take down where bodies are in some frames; ``look(frame)`` sees each one as it is placed."""
        cdof, com, xpos, xmat = data.cdof, data.subtree_com, data.xpos, data.xmat.reshape(-1, 3, 3)
        for t in frames:
            data.qpos[:] = qpos[t]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            self.cdof[t], self.com[t], self.xpos[t], self.xmat[t] = cdof, com, xpos, xmat
            if look is not None:
                look(t)

    def frames(self, begin: int, end: int) -> Kinetics:
        """Return the same for some frames."""
        return Kinetics(*(array[begin:end] for array in self))


def kinetics_of(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> Kinetics:
    """Return where the bodies of a scene are in all frames."""
    out = Kinetics.room(model, len(qpos))
    out.update(model, data, qpos, range(len(qpos)))
    return out


class Unknowns:
    """Degrees of freedom of characters that are solved for together: configurations, their changes, and their normal equations."""

    def __init__(self, model: mujoco.MjModel, characters: Sequence[np.ndarray]):
        """Take the degrees of freedom of each character; the first six are those of its free root."""
        m, self.dofs = model, np.concatenate(characters)
        self.dofs = self.dofs.astype(np.int64)
        n, first = len(self.dofs), np.cumsum([0, *map(len, characters)])
        self.roots = [
            (int(m.jnt_qposadr[m.dof_jntid[dofs[0]]]), int(k)) for dofs, k in zip(characters, first, strict=False)
        ]
        """Where the roots' places are in a configuration, and in a change."""
        self.columns = np.setdiff1d(np.arange(n), [k + i for _, k in self.roots for i in range(6)])
        """Which of the unknowns are joints."""
        joints = m.dof_jntid[self.dofs[self.columns]]
        self.scalars = m.jnt_qposadr[joints].astype(int)
        places = [np.arange(root, root + 7) for root, _ in self.roots]
        self.addresses = np.concatenate([*places, self.scalars])
        """Where all of it is in a configuration."""
        limited = m.jnt_limited[joints].astype(bool)
        self.low = np.where(limited, m.jnt_range[joints, 0], -np.inf)
        self.high = np.where(limited, m.jnt_range[joints, 1], np.inf)
        self.trees = m.body_rootid.astype(np.int64)
        place = {int(dof): k for k, dof in enumerate(self.dofs)}
        self.chains = np.zeros((m.nbody, n), bool)
        """Which degrees of freedom move a body."""
        for body in range(1, m.nbody):
            self.chains[body] = self.chains[m.body_parentid[body]]
            own = range(int(m.body_dofadr[body]), int(m.body_dofadr[body] + m.body_dofnum[body]))
            self.chains[body, [place[dof] for dof in own if dof in place]] = True
        self.stiffness = np.ones(n)
        for _, k in self.roots:
            self.stiffness[k : k + 3] = 4.0

    def moved(self, qpos: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return configurations (T, nq) of the scene after changes (T, n)."""
        out = qpos.copy()
        for root, k in self.roots:
            out[:, root : root + 3] += change[:, k : k + 3]
            turn_locally(out[:, root + 3 : root + 7], change[:, k + 3 : k + 6])
        out[:, self.scalars] += change[:, self.columns]
        return out

    def clipped(self, qpos: np.ndarray) -> np.ndarray:
        """Return configurations with all joints within their ranges."""
        out = qpos.copy()
        out[:, self.scalars] = np.clip(out[:, self.scalars], self.low, self.high)
        return out


class Asked(NamedTuple):
    """What a step must know of some unknowns: what is asked, the changes so far (T, n), and how much slower each is (Marquardt's).

    ``least`` is the least cost [1/rad²] of any change within a step.
    """

    unknowns: Unknowns
    tasks: Tasks
    change: np.ndarray
    damping: np.ndarray
    least: float = 0.01


def _step(
    span: tuple[int, int],
    asked: Asked,
    kinetics: Kinetics,
    qpos: np.ndarray,
    near: Near,
    smooth: float,
    still: np.ndarray,
    trials: int,
) -> np.ndarray:
    """Return the step of the frames of a span at once.

    Limits that are violated hold; which ones the step would violate is found by solving again, so many times in all.
    """
    (begin, end), it = span, asked.unknowns
    kinetics, near = kinetics.frames(begin, end), near.window(begin, end)
    values, T, n = qpos[begin:end, it.scalars], end - begin, len(it.dofs)
    band, right = np.zeros((T * n, 2 * n + 1 if smooth else n)), np.zeros(T * n)
    add_tasks(*kinetics, *asked.tasks.frames(slice(begin, end)), it.trees, it.dofs, it.chains, band, right)
    band[:, 0] *= 1.0 + asked.damping[begin:end].reshape(-1)
    band[:, 0] += asked.least
    if smooth:
        add_smoothness(asked.change[begin:end], smooth * it.stiffness, band, right)
    band[np.repeat(still[begin:end], n), 0] += _HOLD
    rows = near_rows(*kinetics[:2], *near[:4], it.trees, it.dofs, it.chains)
    over = np.maximum(values - it.high, 0) - np.maximum(it.low - values, 0)
    active = near.held | (near.ways > 0)
    step = np.zeros((T, n))
    for _ in range(trials):
        matrix, x = band.copy(), right.copy()
        add_limits(over, values, it.low, it.high, it.columns, n, _LIMIT, matrix, x)
        add_rows(near.frames, rows, near.ways, near.weights, active, matrix, x)
        solve_band(matrix, x)
        step = x.reshape(T, n)
        after = values + step[:, it.columns]
        beyond = np.maximum(after - it.high, 0) - np.maximum(it.low - after, 0)
        lacking = near.ways - (rows * step[near.frames]).sum(1)
        pressing = near.held | (lacking > 0)
        if (np.abs(beyond[over == 0]) < _PASSED).all() and (lacking[~active] < _PASSED).all():
            break
        over, active = beyond, pressing
    return step


def steps(
    asked: Sequence[Asked],
    kinetics: Kinetics,
    qpos: np.ndarray,
    near: Near,
    smooth: float,
    moving: np.ndarray | None = None,
    trials: int = 1,
) -> list[np.ndarray]:
    """Return the Gauss–Newton steps (T, n) in frames that still move; long runs of them in windows, two at a time."""
    still = np.zeros(len(qpos), bool) if moving is None else ~moving
    jobs = [(k, window) for k in range(len(asked)) for window in _windows(still)]

    def solve(job: tuple[int, tuple[int, int]]) -> np.ndarray:
        return _step(job[1], asked[job[0]], kinetics, qpos, near, smooth, still, trials)

    out, total = [np.zeros_like(one.change) for one in asked], [np.zeros(len(still)) for _ in asked]
    for (k, (begin, end)), step in zip(jobs, (map if len(jobs) == 1 else _POOL.map)(solve, jobs), strict=True):
        # Where windows overlap, each counts the less the nearer its end is: it did not know what lies beyond.
        ramp = np.minimum(np.arange(1, end - begin + 1), np.arange(end - begin, 0, -1)).astype(float)
        ramp = np.minimum(ramp, _OVERLAP)
        out[k][begin:end] += ramp[:, None] * step
        total[k][begin:end] += ramp
    return [
        np.clip(step / np.maximum(weight, 1e-9)[:, None], -_LARGEST_STEP, _LARGEST_STEP)
        for step, weight in zip(out, total, strict=True)
    ]


def _windows(still: np.ndarray) -> list[tuple[int, int]]:
    """Return windows (first frame, frame after the last) that cover what moves, and overlap where that is long."""
    out, T = [], len(still)
    for first, last in runs(~still):
        begin, stop = max(first - _HELD, 0), min(last + _HELD, T)
        count = max(1, -(-(stop - begin - _OVERLAP) // (_WINDOW - _OVERLAP)))
        edges = np.linspace(begin, stop - _OVERLAP, count + 1).astype(int) if count > 1 else [begin, stop - _OVERLAP]
        out += [(int(a), int(b) + _OVERLAP) for a, b in itertools.pairwise(edges)]
    return [(max(a, 0), min(b, T)) for a, b in out]
