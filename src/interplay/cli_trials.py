"""The command ``interplay trials``: a scenario from many seeds, and who stands at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from interplay.cli_bar import Workers, progress_bar
from interplay.errors import settings

Name = Annotated[str, typer.Argument(help="Scenario, see [bold]interplay list[/bold], or a scenario file (.yaml).")]
Out = Annotated[Path | None, typer.Option(help="Folder for trials.json and trials.csv; by default out/trials/NAME.")]
Seeds = Annotated[str, typer.Option(metavar="FIRST:END", help="Seeds, the end not among them; or one.")]
Seconds = Annotated[float, typer.Option(help="Simulated seconds of each seed.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the scenario; may be repeated.")
]
Controller = Annotated[
    str | None,
    typer.Option(
        help="integrated, independent, prioritised, force, or servos: joint PD alone; by default the scenario's own."
    ),
]
World = Annotated[str | None, typer.Option(help="direct, rigid or simulated; by default the scenario's own.")]


def trials(
    name: Name,
    out: Out = None,
    seeds: Seeds = "0:10",
    seconds: Seconds = 20.0,
    set_: Settings = None,
    controller: Controller = None,
    world: World = None,
    workers: Workers = "2",
) -> None:
    """Play a scenario from many seeds and count who stands: nobody falls, nothing fails, and no centre of mass has sunk.

    One line for each seed: that it stands, or how it fell in the simulation's own words.
    """
    from interplay.rehearsal import rehearse
    from interplay.runs.trials import trials as play_all

    console, errors = Console(), Console(stderr=True)
    out = out or Path("out/trials") / Path(name).stem
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors) as bar:
        task = bar.add_task(name, total=None, phase="")
        found = play_all(
            name,
            out,
            seeds=seeds,
            seconds=seconds,
            parameters=settings("--set", set_ or []),
            controller=controller,
            world=world,
            workers=workers,
            progress=lambda done, total, phase: bar.update(task, completed=done, total=total, phase=phase),
        )
    for trial in found:
        what = "stands" if trial.stands else escape(trial.fell)
        console.print(f"seed {trial.seed}: {what}", highlight=False, soft_wrap=True)
    stand = sum(trial.stands for trial in found)
    console.print(f"{stand} of {len(found)} stand after {seconds:g} s ({100 * stand / len(found):.0f} %)")
    console.print(f"written to [bold]{out}[/bold]: trials.json, trials.csv")
