"""The solver: IPOPT on blocks, with progress, a best iterate that an interrupt keeps, and names for what cannot be met."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import scipy.sparse as sp

from interplay.spacetime.blocks import Block, Program, Unknowns
from interplay.spacetime.interrupting import INTERRUPTED, asked, listening
from interplay.spacetime.memory import memory_kept

ACCURATE = 1e-6
"""Largest violation of a row of what counts as solved, in the units of rows."""
OPTIMAL = 1e-4
"""What may be off in the conditions of an optimum: the objective is then within 0.01 % of what it comes to."""
PATIENCE, SECONDS = 400, 600.0
"""Most iterations, and most seconds of the processor: what is solved does not depend on what else is computed meanwhile."""

FAR, FAR_FOR = 1.0, 15
"""How far off rows are while their second derivatives are left out of a sketch, and for how many iterations at most: multipliers are
anything then, and steps go astray."""
REST, LOOKS = 3.0, 5
"""What is added to second derivatives to bring what has settled to rest, and how many iterations tell that it has."""


class Settled(NamedTuple):
    """When a solution counts as settled.

    So little of the objective was gained in the last iterations; rows were off by so much at most, and the barrier was so low; and it ends
    where rows are off by so little.
    """

    gain: float
    off: float
    barrier: float
    slope: float
    violation: float


SETTLED = Settled(3e-4, 0.03, 3e-5, 0.02, ACCURATE / 10)
SKETCHED = Settled(0.01, 0.1, 3e-4, 0.1, 1e-4)

Progress = Callable[[int, float, float, str], None]
"""Told of every iteration: its number, objective, largest violation, and by what."""


class Multipliers(NamedTuple):
    """What bounds of unknowns press with (n,), and all rows of all blocks (R,): nothing, where they sleep or bound nothing."""

    bounds: np.ndarray
    rows: np.ndarray


class Solution(NamedTuple):
    """What was found: values of all unknowns, whether all rows hold, objective, largest violation, and how it ended.

    Of what an interrupt left as it was guessed, objective and violation are infinite: nobody looked at them.
    Multipliers are those of the last iterate; seconds are by the clock.
    """

    x: np.ndarray
    solved: bool
    objective: float
    violation: float
    worst: tuple[str, ...]
    status: str
    iterations: int
    seconds: float
    multipliers: Multipliers | None = None


def unsolved(unknowns: Unknowns) -> Solution:
    """Return a guess, as an interrupt leaves it."""
    return Solution(unknowns.guess, False, np.inf, np.inf, (), INTERRUPTED, 0, 0.0)


def solve(
    unknowns: Unknowns,
    blocks: Sequence[Block],
    *,
    near: Mapping[str, Any] | None = None,
    sketch: bool = False,
    patience: int = PATIENCE,
    seconds: float = SECONDS,
    progress: Progress | None = None,
    settings: Mapping[str, Any] | None = None,
    known: Multipliers | None = None,
) -> Solution:
    """Solve a problem from its guess; ``near``: how it begins where the guess is almost a solution (`NEAR`, `ABOUT`).

    It ends after so many iterations and seconds of the processor at most, with the best so far; where laws fight, they are named.
    Rows that sleep (`Block.margin`) are looked at in what was found: those that it violates wake, and it is solved again from there.
    ``settings``: of IPOPT, in place of those here; ``known``: multipliers of the guess, of all rows of all blocks.
    """
    if asked():
        return unsolved(unknowns)
    begin, until = clock.perf_counter(), clock.process_time() + seconds
    guess, iterations = unknowns.guess, 0
    awake = [block.near(guess) for block in blocks]
    with listening(), memory_kept():
        while True:
            whole = Program(unknowns, [block.only(rows) for block, rows in zip(blocks, awake, strict=True)])
            most, told = patience - iterations, settings or {}
            found = _solved(unknowns, guess, whole, near, sketch, until, most, progress, told, known)
            iterations += found.iterations
            if not _violated(blocks, awake, found.x):
                break
            if found.status != SOLVED or iterations >= patience:
                over = _over(full := Program(unknowns, blocks), full.values(found.x)[1])
                found = found._replace(solved=False, violation=float(over.max()), worst=_named(full, over))
                break
            awake = [rows | block.near(found.x) for block, rows in zip(blocks, awake, strict=True)]
            guess, near, known = found.x, None if sketch else NEAR, found.multipliers if known else None
    return found._replace(iterations=iterations, seconds=clock.perf_counter() - begin)


def _violated(blocks: Sequence[Block], awake: Sequence[np.ndarray], x: np.ndarray) -> bool:
    """Return whether any row that sleeps is violated."""
    for block, rows in zip(blocks, awake, strict=True):
        if not rows.all():
            values = block.values(x)
            if (np.maximum(block.low - values, values - block.high) > ACCURATE)[~rows].any():
                return True
    return False


def _solved(
    unknowns: Unknowns,
    guess: np.ndarray,
    whole: Program,
    near: Mapping[str, Any] | None,
    sketch: bool,
    until: float,
    patience: int,
    progress: Progress | None,
    settings: Mapping[str, Any],
    known: Multipliers | None,
) -> Solution:
    """Solve a program from a guess, as it is, until the processor's clock says so."""
    begin = clock.perf_counter()
    watch = _Watch(unknowns, whole, progress, until, SKETCHED if sketch else SETTLED)
    evaluated = _Evaluated(whole, watch)
    options = {
        "ipopt.max_iter": patience,
        "ipopt.max_cpu_time": max(until - clock.process_time(), 1e-3),
        "ipopt.tol": OPTIMAL,
        "ipopt.constr_viol_tol": ACCURATE / 2,
        "ipopt.linear_solver": "mumps",
        "ipopt.mumps_pivot_order": 5,  # METIS
        "ipopt.mumps_permuting_scaling": 0,  # with it, half again as many seconds, and other steps for no better numbers
        "ipopt.nlp_scaling_method": "none",  # unknowns and rows have units that make them near 1
        "ipopt.bound_relax_factor": 0.0,  # what is beyond a bound by 1e-8 is an acceleration of 1e-4
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "no_nlp_grad": True,
        "iteration_callback": watch,
        **(near or (_SKETCH if sketch else _PLAIN)),
        **({} if known is None else _KNOWN),
        **{f"ipopt.{name}": value for name, value in settings.items()},
        **evaluated.derivatives,
    }
    solver = ca.nlpsol("spacetime", "ipopt", evaluated.nlp, options)
    kept, pressed = np.concatenate([np.zeros(0, bool), *(block.kept for block in whole.blocks)]), {}
    if known is not None:
        pressed = {"lam_x0": known.bounds, "lam_g0": known.rows[kept]}
    found = solver(x0=guess, **pressed, lbx=unknowns.low, ubx=unknowns.high, lbg=whole.low, ubg=whole.high)
    status = watch.ended or _ENDS.get(str(solver.stats()["return_status"]), str(solver.stats()["return_status"]))
    last = np.asarray(found["x"]).ravel()
    x = watch.best if (watch.ended or status != SOLVED) and watch.best is not None else last
    x = np.where(np.isfinite(x), x, guess)
    objective, over = whole.values(x)[0], _over(whole, whole.values(x)[1])
    fighting = (
        status == INFEASIBLE and np.isfinite(last).all()
    )  # where it could not be less, those that fight are left over
    named = _named(whole, _over(whole, whole.values(last)[1]) if fighting else over)
    pressing = np.zeros(kept.size)
    pressing[kept] = np.asarray(found["lam_g"]).ravel()
    return Solution(
        x,
        bool(over.max(initial=0.0) <= (1000 if sketch and status != INTERRUPTED else 10) * ACCURATE),
        objective,
        float(over.max(initial=0.0)),
        named,
        status,
        int(solver.stats()["iter_count"]),
        clock.perf_counter() - begin,
        Multipliers(np.asarray(found["lam_x"]).ravel(), pressing),
    )


