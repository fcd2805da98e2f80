"""The command ``interplay compose``: an optimal motion, written as a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from interplay.cli_bar import progress_bar
from interplay.errors import InputError, settings

Name = Annotated[
    str | None,
    typer.Argument(help="Composition, or a file of one (.yaml); without one, all are listed with their parameters."),
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for recording, scene.xml, motion.clip and report.json; by default out/NAME.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the composition; may be repeated.")
]


def compose(name: Name = None, out: Out = None, set_: Settings = None) -> None:
    """Find a motion of least effort that obeys physics: gaits from nothing but a speed (liu2006).

    An interrupt (Ctrl-C) keeps the best motion found so far, and says what of it does not hold yet.
    """
    console, errors = Console(), Console(stderr=True)
    try:
        from interplay.compositions import composition, compositions
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise InputError("compose: CasADi is missing; install it with: pip install 'interplay[spacetime]'") from None
    if name is None:
        for key, found in compositions().items():
            console.print(f"[bold]{key}[/bold]: {found.summary}", highlight=False)
            for field, value in found.Parameters.model_fields.items():
                console.print(f"    {field} = {value.default}: {escape(value.description or '')}", highlight=False)
        return
    if name.endswith((".yaml", ".yml")):
        from interplay.script.composing import load_composition

        kind = load_composition(Path(name))
    else:
        kind = composition(name)
    chosen = kind(settings("--set", set_ or []))
    out = out or Path("out") / chosen.name
    with progress_bar(errors) as bar:
        task = bar.add_task(f"[bold]{chosen.name}[/bold]", total=None, phase="")

        def show(iteration: int, objective: float, violation: float, worst: str) -> None:
            what = f"effort {objective:.4g}, violated by {violation:.1e}" + (f": {worst}" if worst else "")
            bar.update(task, completed=iteration, phase=what)

        found = chosen.compose(show)
    found.write(out, chosen.p.model_dump(mode="json"))
    last = found.solutions[-1]
    if not last.solved:
        console.print(
            f"[yellow]not solved[/yellow] ({last.status}): violated by {last.violation:.1e}: {', '.join(last.worst)}",
            soft_wrap=True,
        )
    for who, worth in found.worth.items():
        console.print(
            f"{who}: force on the root that nothing gives {100 * worth.root_mean:.2f} % of the weight on the mean, "
            f"{100 * worth.root_worst:.1f} % at worst; feet slip {1e3 * worth.slip:.2f} mm; torques {worth.torque_ratio:.2f} of their "
            f"limits; deepest overlap {1e3 * worth.depth:.1f} mm; {worth.peak_force:.2f} times the weight under a foot"
            + (f", {100 * worth.off_springs:.0f} % of it off the springs of shoes" if worth.off_springs else ""),
            highlight=False,
            soft_wrap=True,
        )
    for name, value in found.between.items():
        console.print(f"{name}: {value:.4g}", highlight=False, soft_wrap=True)
    seconds = sum(one.seconds for one in found.solutions)
    console.print(f"{sum(one.iterations for one in found.solutions)} iterations, {seconds:.1f} s", highlight=False)
    console.print(f"written to [bold]{escape(str(out))}[/bold]: plays and exports like a recording", soft_wrap=True)
    if not last.solved:
        raise typer.Exit(1)
