"""What long commands share: the bar that they show, and who works for them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Workers = Annotated[
    str,
    typer.Option(
        metavar="N|tcp://HOST:PORT",
        help="Processes of this machine, or the address of a dask scheduler whose workers do it. Results are the same.",
    ),
]


def progress_bar(console: Console, counted: str = "{task.completed:.1f}") -> Progress:
    """Return a bar that goes away when it is done; tasks need a ``phase``; ``counted``: how it says how far it is."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(counted),
        TextColumn("[dim]{task.fields[phase]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
