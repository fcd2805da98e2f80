"""The report of a benchmark: tables (Table 1 of vaillant2017 among them), and figures (its Fig. 9 and Fig. 10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from interplay.qp.solvers import DEFAULT
from interplay.runs.tables import markdown, pyplot, table

_KEYS = (
    "subsystems",
    "dofs",
    "actuated",
    "planar_points",
    "grasp_points",
    "collision_pairs",
    "paper_qp",
    "paper_eq",
    "paper_ineq",
    "min_ms",
    "max_ms",
    "median_ms",
    "dt_ms",
)

PAPER: dict[str, dict[str, float]] = {
    name: dict(zip(_KEYS, values, strict=True))
    for name, values in {
        "king": (4, 114, 90, 28, 16, 6, 380, 246, 298, 4.45, 84.51, 22.72, 100 / 3),
        "funambulist": (2, 42, 30, 8, 8, 7, 136, 90, 99, 0.89, 5.10, 1.29, 5.0),
        "sword": (3, 78, 60, 16, 8, 33, 234, 150, 317, 0.76, 14.97, 6.12, 10.0),
        "acrobats": (3, 108, 90, 24, 0, 6, 294, 180, 282, 5.97, 34.88, 8.10, 10.0),
        "door": (2, 38, 30, 8, 4, 1, 116, 74, 93, 0.77, 2.33, 0.89, 5.0),
    }.items()
}
"""Table 1 of vaillant2017 (C++, LSSOL, i7-3720QM): counts, times of the solver and control step [ms].

The 317 inequalities of the sword are 217 by the paper's own rule.
"""

_PEERS = {
    "JRL Tasks, QLD (C++)": {1: 0.54, 3: 24.0},
    "JRL Tasks, dense ProxQP (C++)": {1: 0.12, 3: 1.15, 8: 17.7},
    "placo (C++)": {1: 0.17},
}
"""Whole control steps [ms] of others on a machine of this kind, humanoids standing hand in hand."""

_OURS, _THEIRS = "#c0504d", "0.45"


def write_report(results: list[dict[str, Any]], out: Path) -> list[Table]:
    """Write ``bench.md`` and the figures into a folder, and return the tables."""
    tables = _tables(results)
    figures = {"bench.png": "time per step along each script, phase changes dotted (the paper's Fig. 10)"}
    _draw_traces(results, out / "bench.png")
    figures["size.png"] = "time per step against the size of the program (the paper's Fig. 9)"
    _draw_sizes(results, out / "size.png")
    if sum(_ring_size(entry) is not None for entry in results) > 1:
        figures["scaling.png"] = "time per step against the number of characters"
        _draw_scaling(results, out / "scaling.png")
    parts = ["# Benchmarks", *map(markdown, tables), *(f"![{title}]({name})" for name, title in figures.items())]
    (out / "bench.md").write_text("\n\n".join(parts) + "\n")
    return tables


def _ring_size(entry: dict[str, Any]) -> int | None:
    return entry["characters"] if entry["case"].split(":")[0] == "ring" else None


def _tables(results: list[dict[str, Any]]) -> list[Table]:
    tables = [_whole(results), *_table_one(results), _smoothness(results)]
    solvers = list(dict.fromkeys(name for e in results for name in e["solvers"]))
    if solvers:
        compared = table("solvers on the same problems, median [ms] (p99; failures, if any)", ("case", *solvers))
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
        agreement = table(f"{DEFAULT} against piqp at 1e-9", columns)
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


def _whole(results: list[dict[str, Any]]) -> Table:
    """Return the times of whole steps by the clock, and what the processor worked on them (without waiting for others)."""
    names = ("case", "Δt", "steps", "vars", "eq", "ineq", "median", "p99", "p99/median", "max", "p99 CPU", "max CPU")
    whole = table("whole control step along the script [ms]", (*names, "model", "assemble", "solve"))
    for e in results:
        times = [f"{e['median_ms']:.3f}", f"{e['p99_ms']:.3f}", f"{e['p99_ms'] / e['median_ms']:.1f}"]
        times += [f"{e[f'{k}_ms']:.3f}" for k in ("max", "cpu_p99", "cpu_max", "model", "assemble", "solve")]
        counts = [f"{1e3 * e['dt']:.4g}", *(str(e[k]) for k in ("steps", "vars", "eq", "ineq"))]
        whole.add_row(e["case"] + " (fails)" * bool(e["failure"]), *counts, *times)
    return whole


def _table_one(results: list[dict[str, Any]]) -> list[Table]:
    """Return the paper's Table 1, theirs and ours side by side, for those of its scenarios that were run."""
    shared = [e for e in results if e["case"] in PAPER]
    if not shared:
        return []
    out = table("Table 1 of vaillant2017: theirs / ours", ("", *(e["case"] for e in shared)))

    def row(title: str, *keys: str, digits: str = "d") -> None:
        sides = [(PAPER[e["case"]], e) for e in shared]
        cells = [[", ".join(format(side[key], digits) for key in keys) for side in pair] for pair in sides]
        out.add_row(title, *(" / ".join(pair) for pair in cells))

    row("subsystems", "subsystems")
    row("DOFs, actuated", "dofs", "actuated")
    row("planar, grasp points", "planar_points", "grasp_points")
    row("collision pairs", "collision_pairs")
    row("QP size", "paper_qp")
    row("equalities", "paper_eq")
    row("inequalities", "paper_ineq")
    row("min [ms]", "min_ms", digits=".2f")
    row("max [ms]", "max_ms", digits=".2f")
    row("median [ms]", "median_ms", digits=".2f")
    out.add_row("Δt [ms]", *(f"{PAPER[e['case']]['dt_ms']:.4g} / {1e3 * e['dt']:.4g}" for e in shared))
    out.add_row("times faster (median)", *(f"{PAPER[e['case']]['median_ms'] / e['median_ms']:.1f}" for e in shared))
    return [out]


