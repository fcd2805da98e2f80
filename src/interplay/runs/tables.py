"""Tables for the terminal and for Markdown, and the plotting library without a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text


def table(title: str, columns: Sequence[str]) -> Table:
    """Return an empty table; the first column is on the left, numbers are on the right. Print it without markup: units stand in [ ]."""
    out = Table(title=Text(title))
    for k, column in enumerate(columns):
        out.add_column(column, justify="left" if k == 0 else "right", no_wrap=k == 0)
    return out


def markdown(table: Table) -> str:
    """Return a table as Markdown, its title above it."""
    rows = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    head = [str(column.header) for column in table.columns]
    lines = [f"**{table.title}**", "", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing into files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
