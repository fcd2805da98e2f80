"""The command ``interplay sweep``: how hard a character may be pushed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from interplay.cli_bar import Workers, progress_bar

Out = Annotated[Path, typer.Option(help="Folder for tables and figures.")]
Ways = Annotated[
    list[str] | None,
    typer.Option(
        help="Way of keeping balance: 'steps', 'in place', 'prioritised', 'unstabilised', 'pinned' or 'joint PD'; may be "
        "repeated. By default all."
    ),
]
Rates = Annotated[list[float] | None, typer.Option(help="Plans per second; may be repeated. By default 100.")]
Directions = Annotated[int, typer.Option(help="Number of directions, evenly spaced, the first straight ahead.")]
Height = Annotated[
    float | None, typer.Option(help="Height in metres of the human, below 1.3 a child; by default 1.74, 68 kg.")
]
Body = Annotated[Path | None, typer.Option(help="Sidecar (YAML) of an MJCF or URDF body that is pushed instead.")]
Contacts = Annotated[
    bool,
    typer.Option(
        "--contacts", help="Instead of ways: feet in place, soles drawn in by 0 to 90 %, least forces to 50 N."
    ),
]


def sweep(
    out: Out = Path("out/sweep"),
    way: Ways = None,
    rate: Rates = None,
    directions: Directions = 16,
    height: Height = None,
    character: Body = None,
    contacts: Contacts = False,
    workers: Workers = "2",
) -> None:
    """Push a character on the chest from all sides, harder and harder, and say which impulses are survived."""
    from interplay.rehearsal import rehearse
    from interplay.runs.sweep import WAYS
    from interplay.runs.sweep import sweep as measure

    console, errors = Console(), Console(stderr=True)
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors) as bar:
        task = bar.add_task("sweep", total=None, phase="")
        tables = measure(
            out,
            ways=way or tuple(WAYS),
            rates=rate or (100.0,),
            directions=directions,
            height=height,
            character=character,
            contacts=contacts,
            workers=workers,
            progress=lambda done, total, phase: bar.update(task, completed=done, total=total, phase=phase),
        )
    for table in tables:
        console.print(table, markup=False)
    name = "contacts" if contacts else "pushes"
    console.print(f"written to [bold]{out}[/bold]: {name}.json, {name}.csv, {name}.png")
