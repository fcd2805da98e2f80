"""Windows solved warm: from what is known of a solution nearby, its multipliers and its slopes included.

All bounds are barriers, at a parameter that does not change: what was found and what is looked for lie on one smooth path, along which
something is moved. How everything changes with it is a slope, found from a move by 2 mm; where slopes lead, full steps of Newton's method
take three to five to be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from interplay.spacetime.blocks import INF, Block, Unknowns
from interplay.spacetime.problem import Law, Problem, Stage, Turn, Window
from interplay.spacetime.solving import NEAR, Multipliers, Progress, Solution, solve

BARRIER = 1e-4
"""The barrier parameter at which windows are solved: the objective is then within 1 % of its optimum."""
NEWTON, SEARCH = 16, 60
"""Most full steps; and, where those lead nowhere, most steps of a line search."""
NEARBY = 2e-3
"""How far a thing is moved to find a slope [m], [rad] or [s]."""
LEFT = 0.3
"""What share of their distance to bounds unknowns and rows keep at least, where slopes lead beyond."""
_INSIDE, _PUSHED = 1e-8, 1e-2
"""How far a window that was solved like this, or another one, is pushed off its bounds at first."""
_PUSHES = "bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"
_BARRIER: dict[str, Any] = {
    "mu_strategy": "monotone",
    "mu_init": BARRIER,
    "mu_target": BARRIER,
    "bound_mult_init_method": "mu-based",
    "tol": 1e-3,
    "constr_viol_tol": 5e-7,
    "mumps_pivot_order": 2,  # to analyse the matrix takes a quarter of the time, to factorise it as long
}
SEARCHING = _BARRIER
FULL = {**_BARRIER, "accept_every_trial_step": "yes"}
EXACT = {**FULL, "tol": 1e-5}
"""Settings: a line search; full steps; and those to where slopes are taken, which are small differences."""

Laws = Callable[[np.ndarray], "list[Law]"]
"""Says what holds of a thing that is moved: of its coordinates."""


class Attempt(NamedTuple):
    """A window as it was solved, or not."""

    stage: Stage
    solution: Solution

    @property
    def known(self) -> np.ndarray:
        """All that is known of the solution, in a row: unknowns, and multipliers of rows."""
        multipliers = self.solution.multipliers
        return np.concatenate([self.solution.x, *([multipliers.rows] if multipliers else [])])


def attempt(
    problem: Problem,
    window: Window,
    moved: Sequence[Law],
    settings: Mapping[str, Any],
    patience: int,
    progress: Progress | None = None,
    *,
    inside: bool = False,
    known: np.ndarray | None = None,
) -> Attempt:
    """Solve a window of a problem under its laws and those of what is moved.

    It begins with what the roles are (``inside``: with a window that was solved at the barrier), or with all that is known. No rows sleep but in
    a search: those that wake would make it another problem, on another path.
    """
    stage = Stage(problem, Turn((window,)))
    blocks = [*stage.blocks(), *(block for law in moved for block in law(stage))]  # last: all else stays where it is
    unknowns, pressed = stage.unknowns, None
    if settings is not SEARCHING:
        settings = {**settings, **dict.fromkeys(_PUSHES, _INSIDE if inside else _PUSHED)}
        blocks = [block._replace(margin=INF) for block in blocks]
    if known is not None:
        unknowns.guess = np.clip(known[: unknowns.size], unknowns.low, unknowns.high)
        pressed = _pressed(unknowns, blocks, known[unknowns.size :])
    solution = solve(
        unknowns, blocks, near=NEAR, patience=patience, progress=progress, settings=settings, known=pressed
    )
    return Attempt(stage, solution)


def _pressed(unknowns: Unknowns, blocks: Sequence[Block], known: np.ndarray) -> Multipliers:
    """Return the multipliers of a guess: of equations those that are known, of bounds what the barrier makes of their distance."""
    x = unknowns.guess
    rows = np.concatenate([known, np.zeros(sum(block.low.size for block in blocks) - known.size)])
    with np.errstate(divide="ignore", invalid="ignore"):  # of what is given, or bounds nothing
        bounds = np.where(
            unknowns.low < unknowns.high, BARRIER / (unknowns.high - x) - BARRIER / (x - unknowns.low), 0.0
        )
        first = 0
        for block in blocks:
            mine = rows[first : first + block.low.size]
            first += mine.size
            bounding = (block.low < block.high).ravel() & block.kept
            if bounding.any():
                value = block.values(x)
                slack = np.minimum(value - block.low, block.high - value).ravel()
                near = BARRIER / np.maximum(slack, LEFT * BARRIER / np.abs(mine))
                mine[bounding] = (np.sign(mine) * near)[bounding]
    return Multipliers(bounds, rows)


class Warm:
    """A window that is solved, and how it changes with what is moved in it."""

    def __init__(self, problem: Problem, window: Window, now: Law | None, found: Attempt):
        """Take the problem as it is, the law of it that says where the thing is that is moved, and how the window was solved."""
        self.problem, self.window, self.now, self.found = problem, window, now, found
        self._slopes: dict[str, np.ndarray] = {}

    def slope(self, name: str, kept: Sequence[Law], moved: Sequence[Law], progress: Progress | None) -> np.ndarray:
        """Return what all that is known changes by with a coordinate, by its name; ``moved``: laws where that is greater by `NEARBY`."""
        if name not in self._slopes:
            problem, known = Problem(self.problem.roles, kept), self.found.known
            nearby = attempt(problem, self.window, moved, FULL, 1, progress, inside=True, known=known)
            if nearby.solution.multipliers is None:  # an interrupt: what follows is not solved either
                return np.zeros(known.size)
            self._slopes[name] = _change(known, nearby.known) / NEARBY
        return self._slopes[name]


def led(found: Attempt, change: np.ndarray) -> np.ndarray:
    """Return all that is known where a change leads from what was found, within bounds."""
    low, high = found.stage.unknowns.low, found.stage.unknowns.high
    size = max(found.known.size, change.size)
    n, now = low.size, _padded(found.known, size)
    there, x = now + _padded(change, size), now[:n]
    with np.errstate(invalid="ignore"):  # of what is not bounded
        least = np.where(np.isfinite(low), low + LEFT * (x - low), low)
        most = np.where(np.isfinite(high), high - LEFT * (high - x), high)
    there[:n] = np.where(low < high, np.clip(there[:n], least, most), there[:n])
    return there


def combined(slopes: Sequence[np.ndarray], by: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return what slopes come to."""
    size = max((one.size for one in slopes), default=0)
    return sum((share * _padded(one, size) for share, one in zip(by, slopes, strict=True)), np.zeros(size))


def _change(known: np.ndarray, then: np.ndarray) -> np.ndarray:
    size = max(known.size, then.size)
    return _padded(then, size) - _padded(known, size)


def _padded(known: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([known, np.zeros(size - known.size)])
