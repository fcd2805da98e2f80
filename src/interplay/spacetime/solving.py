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

from interplay.spacetime.blocks import Block, Program, Unknowns

ACCURATE = 1e-6
"""Largest violation of a row of what counts as solved, in the units of rows."""
OPTIMAL = 1e-4
"""What may be off in the conditions of an optimum: the objective is then within 0.01 % of what it comes to."""
PATIENCE, SECONDS = 400, 600.0
"""Most iterations, and most seconds."""

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
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Solution:
    """Solve a problem from its guess; ``near``: the guess is almost a solution (of a coarser mesh, or of nearly the same problem).

    It ends after so many iterations and seconds at most, with the best so far; where laws fight, those that fight are named.
    """
    begin, whole = clock.perf_counter(), Program(unknowns, blocks)
    watch, evaluated = _Watch(whole, progress, begin + seconds), _Evaluated(whole)
    options = {
        "ipopt.max_iter": patience,
        "ipopt.max_wall_time": max(seconds, 1e-3),
        "ipopt.tol": OPTIMAL,
        "ipopt.constr_viol_tol": ACCURATE / 10,
        "ipopt.linear_solver": "mumps",
        "ipopt.mumps_pivot_order": 5,  # METIS
        "ipopt.nlp_scaling_method": "none",  # unknowns and rows have units that make them near 1
        "ipopt.bound_relax_factor": 0.0,  # what is beyond a bound by 1e-8 is an acceleration of 1e-4
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "no_nlp_grad": True,
        "iteration_callback": watch,
        **({**_NEAR} if near else {"ipopt.mu_strategy": "adaptive"}),
        **evaluated.derivatives,
    }
    solver = ca.nlpsol("spacetime", "ipopt", evaluated.nlp, options)
    with watch.interrupted():
        found = solver(x0=unknowns.guess, lbx=unknowns.low, ubx=unknowns.high, lbg=whole.low, ubg=whole.high)
    status = watch.ended or _ENDS.get(str(solver.stats()["return_status"]), str(solver.stats()["return_status"]))
    last = np.asarray(found["x"]).ravel()
    x = watch.best if status != SOLVED and watch.best is not None else last
    x = np.where(np.isfinite(x), x, unknowns.guess)
    objective, over = whole.values(x)[0], _over(whole, whole.values(x)[1])
    fighting = (
        status == INFEASIBLE and np.isfinite(last).all()
    )  # where it could not be less, those that fight are left over
    named = _named(whole, _over(whole, whole.values(last)[1]) if fighting else over)
    return Solution(
        x,
        bool(over.max(initial=0.0) <= 10 * ACCURATE),
        objective,
        float(over.max(initial=0.0)),
        named,
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


SOLVED, INFEASIBLE, INTERRUPTED, LATE = "solved", "infeasible", "interrupted", "out of time"
_ENDS = {
    "Solve_Succeeded": SOLVED,
    "Solved_To_Acceptable_Level": SOLVED,
    "Infeasible_Problem_Detected": INFEASIBLE,
    "Not_Enough_Degrees_Of_Freedom": INFEASIBLE,
    "Maximum_Iterations_Exceeded": "out of iterations",
    "Maximum_WallTime_Exceeded": LATE,
}


def _over(whole: Program, g: np.ndarray) -> np.ndarray:
    """Return how far rows are beyond their bounds."""
    return np.maximum(whole.low - g, g - whole.high)


def _named(whole: Program, over: np.ndarray, most: int = 3) -> tuple[str, ...]:
    """Return what is violated most, by name, each name once."""
    names: dict[str, float] = {}
    for row in np.argsort(-over)[: 20 * most]:
        if over[row] > 10 * ACCURATE and len(names) < most:
            b, k = whole.rows[int(row)]
            block = whole.blocks[b]
            names.setdefault(block.label(*divmod(k, block.kernel.rows)), float(over[row]))
    return tuple(names)


class _Evaluated:
    """A program as IPOPT is given it through CasADi: functions that write into its memory.

    Values are kept, as f and g are asked for one after the other.
    """

    def __init__(self, whole: Program):
        n, rows = whole.size, len(whole.low)
        x, p, scale, lam = (ca.Sparsity.dense(size, 1) for size in (n, 0, 1, rows))
        f, g = ca.Sparsity.dense(1, 1), ca.Sparsity.dense(rows, 1)
        last: list[Any] = [None, None]

        def values(x: np.ndarray) -> tuple[float, np.ndarray]:
            if last[0] is None or not np.array_equal(x, last[0]):
                last[:] = x.copy(), whole.values(x)
            return last[1]

        at = {"x": x, "p": p}
        self._value = _Written("nlp", at, {"f": f, "g": g}, lambda x, _: values(x))
        slope = _Written("grad_f", at, {"f": f, "g": x}, lambda x, _: (values(x)[0], whole.gradient(x)))
        ahead = _Written(
            "jac_g",
            at,
            {"g": g, "j": _sparsity(whole.jacobian_pattern)},
            lambda x, _: (values(x)[1], whole.jacobian(x)),
        )
        curve = _Written(
            "hess_lag",
            {**at, "l": scale, "m": lam},
            {"h": _sparsity(whole.hessian_pattern)},
            lambda x, _, l, m: (whole.hessian(x, float(l[0]), m),),
        )
        self.derivatives = {"grad_f": slope, "jac_g": ahead, "hess_lag": curve}
        at = {"x": ca.MX.sym("x", n), "p": ca.MX.sym("p", 0)}
        self.nlp = {**at, **dict(zip("fg", self._value(*at.values()), strict=True))}


def _sparsity(pattern: Any) -> ca.Sparsity:
    return ca.Sparsity(*pattern.shape, pattern.indptr.tolist(), pattern.indices.tolist())


class _Written(ca.Callback):
    """A function of arrays for CasADi: inputs and outputs by name, with their sparsity."""

    def __init__(
        self, name: str, given: dict[str, Any], found: dict[str, Any], function: Callable[..., tuple[Any, ...]]
    ):
        super().__init__()
        self._given, self._found, self._function = list(given.items()), list(found.items()), function
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._given)

    def get_n_out(self) -> int:
        return len(self._found)

    def get_name_in(self, i: int) -> str:
        return self._given[i][0]

    def get_name_out(self, i: int) -> str:
        return self._found[i][0]

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return self._given[i][1]

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return self._found[i][1]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        given = [
            np.zeros(of.nnz()) if one is None else np.frombuffer(one)
            for one, (_, of) in zip(arg, self._given, strict=True)
        ]
        for one, value in zip(res, self._function(*given), strict=True):
            if one is not None:
                np.frombuffer(one)[:] = value
        return 0


