"""Benchmarks: whole control steps along scenarios, several solvers on the same problems, and whether they agree."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from interplay.catalogue import registry, scenario
from interplay.control.state import State
from interplay.errors import number, settings
from interplay.io.recorder import problem_size
from interplay.io.report import table_size
from interplay.models.motors import torque_limits
from interplay.objectives.base import FADE
from interplay.qp.problem import QP, QPSolution, QPSolver
from interplay.qp.solvers import DEFAULT, Piqp, make_solver
from interplay.rehearsal import keep_what_is_loaded
from interplay.runs.bench_report import PAPER, write_report
from interplay.runs.run import finished, make_folder
from interplay.scenario import Scenario, parts
from interplay.scene.kinematics import Kinematics
from interplay.simulation import Simulation
from interplay.worlds.world import Outcome

RING_SIZES = (1, 2, 3, 5, 8, 12, 16, 24)
"""Rings that show how time grows with the cast."""

_WARM_UP, _PROBLEMS, _PATIENCE = 20, 100, 3.0
"""Steps before the clock counts; problems each solver is timed on; seconds a solver gets for them in one case."""

_ENDS = ("head", "left_hand", "right_hand")
"""Bodies whose accelerations show whether a motion is smooth."""

Progress = Callable[[int, int, str], None]


class Case(NamedTuple):
    """A scenario with parameters; those of the paper's Table 1 run at the paper's step."""

    label: str
    scenario: Scenario

    @classmethod
    def of(cls, text: str) -> Case:
        """Read ``NAME`` or ``NAME:key=value,…``."""
        name, _, given = text.partition(":")
        return cls(text, scenario(name)(settings(f"bench {text!r}", filter(None, given.split(",")))))

    def simulation(self) -> Simulation:
        """Return a simulation of the case."""
        paper = PAPER.get(self.label)
        return self.scenario.simulation(1e-3 * paper["dt_ms"] if paper else None)


def bench(
    names: Sequence[str] | None,
    out: str | Path,
    *,
    steps: int | None = None,
    problems: int = 1000,
    solvers: Sequence[str] = (DEFAULT, "piqp"),
    progress: Progress | None = None,
) -> list[Table]:
    """Measure, write ``bench.json``, ``bench.md`` and figures, and return tables for the terminal.

    Args:
        names: scenarios, ``NAME`` or ``NAME:key=value``; by default all, and rings of growing size.
        out: the folder.
        steps: timed steps of each case; by default its whole script, the interactive phase held for a while.
        problems: problems over all cases on which the default solver is compared with PIQP at 1e-9; 0: none.
        solvers: solvers timed on the same problems.
        progress: called with (done, total, case).
    """
    if steps is not None:
        number("steps", steps, 50)
    number("problems", problems, 0)
    cases = [Case.of(name) for name in names or [*registry(), *(f"ring:n={n}" for n in RING_SIZES if n != 3)]]
    for name in solvers:
        make_solver(name)
    out = Path(out)
    make_folder(out)
    results = []
    for index, case in enumerate(cases):
        if progress:
            progress(index, len(cases), case.label)
        share = -(-problems // len(cases))
        entry = _time(case, steps)
        agreement = _agree(case, share, entry["steps"]) if share else {}
        results.append({**entry, **_compare(case, solvers), "agreement": agreement})
    (out / "bench.json").write_text(json.dumps(results, allow_nan=False) + "\n")
    return write_report(results, out)


def _ready(case: Case) -> Simulation:
    sim = case.simulation()
    for _ in range(_WARM_UP):
        sim.step()
    return sim


def _script(sim: Simulation, case: Case, steps: int | None) -> Iterator[int]:
    """Yield step after step until the script is over, has failed or was cut short."""
    while sim.time < case.scenario.timeout and not finished(sim, case.scenario):
        if sim.steps == steps or (sim.behaviour is not None and sim.behaviour.failure):
            return
        yield sim.steps


def _time(case: Case, steps: int | None) -> dict[str, Any]:
    """Time the whole steps of a script from its beginning, phase changes included."""
    _ready(case)  # compiles what is to be compiled
    keep_what_is_loaded()
    sim = case.simulation()
    rows, phases, smooth, sizes, contacts = [], [], _Smoothness(sim), {}, None
    for _ in _script(sim, case, steps):
        state, begin, worked = sim.state, clock.perf_counter(), clock.thread_time()
        outcome = sim.step()
        rows.append((clock.perf_counter() - begin, *outcome.plan.timing, clock.thread_time() - worked))
        phase = sim.behaviour.label if sim.behaviour else ""
        if phase not in sizes or sim.contacts.items is not contacts:
            size, contacts = problem_size(sim), sim.contacts.items
            if size["vars"] >= sizes.get(phase, size)["vars"]:
                sizes[phase] = size
        if not phases or phases[-1][1] != phase:
            phases.append((len(rows) - 1, phase))
        smooth.add(state, outcome)
    ms = 1e3 * np.array(rows)
    entry: dict[str, Any] = {
        "case": case.label,
        "dt": sim.dt,
        "steps": len(ms),
        "failure": sim.behaviour.failure if sim.behaviour else None,
        "characters": sum(sim.scene.kind(name) == "character" for name in sim.scene.names),
        **table_size(sizes, case.scenario.table_phase, case.scenario.table_pairs),
        "min_ms": float(ms[:, 0].min()),
        "median_ms": float(np.median(ms[:, 0])),
        "p99_ms": float(np.percentile(ms[:, 0], 99)),
        "max_ms": float(ms[:, 0].max()),
        "cpu_p99_ms": float(np.percentile(ms[:, 4], 99)),
        "cpu_max_ms": float(ms[:, 4].max()),
    }
    entry |= {f"{part}_ms": float(np.median(ms[:, k])) for k, part in enumerate(("model", "assemble", "solve"), 1)}
    entry["phases"] = phases
    entry["smoothness"] = smooth.summary([at for at, _ in phases[1:]])
    entry["trace_ms"], entry["cpu_trace_ms"] = (np.round(ms[:, k], 4).tolist() for k in (0, 4))
    return entry


class _Smoothness:
    """Jumps from step to step: of torques, and of the accelerations of heads and hands."""

    def __init__(self, sim: Simulation):
        bodies = [body for name in sim.scene.names for body in parts(sim, name, *_ENDS)]
        self._sim, self._bodies = sim, [sim.scene.body(body) for body in bodies]
        self._terms, limit = Kinematics(sim.scene.model), torque_limits(sim.scene.model)
        self._limit = np.where(np.isfinite(limit), limit, np.inf)
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self.jumps: list[tuple[float, float, float]] = []

    def add(self, state: State, outcome: Outcome) -> None:
        """Take a step, and the state in which it began."""
        terms, a = self._terms, np.zeros((len(self._bodies), 3))
        terms.update(state.qpos, state.qvel)
        for k, body in enumerate(self._bodies):
            _, bias, jacobian = terms.point(body, terms.xpos[body])
            a[k] = (jacobian @ outcome.qacc[terms.chain(body)] + bias)[:3]
        if self._last is not None:
            tau = np.abs(outcome.tau - self._last[0])
            moved = np.linalg.norm(a - self._last[1], axis=1)
            self.jumps.append((tau.max(), (tau / self._limit).max(), moved.max(initial=0.0)))
        self._last = outcome.tau, a

    def summary(self, changes: Sequence[int]) -> dict[str, dict[str, float | None]]:
        """Return of each kind of jump the largest within FADE of phase changes (steps), and the median away from them."""
        jumps, reach = np.array(self.jumps).reshape(-1, 3), round(FADE / self._sim.dt)
        step = np.arange(1, len(jumps) + 1)
        near = np.any([np.abs(step - change) <= reach for change in changes], axis=0) if changes else step < 0
        out: dict[str, dict[str, float | None]] = {}
        for kind, values in zip(("tau", "tau_ratio", "acceleration"), jumps.T, strict=True):
            out[kind] = {
                "at_changes": float(values[near].max()) if near.any() else None,
                "within": float(np.median(values[~near])) if (~near).any() else None,
            }
        return out


def _compare(case: Case, solvers: Sequence[str]) -> dict[str, Any]:
    """Time solvers on the same consecutive problems of a case, as many as each solves in its time."""
    if len(solvers) < 2:
        return {"solvers": {}}
    sim = _ready(case)
    sample = []
    for _ in range(_PROBLEMS):
        sample.append(sim.controller.problem(sim.state, sim.demands))
        sim.step()
    out = {}
    for name in solvers:
        solver, seconds, failures, begin = make_solver(name), [], 0, clock.perf_counter()
        for qp in sample:
            start = clock.perf_counter()
            failures += not solver.solve(qp).solved
            seconds.append(clock.perf_counter() - start)
            if clock.perf_counter() - begin > _PATIENCE:
                break
        later = seconds[1:] or seconds  # the first one lays out the pattern
        out[name] = {
            "median_ms": 1e3 * float(np.median(later)),
            "p99_ms": 1e3 * float(np.percentile(later, 99)),
            "problems": len(seconds),
            "failures": failures,
        }
    return {"solvers": out}


class _Checked:
    """Solves with one solver, and one problem in ``every`` again with PIQP at 1e-9."""

    name = "checked"

    def __init__(self, solver: QPSolver, every: int):
        self.solver, self.reference, self.every, self.dofs = solver, Piqp(1e-9), every, 0
        self.objective, self.qacc, self.iterations, self.safeguards, self.disagreements = [], [], [], 0, 0

    def solve(self, qp: QP, most: int | None = None) -> QPSolution:
        found = self.solver.solve(qp, most)
        self.safeguards += found.status.startswith("safeguard")
        self.iterations.append(found.iterations)
        if len(self.iterations) % self.every == 0:
            other = self.reference.solve(qp)
            self.disagreements += found.solved != other.solved
            if found.solved and other.solved:
                ours, theirs = qp.objective(found.x), qp.objective(other.x)
                self.objective.append((ours - theirs) / (1.0 + abs(theirs)))
                self.qacc.append(float(np.abs(found.x - other.x)[: self.dofs].max()))
        return found

    def forget(self) -> None:
        """Let both begin anew."""
        self.solver.forget()
        self.reference.forget()


def _agree(case: Case, problems: int, whole: int) -> dict[str, Any]:
    """Run the ``whole`` steps of a case, again if need be, and solve problems spread evenly over them twice."""
    every = max(1, whole // problems)
    check = _Checked(make_solver(DEFAULT), every)
    while len(check.iterations) < every * problems:
        sim = case.simulation()
        check.dofs, sim.controller.solver = sim.scene.model.nv, check
        for _ in _script(sim, case, min(whole, every * problems - len(check.iterations))):
            sim.step()
    return {
        "problems": len(check.qacc),
        "steps": len(check.iterations),
        "objective": float(np.abs(check.objective).max(initial=0.0)),
        "worse": float(np.max(check.objective, initial=0.0)),
        "qacc": float(np.max(check.qacc, initial=0.0)),
        "mean_iterations": float(np.mean(check.iterations)),
        "most_iterations": int(np.max(check.iterations)),
        "safeguards": check.safeguards,
        "disagreements": check.disagreements,
    }
