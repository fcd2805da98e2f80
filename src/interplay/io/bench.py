"""Benchmarks: whole control steps per scenario, and several solvers on the same recorded problems."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from interplay.errors import InputError
from interplay.qp.solvers import make_solver
from interplay.scenarios import registry, scenario

_EVERY = 10
"""One problem in so many is kept for the comparison of solvers."""


def bench(
    names: Sequence[str] | None,
    out: str | Path,
    *,
    steps: int = 2000,
    solvers: Sequence[str] = ("piqp",),
    progress: Callable[[int, int, str], None] | None = None,
) -> Table:
    """Measure scenarios, write ``bench.json``, ``bench.md`` and ``bench.png``, and return a table for the terminal."""
    if steps < 10:
        raise InputError(f"steps: expected at least 10, got {steps}")
    chosen = [scenario(name) for name in (names or registry())]
    for name in solvers:
        make_solver(name)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    total, results = len(chosen) * steps, []
    for index, kind in enumerate(chosen):
        sim = kind().simulation()
        rows, problems = [], []
        while len(rows) < steps:
            begin = clock.perf_counter()
            solution = sim.step()
            rows.append((clock.perf_counter() - begin, *solution.timing))
            if len(solvers) > 1 and sim.steps % _EVERY == 0:
                problems.append(sim.controller.problem(sim.state))
            if progress and sim.steps % 50 == 0:
                progress(index * steps + len(rows), total, kind.name)
        ms = 1e3 * np.array(rows[min(50, steps // 5) :])
        entry: dict[str, Any] = {
            "scenario": kind.name,
            "steps": len(ms),
            **sim.controller.size(),
            "median_ms": float(np.median(ms[:, 0])),
            "p99_ms": float(np.percentile(ms[:, 0], 99)),
            "max_ms": float(ms[:, 0].max()),
        }
        entry |= {f"{part}_ms": float(np.median(ms[:, k])) for k, part in enumerate(("model", "assemble", "solve"), 1)}
        entry["solvers"] = {name: _time_solver(name, problems) for name in solvers} if problems else {}
        entry["trace_ms"] = ms[:, 0].tolist()
        results.append(entry)
    _write(results, out)
    return _table(results)


def _time_solver(name: str, problems: list) -> dict[str, float]:
    solver, seconds, failures = make_solver(name), [], 0
    for qp in problems:
        begin = clock.perf_counter()
        failures += not solver.solve(qp).solved
        seconds.append(clock.perf_counter() - begin)
    return {
        "median_ms": 1e3 * float(np.median(seconds)),
        "p99_ms": 1e3 * float(np.percentile(seconds, 99)),
        "failures": failures,
    }


_COLUMNS = ("scenario", "vars", "eq", "ineq", "median_ms", "p99_ms", "model_ms", "assemble_ms", "solve_ms")


def _cells(entry: dict[str, Any]) -> list[str]:
    return [f"{entry[c]:.3f}" if c.endswith("_ms") else str(entry[c]) for c in _COLUMNS]


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table(title="whole control step")
    for column in _COLUMNS:
        table.add_column(column.replace("_ms", " [ms]"), justify="left" if column == "scenario" else "right")
    for entry in results:
        table.add_row(*_cells(entry))
    return table


def _write(results: list[dict[str, Any]], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    (out / "bench.json").write_text(json.dumps(results) + "\n")
    lines = ["| " + " | ".join(c.replace("_ms", " [ms]") for c in _COLUMNS) + " |", "|" + " --- |" * len(_COLUMNS)]
    lines += ["| " + " | ".join(_cells(entry)) + " |" for entry in results]
    compared = [(e["scenario"], name, s) for e in results for name, s in e["solvers"].items()]
    if compared:
        lines += [
            "",
            "Solvers on the same problems:",
            "",
            "| scenario | solver | median [ms] | p99 [ms] | failures |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| {scene} | {name} | {s['median_ms']:.3f} | {s['p99_ms']:.3f} | {s['failures']} |"
            for scene, name, s in compared
        ]
    (out / "bench.md").write_text("\n".join(lines) + "\n")
    figure, axes = plt.subplots(
        len(results), 1, figsize=(9, 2.2 * len(results)), squeeze=False, constrained_layout=True
    )
    for axis, entry in zip(axes[:, 0], results, strict=True):
        axis.plot(entry["trace_ms"], lw=0.6, color="#3b6ea5")
        axis.axhline(entry["median_ms"], color="#c0504d", lw=1, label=f"median {entry['median_ms']:.2f} ms")
        axis.set(ylabel=f"{entry['scenario']} [ms]", ylim=(0, 4 * entry["median_ms"]))
        axis.legend(loc="upper right", frameon=False)
    axes[-1, 0].set_xlabel("step")
    figure.savefig(out / "bench.png", dpi=110)
    plt.close(figure)
