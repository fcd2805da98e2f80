"""Measures for docs/spacetime.md: where the seconds of a composition go.

python tools/measure_spacetime.py walk:speed=1.3 run:speed=3 walk_to_run
python tools/measure_spacetime.py walk_to_run:free=nothing walk_to_run:free=footprints walk_to_run:free=timing walk_to_run

Seconds are those of the processor, by what they are spent on: derivatives (deriving them, or finding them on disk), setting up, evaluation,
linear algebra (all of IPOPT but evaluation) and checking in MuJoCo. Kernels of numba are compiled before.
"""

from __future__ import annotations

import sys
import time as clock
from collections import Counter
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

import interplay as ip
from interplay.compositions import composition
from interplay.errors import settings
from interplay.spacetime import blocks, checking, kernels, performing, problem, solving

SPENT: Counter[str] = Counter()
RUNNING: list[list[Any]] = []


def spent(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose seconds count, without those of what it calls that count themselves."""

    def timed(*args: Any, **kwargs: Any) -> Any:
        RUNNING.append([what, clock.process_time()])
        try:
            return function(*args, **kwargs)
        finally:
            name, begin = RUNNING.pop()
            seconds = clock.process_time() - begin
            SPENT[name] += seconds
            if RUNNING:
                SPENT[RUNNING[-1][0]] -= seconds

    return timed


def watch() -> None:
    """Let all that takes long be timed."""
    for name in ("values", "gradient", "jacobian", "hessian"):
        setattr(blocks.Program, name, spent("evaluation", getattr(blocks.Program, name)))
    kernels.Kernel.__init__ = spent("derivatives", kernels.Kernel.__init__)
    blocks.Program.__init__ = spent("setting up", blocks.Program.__init__)
    problem.roughest = spent("checking", checking.roughest)
    performing.figures = spent("checking", checking.figures)
    plain, solve = ca.nlpsol, solving.solve
    ca.nlpsol = lambda *args: _Timed(plain(*args))

    def told(unknowns: blocks.Unknowns, *args: Any, **kwargs: Any) -> Any:
        found = solve(unknowns, *args, **kwargs)
        free = int(np.count_nonzero(unknowns.low < unknowns.high))
        print(f"    {free} unknowns, {found.iterations} iterations, {found.seconds:.1f} s, {found.status}", flush=True)
        return found

    problem.solve = told


class _Timed:
    """A solver of CasADi, whose call counts as linear algebra, but for the evaluation."""

    def __init__(self, solver: Any):
        self._solver = solver

    def __call__(self, **given: Any) -> Any:
        return spent("linear algebra", self._solver)(**given)

    def stats(self) -> Any:
        return self._solver.stats()


def compiled() -> None:
    """Have numba's kernels, which are compiled once after an installation."""
    unknowns = blocks.Unknowns()
    where = unknowns.add("x", np.ones((1, 1)))
    kernel = kernels.Kernel("one", 1, 0, lambda y, c: (y[0] ** 2, y[0]))
    zero = np.zeros((1, 1))
    solving.solve(unknowns, [blocks.Block(kernel, where, np.zeros((1, 0)), zero, zero, lambda p, r: "")])
    ip.Scene().add(ip.Humanoid(), "ann")


def main() -> None:
    """Print what each composition takes."""
    compiled()
    watch()
    for text in sys.argv[1:]:
        name, _, given = text.partition(":")
        chosen = composition(name)(settings(text, list(filter(None, given.split(",")))))
        print(text, flush=True)
        SPENT.clear()
        begin, work = clock.perf_counter(), clock.process_time()
        found = chosen.compose()
        whole, real = clock.process_time() - work, clock.perf_counter() - begin
        rest = whole - sum(SPENT.values())
        parts = ", ".join(f"{what} {seconds:.1f}" for what, seconds in [*sorted(SPENT.items()), ("the rest", rest)])
        iterations = sum(one.iterations for one in found.solutions)
        print(
            f"  {iterations} iterations, {len(found.solutions)} solutions, {whole:.1f} s ({real:.1f} by the clock): {parts}"
        )
        last = found.solutions[-1]
        print(f"  solved: {last.solved}; objective {last.objective:.3f}; {', '.join(last.worst)}")
        for who, one in found.worth.items():
            print(
                f"  {who}: {found.time[-1]:.2f} s long; root {100 * one.root_mean:.2f} / {100 * one.root_worst:.1f} %, "
                f"slip {1e3 * one.slip:.2f} mm, torque {one.torque_ratio:.2f}, overlap {1e3 * one.depth:.1f} mm, "
                f"a foot {one.peak_force:.2f} times the weight",
                flush=True,
            )


if __name__ == "__main__":
    main()