class _Watch(ca.Callback):
    """Looks at each iteration: tells it, keeps the best, and stops when it is asked to."""

    def __init__(self, whole: Program, progress: Progress | None, until: float):
        super().__init__()
        self._whole, self._progress, self._until = whole, progress, until
        self.ended, self.iteration = "", 0
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
        rows = {"f": 1, "x": self._whole.size, "lam_x": self._whole.size, "lam_p": 0}
        return ca.Sparsity.dense(rows.get(ca.nlpsol_out(i), len(self._whole.low)), 1)

    def eval(self, arg: Any) -> list[int]:
        values = {ca.nlpsol_out(k): a for k, a in enumerate(arg)}
        g = np.asarray(values["g"]).ravel()
        over = _over(self._whole, g)
        worst = float(over.max(initial=0.0))
        if worst <= max(self._least, ACCURATE):
            self._least, self.best = worst, np.asarray(values["x"]).ravel()
        if self._progress:
            names = _named(self._whole, over, 1)
            self._progress(self.iteration, float(values["f"]), worst, names[0] if names else "")
        self.iteration += 1
        if clock.perf_counter() > self._until:
            self.ended = self.ended or LATE
        return [int(bool(self.ended))]

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Let an interrupt stop the solver after the iteration that is under way, not the program."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(*_: Any) -> None:
            self.ended = INTERRUPTED

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
