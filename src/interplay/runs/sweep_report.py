"""Tables and figures of the push sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from interplay.runs.tables import pyplot, table

_COLOURS = ("#c0504d", "#3b6ea5", "#7f9c4b", "#8064a2", "#d8883a", "0.45")

Rows = Sequence[dict[str, Any]]


def report_pushes(rows: Rows, path: Path) -> list[Table]:
    """Draw how hard each way may be pushed from all sides, and return tables of it."""
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    ways = list(dict.fromkeys(row["way"] for row in rows))
    directions = list(dict.fromkeys(row["direction"] for row in rows))
    found = {(row["way"], row["rate"], row["direction"]): row for row in rows}
    out = []
    for rate in rates:
        title = f"largest impulse survived [N·s], {rows[0]['mass']:.0f} kg, {rate:g} Hz"
        result = table(title, ("from", *ways))
        for d in directions:
            result.add_row(f"{d:g}°", *(f"{found[way, rate, d]['impulse']:.1f}" for way in ways))
        each = {way: [found[way, rate, d] for d in directions] for way in ways}
        result.add_section()
        result.add_row("least", *(f"{min(row['impulse'] for row in each[way]):.1f}" for way in ways))
        result.add_row("mean", *(f"{sum(row['impulse'] for row in each[way]) / len(directions):.1f}" for way in ways))
        result.add_row("least per kg", *(f"{min(row['per_kg'] for row in each[way]):.2f}" for way in ways))
        out.append(result)
    plt = pyplot()
    figure, axes = plt.subplots(
        1,
        len(rates),
        figsize=(5.2 * len(rates), 5.6),
        squeeze=False,
        subplot_kw={"projection": "polar"},
        constrained_layout=True,
    )
    for axis, rate in zip(axes[0], rates, strict=True):
        for colour, way in zip(_COLOURS, ways, strict=False):
            around = [*directions, directions[0]]
            impulses = [found[way, rate, d]["impulse"] for d in around]
            axis.plot([math.radians(d) for d in around], impulses, "o-", ms=3, lw=1.4, color=colour, label=way)
        axis.set_theta_zero_location("N")  # straight ahead is up, her left on the left
        axis.set_rmin(0.0)
        axis.set_title(f"{rate:g} Hz, {rows[0]['mass']:.0f} kg: largest impulse survived [N·s]", fontsize=10)
    axes[0, 0].figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return out


def report_contacts(rows: Rows, path: Path) -> list[Table]:
    """Draw the least impulse of all directions against how far soles are drawn in, for each least force, and return a table."""
    shrinks, forces = (sorted({row[key] for row in rows}) for key in ("shrink", "min_force"))
    least = {
        (s, f): min(row["impulse"] for row in rows if (row["shrink"], row["min_force"]) == (s, f))
        for s in shrinks
        for f in forces
    }
    count = len({row["direction"] for row in rows})
    title = f"impulse survived in place [N·s], the least of {count} directions, {rows[0]['mass']:.0f} kg"
    out = table(title, ("drawn in", *(f"least force {f:g} N" for f in forces)))
    for s in shrinks:
        out.add_row(f"{100 * s:g} %", *(f"{least[s, f]:.1f}" for f in forces))
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(6, 3.6), constrained_layout=True)
    for colour, f in zip(_COLOURS, forces, strict=False):
        axis.plot([100 * s for s in shrinks], [least[s, f] for s in shrinks], "o-", color=colour, label=f"{f:g} N")
    axis.set(xlabel="soles drawn in [%]", ylabel="impulse survived [N·s]", ylim=(0, None))
    axis.legend(title="least force", frameon=False)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return [out]
