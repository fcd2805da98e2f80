"""The bar that long commands show."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def progress_bar(console: Console) -> Progress:
    """Return a bar that goes away when it is done; tasks need a ``phase``."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f}"),
        TextColumn("[dim]{task.fields[phase]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
