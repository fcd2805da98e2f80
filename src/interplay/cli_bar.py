"""What long commands share: the bar that they show, and who works for them."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from interplay.errors import STOPPED

Workers = Annotated[
    str,
    typer.Option(
        metavar="N|tcp://HOST:PORT",
        help="Processes of this machine, or the address of a dask scheduler whose workers do it. Results are the same.",
    ),
]


def stopped(errors: Console) -> typer.Exit:
    """Say how to go on with the command that was interrupted, and return what ends it."""
    again = shlex.join(["interplay", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"])
    errors.print(
        f"[yellow]interrupted[/yellow]; to go on: [bold]{escape(again)}[/bold]", highlight=False, soft_wrap=True
    )
    return typer.Exit(STOPPED)


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