_PLAIN = {
    "ipopt.mu_strategy": "adaptive",
    "ipopt.mu_oracle": "probing",
    "ipopt.mu_init": 0.1,
    "ipopt.bound_mult_init_method": "mu-based",
    "ipopt.mu_min": OPTIMAL / 11,
    "ipopt.mu_max": 0.1,
    "ipopt.perturb_dec_fact": 0.1,
}
"""What is added to curvature falls to a tenth of what it was in an iteration: it begins high, and by thirds took a dozen to be gone."""


def _known(barrier: float, push: float, share: float) -> dict[str, Any]:
    """Return the options of a guess of which much is known: how near to bounds unknowns may be, and what that then costs.

    ``share``: the most of it, of what lies between two bounds.
    """
    return {
        "ipopt.mu_strategy": "monotone",
        "ipopt.mu_init": barrier,
        "ipopt.bound_mult_init_method": "mu-based",
        "ipopt.bound_push": push,
        "ipopt.bound_frac": share,
        "ipopt.slack_bound_push": push,
        "ipopt.slack_bound_frac": share,
    }


_SKETCH = {**_known(1e-4, 1e-4, 1e-4), "ipopt.tol": 1e-3, "ipopt.constr_viol_tol": 1e-4, "ipopt.compl_inf_tol": 1e-3}
NEAR, ABOUT = _known(1e-5, 1e-3, 1e-3), _known(1e-4, 1e-4, 0.01)
"""For what was found on another mesh (it is at bounds, and a little beyond them between its knots: begun off them by a hundred times as much
as where it will end, a tackle took half as many iterations), or of nearly the same problem; and for what is about a solution, in which
rates lie at bounds that are a few milliseconds apart: nearer than a share of that, they hold up everything else."""


