"""Benchmarks: whole control steps of scenarios, several solvers on the same problems, and whether they agree."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from interplay.errors import InputError, number
from interplay.qp.problem import QP, QPSolution, QPSolver
from interplay.qp.solvers import DEFAULT, Piqp, make_solver
from interplay.scenarios import registry, scenario
from interplay.scenarios.base import Scenario
from interplay.simulation import Simulation

RING_SIZES = (1, 2, 3, 5, 8, 12, 16, 24)
"""Rings that show how time grows with the cast."""

_WARM_UP, _PROBLEMS, _PATIENCE = 20, 100, 3.0
"""Steps before the clock counts; problems each solver is timed on; seconds a solver gets for them in one case."""

_PEERS = {
    "JRL Tasks, QLD (C++)": {1: 0.54, 3: 24.0},
    "JRL Tasks, dense ProxQP (C++)": {1: 0.12, 3: 1.15, 8: 17.7},
    "placo (C++)": {1: 0.17},
}
"""Whole control steps [ms] of others on a machine of this kind, humanoids standing hand in hand."""

Progress = Callable[[int, int, str], None]


class Case(NamedTuple):
    """A scenario with parameters."""

    label: str
    scenario: Scenario

    @classmethod
    def of(cls, text: str) -> Case:
        """Read ``NAME`` or ``NAME:key=value,…``."""
        name, _, settings = text.partition(":")
        pairs = [part.partition("=") for part in settings.split(",") if part]
        if any(not sign for _, sign, _ in pairs):
            raise InputError(f"bench: expected NAME or NAME:key=value,…, got {text!r}")
        return cls(text, scenario(name)({key: value for key, _, value in pairs}))


def bench(
    names: Sequence[str] | None,
    out: str | Path,
    *,
    steps: int = 2000,
    problems: int = 1000,
    solvers: Sequence[str] = (DEFAULT, "piqp"),
    progress: Progress | None = None,
) -> list[Table]:
    """Measure, write ``bench.json``, ``bench.md`` and figures, and return tables for the terminal.

    Args:
        names: scenarios, ``NAME`` or ``NAME:key=value``; by default all, and rings of growing size.
        out: the folder.
        steps: timed steps of each case.
        problems: problems over all cases on which the default solver is compared with PIQP at 1e-9; 0: none.
        solvers: solvers timed on the same problems.
        progress: called with (done, total, case).
    """
    number("steps", steps, 50)
    number("problems", problems, 0)
    cases = [Case.of(name) for name in names or [*registry(), *(f"ring:n={n}" for n in RING_SIZES if n != 3)]]
    for name in solvers:
        make_solver(name)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    results = []
    for index, case in enumerate(cases):
        if progress:
            progress(index, len(cases), case.label)
        share = -(-problems // len(cases))
        results.append(
            {**_time(case, steps), **_compare(case, solvers), "agreement": _agree(case, share) if share else {}}
        )
    (out / "bench.json").write_text(json.dumps(results) + "\n")
    tables = _tables(results)
    (out / "bench.md").write_text("\n\n".join(_markdown(table) for table in tables) + "\n")
    _draw_traces(results, out / "bench.png")
    if sum(_ring_size(entry) is not None for entry in results) > 1:
        _draw_scaling(results, out / "scaling.png")
    return tables


def _ready(case: Case) -> Simulation:
    sim = case.scenario.simulation()
    for _ in range(_WARM_UP):
        sim.step()
    return sim


def _time(case: Case, steps: int) -> dict[str, Any]:
    """Time whole steps; a scenario that ends before is begun again."""
    rows, sim = [], _ready(case)
    size = sim.controller.size()
    while len(rows) < steps:
        if sim.machine is not None and (sim.machine.done or sim.time > case.scenario.timeout):
            sim = _ready(case)
        begin = clock.perf_counter()
        solution = sim.step()
        rows.append((clock.perf_counter() - begin, *solution.timing))
    ms = 1e3 * np.array(rows)
    entry: dict[str, Any] = {
        "case": case.label,
        "steps": len(ms),
        "characters": sum(sim.scene.kind(name) == "character" for name in sim.scene.names),
        **size,
        "median_ms": float(np.median(ms[:, 0])),
        "p99_ms": float(np.percentile(ms[:, 0], 99)),
        "max_ms": float(ms[:, 0].max()),
    }
    entry |= {f"{part}_ms": float(np.median(ms[:, k])) for k, part in enumerate(("model", "assemble", "solve"), 1)}
    entry["trace_ms"] = [round(float(v), 4) for v in ms[:, 0]]
    return entry


def _compare(case: Case, solvers: Sequence[str]) -> dict[str, Any]:
    """Time solvers on the same consecutive problems of a case, as many as each solves in its time."""
    if len(solvers) < 2:
        return {"solvers": {}}
    sim = _ready(case)
    sample = []
    for _ in range(_PROBLEMS):
        sample.append(sim.controller.problem(sim.state))
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

    def solve(self, qp: QP) -> QPSolution:
        found = self.solver.solve(qp)
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


def _scripted_steps(case: Case) -> int:
    """Return how many steps a case takes to its end, its interactive phase held for a while."""
    sim, last = case.scenario.simulation(), case.scenario.timeout
    while sim.time < last and not (sim.machine is not None and sim.machine.done):
        sim.step()
        if sim.machine is not None and sim.machine.phase is not None and sim.machine.phase.interactive:
            last = min(last, sim.machine.entries[-1].time + case.scenario.hold_interactive)
    return sim.steps


def _agree(case: Case, problems: int) -> dict[str, Any]:
    """Run a case, again if need be, and solve problems spread evenly over the whole of it twice."""
    whole = _scripted_steps(case)
    every = max(1, whole // problems)
    check = _Checked(make_solver(DEFAULT), every)
    while len(check.qacc) < problems:
        sim = case.scenario.simulation()
        check.dofs, sim.controller.solver = sim.scene.model.nv, check
        for _ in range(min(whole, every * (problems - len(check.qacc)))):
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


# -- tables and figures ------------------------------------------------------------------------------------------------


def _ring_size(entry: dict[str, Any]) -> int | None:
    return entry["characters"] if entry["case"].split(":")[0] == "ring" else None


def _tables(results: list[dict[str, Any]]) -> list[Table]:
    names = ("case", "vars", "eq", "ineq", "median", "p99", "p99/median", "model", "assemble", "solve")
    whole = _table("whole control step [ms]", names)
    for e in results:
        parts = [f"{e[k]:.3f}" for k in ("median_ms", "p99_ms")] + [f"{e['p99_ms'] / e['median_ms']:.1f}"]
        parts += [f"{e[f'{k}_ms']:.3f}" for k in ("model", "assemble", "solve")]
        whole.add_row(e["case"], str(e["vars"]), str(e["eq"]), str(e["ineq"]), *parts)
    tables = [whole]
    solvers = list(dict.fromkeys(name for e in results for name in e["solvers"]))
    if solvers:
        compared = _table("solvers on the same problems, median [ms] (p99; failures, if any)", ("case", *solvers))
        for e in results:
            cells = []
            for s in (e["solvers"].get(name) for name in solvers):
                failed = f"; {s['failures']} of {s['problems']} failed" if s and s["failures"] else ""
                cells.append(f"{s['median_ms']:.3f} ({s['p99_ms']:.3f}{failed})" if s else "")
            compared.add_row(e["case"], *cells)
        tables.append(compared)
    checked = [e for e in results if e["agreement"]]
    if checked:
        columns = (
            "case",
            "problems",
            "|Δobjective|",
            "worse by",
            "max |Δq̈|",
            "changes mean",
            "most",
            "safeguarded",
            "one fails",
        )
        agreement = _table(f"{DEFAULT} against piqp at 1e-9", columns)
        for e in [*checked, {"case": "all", "agreement": _total([e["agreement"] for e in checked])}]:
            a = e["agreement"]
            cells = [f"{a[k]:.1e}" for k in ("objective", "worse", "qacc")]
            cells += [
                f"{a['mean_iterations']:.2f}",
                str(a["most_iterations"]),
                str(a["safeguards"]),
                str(a["disagreements"]),
            ]
            agreement.add_row(e["case"], str(a["problems"]), *cells)
        tables.append(agreement)
    return tables


def _total(parts: list[dict[str, Any]]) -> dict[str, Any]:
    out = {key: max(p[key] for p in parts) for key in ("objective", "worse", "qacc", "most_iterations")}
    out |= {key: sum(p[key] for p in parts) for key in ("problems", "steps", "safeguards", "disagreements")}
    out["mean_iterations"] = sum(p["mean_iterations"] * p["steps"] for p in parts) / max(out["steps"], 1)
    return out


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right", no_wrap=k == 0)
    return table


def _markdown(table: Table) -> str:
    rows = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    head = [str(column.header) for column in table.columns]
    lines = [f"**{table.title}**", "", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


def _draw_traces(results: list[dict[str, Any]], path: Path) -> None:
    plt = _pyplot()
    figure, axes = plt.subplots(
        len(results), 1, figsize=(9, 1.8 * len(results)), squeeze=False, constrained_layout=True
    )
    for axis, entry in zip(axes[:, 0], results, strict=True):
        axis.plot(entry["trace_ms"], lw=0.6, color="#3b6ea5")
        axis.axhline(entry["median_ms"], color="#c0504d", lw=1, label=f"median {entry['median_ms']:.2f} ms")
        axis.set(ylabel=f"{entry['case']} [ms]", ylim=(0, 4 * entry["median_ms"]))
        axis.legend(loc="upper right", frameon=False)
    axes[-1, 0].set_xlabel("step")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _draw_scaling(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the whole step over the number of characters, beside the other solvers (solve time alone) and the field's."""
    plt = _pyplot()
    rings = sorted((e for e in results if _ring_size(e) is not None), key=lambda e: e["characters"])
    n = [e["characters"] for e in rings]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    left.plot(n, [e["median_ms"] for e in rings], "o-", color="#c0504d", lw=2.5, label="Interplay, whole step")
    left.fill_between(n, [e["median_ms"] for e in rings], [e["p99_ms"] for e in rings], color="#c0504d", alpha=0.15)
    for name in dict.fromkeys(name for e in rings for name in e["solvers"]):
        points = [(e["characters"], e["solvers"][name]["median_ms"]) for e in rings if name in e["solvers"]]
        left.plot(*zip(*points, strict=True), "--", lw=1.2, marker=".", label=f"{name}, solving alone")
    for name, points in _PEERS.items():
        left.plot(list(points), list(points.values()), "s:", ms=5, lw=1, color="0.45", label=name)
    left.set(xscale="log", yscale="log", xlabel="characters hand in hand", ylabel="ms (p99 shaded)")
    left.set_xticks(n, [str(k) for k in n])
    left.legend(frameon=False, fontsize=8)
    right.plot(n, [e["median_ms"] / e["characters"] for e in rings], "o-", color="#c0504d", lw=2)
    right.set(xlabel="characters hand in hand", ylabel="whole step per character [ms]", ylim=(0, None))
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
