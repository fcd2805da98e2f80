"""A report in a few lines, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.markup import escape
from rich.table import Table

from interplay.io.laws import LAWS
from interplay.io.recording import Gap

MOST_RELAXED = 8
"""How many of the rows that gave way a summary names."""

MOST_DEEP, SHALLOW = 5, 0.5
"""How many pairs that overlap a summary names, and how deep [mm] they must be for that."""

_MEETINGS = {"apart": "", "contact": ", at their contact", "taking": ", a hand taking or letting go"}

FEW = 2
"""So many sub-phases in a row are still named one by one."""


def summary(report: dict[str, Any]) -> Table:
    """Return a report as a table."""
    out = Table(
        title=f"{report['scenario']}: {report['sim_seconds']:g} s, {report['steps']} steps of {1e3 * report['dt']:g} ms",
        show_header=False,
    )
    timing, size = report["timing"], report["size"]
    out.add_row("finished", "yes" if report["finished"] else "no")
    if report["missing"]:
        out.add_row("missing", "\n".join(str(Gap(**gap)) for gap in report["missing"]))
    out.add_row("phases", escape(" → ".join(grouped(report["states_visited"]))))
    relaxed = sorted(report["relaxed"].items(), key=lambda item: -item[1])
    more = f"\n… and {len(relaxed) - MOST_RELAXED} more, see report.json" if len(relaxed) > MOST_RELAXED else ""
    named = "".join(f"\n{name}: {steps} steps" for name, steps in relaxed[:MOST_RELAXED])
    out.add_row("fallbacks", f"{report['fallbacks']}{escape(named)}{more}")
    if timing:
        out.add_row(
            "step",
            f"median {timing['median_ms']:.2f} ms, p99 {timing['p99_ms']:.2f} ms "
            f"(model {timing['model_ms']:.2f}, assembly {timing['assemble_ms']:.2f}, solve {timing['solve_ms']:.2f})",
        )
    if size:
        out.add_row(
            "program",
            f"{size['vars']} variables, {size['eq']} equalities, {size['ineq']} inequalities; "
            f"{size['dofs']} DOFs, {size['subsystems']} subsystems",
        )
    if report.get("unused_adjustments"):
        out.add_row("adjusted in vain", escape("\n".join(report["unused_adjustments"])))
    units = {law.name: law.unit for laws in LAWS.values() for law in laws}
    for key, value in report["certificate"].items():
        unit = units.get(key, "")
        shown = key.removesuffix(f"_{unit}").replace("_", " ")
        out.add_row(shown, "not known" if value is None else f"{value:.3g} {unit}".strip())
    if deep := [p for p in report["penetration"] if p["depth_mm"] >= SHALLOW]:
        named = [f"{p['pair']}: {p['depth_mm']:.1f} mm at {p['time']:.2f} s{_MEETINGS[p['meeting']]}" for p in deep]
        more = [f"… and {len(deep) - MOST_DEEP} more, see report.json"] if len(deep) > MOST_DEEP else []
        out.add_row("deepest pairs", escape("\n".join(named[:MOST_DEEP] + more)))
    return out


def grouped(phases: Sequence[str]) -> list[str]:
    """Return phases in order; a row of sub-phases, ``walk: lift left 1`` and so on, as one: ``walk (49 phases)``."""
    out: list[str] = []
    for owner, row in groupby(phases, key=_owner):
        names = list(row)
        out += [f"{owner} ({len(names)} phases)"] if owner and len(names) > FEW else names
    return out


def _owner(phase: str) -> str:
    """Return what a sub-phase is part of; nothing for other phases, and for those of several who act at a time."""
    owner, _, part = phase.partition(": ")
    return owner if part and ": " not in part else ""