_KNOWN = {"ipopt.warm_start_init_point": "yes", "ipopt.warm_start_mult_init_max": 1e8} | {
    f"ipopt.warm_start_{name}": 1e-8
    for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
}
"""Of a guess of which multipliers are known, too: it is taken as it is."""


SOLVED, INFEASIBLE, LATE = "solved", "infeasible", "out of time"
_ENDS = {
    "Solve_Succeeded": SOLVED,
    "Solved_To_Acceptable_Level": SOLVED,
    "Infeasible_Problem_Detected": INFEASIBLE,
    "Not_Enough_Degrees_Of_Freedom": INFEASIBLE,
    "Maximum_Iterations_Exceeded": "out of iterations",
    "Maximum_CpuTime_Exceeded": LATE,
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

    def __init__(self, whole: Program, watch: _Watch):
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
            lambda x, _, l, m: (whole.hessian(x, float(l[0]), 0.0 * m if watch.far else m, watch.damping),),
        )
        self.derivatives = {"grad_f": slope, "jac_g": ahead, "hess_lag": curve}
        at = {"x": ca.MX.sym("x", n), "p": ca.MX.sym("p", 0)}
        self.nlp = {**at, **dict(zip("fg", self._value(*at.values()), strict=True))}


def _sparsity(pattern: Any) -> ca.Sparsity:
    rows, columns = pattern.shape
    return ca.Sparsity(rows, columns, pattern.indptr.tolist(), pattern.indices.tolist())


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

    def __init__(self, unknowns: Unknowns, whole: Program, progress: Progress | None, until: float, settled: Settled):
        super().__init__()
        self._bounded = np.flatnonzero(np.isfinite(unknowns.high) & (unknowns.low < unknowns.high))
        self._bounds, self._settled = (unknowns.low[self._bounded], unknowns.high[self._bounded]), settled
        self._last: list[tuple[float, float, float]] = []
        self.damping, self.far = 0.0, settled is SKETCHED
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

    def has_eval_buffer(self) -> bool:
        return True

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        rows = {"f": 1, "x": self._whole.size, "lam_x": self._whole.size, "lam_p": 0}
        return ca.Sparsity.dense(rows.get(ca.nlpsol_out(i), len(self._whole.low)), 1)

    def eval_buffer(self, arg: Any, res: Any) -> int:
        values = {ca.nlpsol_out(k): np.zeros(0) if one is None else np.frombuffer(one) for k, one in enumerate(arg)}
        objective, over = float(values["f"][0]), _over(self._whole, values["g"])
        worst = float(over.max(initial=0.0))
        if worst <= max(self._least, ACCURATE):
            self._least, self.best = worst, values["x"].copy()
        if self._progress:
            names = _named(self._whole, over, 1)
            self._progress(self.iteration, objective, worst, names[0] if names else "")
        self.iteration += 1
        self._settle(objective, worst, values)
        if asked():
            self.ended = self.ended or INTERRUPTED
        if clock.process_time() > self._until:
            self.ended = self.ended or LATE
        np.frombuffer(res[0])[:] = bool(self.ended)
        return 0

    def _settle(self, objective: float, worst: float, values: Mapping[str, np.ndarray]) -> None:
        """Where nothing is gained any more, along what costs next to nothing, bring it to rest, and end."""
        self.far = self.far and worst > FAR and self.iteration < FAR_FOR
        x, pressed = (values[one][self._bounded] for one in ("x", "lam_x"))
        low, high = self._bounds
        barrier = float(np.sum(np.abs(pressed) * np.where(pressed > 0, high - x, x - low)) / max(x.size, 1))
        self._last = [*self._last[1 - LOOKS :], (objective, worst, barrier)]
        told, over, barriers = np.array(self._last).T
        gained, of = float(np.ptp(told)), self._settled
        still = len(told) == LOOKS and gained < of.gain * abs(objective) and over.max() < of.off
        if still and barriers.max() < of.barrier and self._sloped(values) < of.slope:
            self.damping = REST
        if self.damping and worst < of.violation:
            self.ended = self.ended or SOLVED

    def _sloped(self, values: Mapping[str, np.ndarray]) -> float:
        """Return what is off in the conditions of an optimum: the largest slope of the Lagrangian."""
        x, rows, bounds = (values[one] for one in ("x", "lam_g", "lam_x"))
        pattern, slopes = self._whole.jacobian_pattern, self._whole.jacobian(x)
        jacobian = sp.csc_matrix((slopes, pattern.indices, pattern.indptr), pattern.shape)
        return float(np.abs(self._whole.gradient(x) + jacobian.T @ rows + bounds).max())