def _smoothness(results: list[dict[str, Any]]) -> Table:
    """Return the jumps of torques and of the accelerations of heads and hands."""
    kinds = {"tau": "Δτ [N·m]", "tau_ratio": "Δτ/limit", "acceleration": "Δa [m/s²]"}
    whens = {"at_changes": "at changes", "within": "within"}
    names = [f"{kind} {when}" for kind in kinds.values() for when in whens.values()]
    out = table(
        "smoothness: jump between two steps, the largest near phase changes, the median within phases", ("case", *names)
    )
    for e in results:
        values = [e["smoothness"][kind][when] for kind in kinds for when in whens]
        out.add_row(e["case"], *("–" if v is None else f"{v:.3g}" for v in values))
    return out


def _total(parts: list[dict[str, Any]]) -> dict[str, Any]:
    out = {key: max(p[key] for p in parts) for key in ("objective", "worse", "qacc", "most_iterations")}
    out |= {key: sum(p[key] for p in parts) for key in ("problems", "steps", "safeguards", "disagreements")}
    out["mean_iterations"] = sum(p["mean_iterations"] * p["steps"] for p in parts) / max(out["steps"], 1)
    return out


def _draw_traces(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the time of each step along each script, with its phase changes: Fig. 10 of the paper."""
    plt = pyplot()
    figure, axes = plt.subplots(
        len(results), 1, figsize=(10, 1.9 * len(results)), squeeze=False, constrained_layout=True
    )
    for axis, entry in zip(axes[:, 0], results, strict=True):
        dt, trace = entry["dt"], entry["trace_ms"]
        time = [dt * k for k in range(len(trace))]
        axis.plot(time, trace, lw=0.5, color="0.8", label="clock")
        axis.plot(time, entry["cpu_trace_ms"], lw=0.6, color="#3b6ea5", label="processor")
        axis.axhline(entry["median_ms"], color=_OURS, lw=1, label=f"median {entry['median_ms']:.2f} ms")
        named = -len(trace)
        for step, phase in entry["phases"]:
            axis.axvline(dt * step, color="0.5", lw=0.7, ls=":")
            if step - named > 0.012 * len(trace):  # names of phases that follow each other closely would overlap
                named = step
                axis.annotate(
                    phase, (dt * step, 0.97), xycoords=("data", "axes fraction"), va="top", fontsize=6, rotation=90
                )
        axis.set(ylabel=f"{entry['case']} [ms]", yscale="log", xlim=(0, dt * len(trace)))
        axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=7, frameon=False)
    axes[-1, 0].set_xlabel("time [s]")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _draw_sizes(results: list[dict[str, Any]], path: Path) -> None:
    """Draw median and largest time against the size of the program as the paper counts it: Fig. 9 of the paper."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 5), constrained_layout=True)
    theirs = [(name, p["paper_qp"], p["median_ms"], p["max_ms"]) for name, p in PAPER.items()]
    ours = [(e["case"], e["paper_qp"], e["median_ms"], e["cpu_max_ms"]) for e in results]
    for rows, colour, who, most in (
        (theirs, _THEIRS, "vaillant2017 (C++)", "max"),
        (ours, _OURS, "Interplay, whole step", "max of processor time"),
    ):
        rows = sorted(rows, key=lambda row: row[1])
        names, size, median, largest = zip(*rows, strict=True)
        axis.plot(size, median, "o-", color=colour, label=f"{who}, median")
        axis.plot(size, largest, "^:", color=colour, alpha=0.6, label=f"{who}, {most}")
        for name, x, y in zip(names, size, median, strict=True):
            axis.annotate(name, (x, y), xytext=(4, -10), textcoords="offset points", fontsize=7, color=colour)
    axis.set(xscale="log", yscale="log", xlabel="QP size: DOFs + actuated + 4 · contact points", ylabel="ms")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _draw_scaling(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the whole step over the number of characters, beside the other solvers (solve time alone) and the field's."""
    plt = pyplot()
    rings = sorted((e for e in results if _ring_size(e) is not None), key=lambda e: e["characters"])
    n = [e["characters"] for e in rings]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    left.plot(n, [e["median_ms"] for e in rings], "o-", color=_OURS, lw=2.5, label="Interplay, whole step")
    left.fill_between(n, [e["median_ms"] for e in rings], [e["p99_ms"] for e in rings], color=_OURS, alpha=0.15)
    for name in dict.fromkeys(name for e in rings for name in e["solvers"]):
        points = [(e["characters"], e["solvers"][name]["median_ms"]) for e in rings if name in e["solvers"]]
        left.plot(*zip(*points, strict=True), "--", lw=1.2, marker=".", label=f"{name}, solving alone")
    for name, points in _PEERS.items():
        left.plot(list(points), list(points.values()), "s:", ms=5, lw=1, color=_THEIRS, label=name)
    left.set(xscale="log", yscale="log", xlabel="characters hand in hand", ylabel="ms (p99 shaded)")
    left.set_xticks(n, [str(k) for k in n])
    left.legend(frameon=False, fontsize=8)
    right.plot(n, [e["median_ms"] / e["characters"] for e in rings], "o-", color=_OURS, lw=2)
    right.set(xlabel="characters hand in hand", ylabel="whole step per character [ms]", ylim=(0, None))
    figure.savefig(path, dpi=90)
    plt.close(figure)
