"""The solver: IPOPT on blocks, with progress, a best iterate that an interrupt keeps, and names for what cannot be met."""

from __future__ import annotations

import signal
import threading
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import Block, Program, Unknowns, program

ACCURATE = 1e-6
"""Largest violation of a row of what counts as solved, in the units of rows."""
PATIENCE = 400
"""Most iterations."""

Progress = Callable[[int, float, float, str], None]
"""Told of every iteration: its number, objective, largest violation, and by what."""


class Solution(NamedTuple):
    """What was found: values of all unknowns, whether all rows hold, objective, largest violation, and how it ended."""

    x: np.ndarray
    solved: bool
    objective: float
    violation: float
    worst: tuple[str, ...]
    status: str
    iterations: int
    seconds: float


def solve(
    unknowns: Unknowns,
    blocks: Sequence[Block],
    *,
    near: bool = False,
    patience: int = PATIENCE,
    progress: Progress | None = None,
) -> Solution:
    """Solve a problem from its guess; ``near``: the guess is almost a solution (of a coarser mesh, or of nearly the same problem)."""
    begin, whole = clock.perf_counter(), program(unknowns, blocks)
    watch = _Watch(whole, blocks, unknowns.size, progress)
    options = {
        "ipopt.max_iter": patience,
        "ipopt.tol": ACCURATE,
        "ipopt.linear_solver": "mumps",
        "ipopt.mumps_pivot_order": 5,  # METIS
        "ipopt.nlp_scaling_method": "none",  # unknowns and rows have units that make them near 1
        "ipopt.bound_relax_factor": 0.0,  # what is beyond a bound by 1e-8 is an acceleration of 1e-4
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "calc_lam_p": False,
        "iteration_callback": watch,
        **({**_NEAR} if near else {"ipopt.mu_strategy": "adaptive"}),
        **whole.derivatives,
    }
    solver = ca.nlpsol("spacetime", "ipopt", whole.nlp, options)
    with watch.interrupted():
        found = solver(x0=unknowns.guess, lbx=unknowns.low, ubx=unknowns.high, lbg=whole.low, ubg=whole.high)
    x = np.asarray(found["x"]).ravel()
    if not solver.stats()["success"] and watch.best is not None:
        x = watch.best
    x = np.where(np.isfinite(x), x, unknowns.guess)
    values = ca.Function("values", [whole.nlp["x"], whole.nlp["p"]], [whole.nlp["f"], whole.nlp["g"]])
    objective, g = (np.asarray(one).ravel() for one in values(x, []))
    over = np.maximum(whole.low - g, g - whole.high)
    status = "interrupted" if watch.stop else str(solver.stats()["return_status"])
    return Solution(
        x,
        bool(over.max(initial=0.0) <= 10 * ACCURATE),
        float(objective[0]),
        float(over.max(initial=0.0)),
        _named(whole, blocks, over),
        status,
        int(solver.stats()["iter_count"]),
        clock.perf_counter() - begin,
    )


_NEAR = {
    "ipopt.mu_strategy": "monotone",
    "ipopt.mu_init": 1e-4,
    "ipopt.bound_push": 1e-6,
    "ipopt.bound_frac": 1e-6,
    "ipopt.slack_bound_push": 1e-6,
    "ipopt.slack_bound_frac": 1e-6,
}


def _named(whole: Program, blocks: Sequence[Block], over: np.ndarray, most: int = 3) -> tuple[str, ...]:
    """Return what is violated most, by name, each name once."""
    names: dict[str, float] = {}
    for row in np.argsort(-over)[: 20 * most]:
        if over[row] > 10 * ACCURATE and len(names) < most:
            b, k = whole.rows[int(row)]
            names.setdefault(blocks[b].label(*divmod(k, blocks[b].kernel.rows)), float(over[row]))
    return tuple(names)


class _Watch(ca.Callback):
    """Looks at each iteration: tells it, keeps the best, and stops when it is asked to."""

    def __init__(self, whole: Program, blocks: Sequence[Block], size: int, progress: Progress | None):
        super().__init__()
        self._whole, self._blocks, self._size, self._progress = whole, blocks, size, progress
        self.stop, self.iteration = False, 0
        self.best: np.ndarray | None = None
        self._least = np.inf
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return ca.nlpsol_out(i)

    def get_name_out(self, i: int) -> str:
        return "stop"

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        rows = {"f": 1, "x": self._size, "lam_x": self._size, "lam_p": 0}
        return ca.Sparsity.dense(rows.get(ca.nlpsol_out(i), len(self._whole.low)), 1)

    def eval(self, arg: Any) -> list[int]:
        values = {ca.nlpsol_out(k): a for k, a in enumerate(arg)}
        g = np.asarray(values["g"]).ravel()
        over = np.maximum(self._whole.low - g, g - self._whole.high)
        worst = float(over.max(initial=0.0))
        if worst <= max(self._least, ACCURATE):
            self._least, self.best = worst, np.asarray(values["x"]).ravel()
        if self._progress:
            names = _named(self._whole, self._blocks, over, 1)
            self._progress(self.iteration, float(values["f"]), worst, names[0] if names else "")
        self.iteration += 1
        return [int(self.stop)]

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Let an interrupt stop the solver after the iteration that is under way, not the program."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(*_: Any) -> None:
            self.stop = True

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
