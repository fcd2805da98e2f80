"""The command ``interplay compose``: an optimal motion, written as a recording."""

from __future__ import annotations

import signal
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from interplay.cli_bar import progress_bar
from interplay.errors import FAILED, STOPPED, InputError, settings
from interplay.models.loader import BodyFile
from interplay.spacetime.interrupting import INTERRUPTED, listening, unheard

if TYPE_CHECKING:
    from interplay.composition import Composition
    from interplay.spacetime.performing import Performance

STOPPING = "interrupted: the best there is will be written; Ctrl-C again ends at once"

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


Character = Annotated[
    Path | None,
    typer.Option(help="Sidecar (YAML) of an MJCF or URDF body that walks, runs or jumps instead of the usual one."),
]


def compose(name: Name = None, out: Out = None, set_: Settings = None, character: Character = None) -> None:
    """Find a motion of least effort that obeys physics: gaits from nothing but a speed (liu2006).

    Exit code 0: solved; 1: not solved, and what is not met is named; 2: bad input; 130: interrupted. Ctrl-C writes the best there is by then,
    which plays, and says what of it does not hold yet; a second one ends at once, and writes nothing.
    """
    console, errors = Console(), Console(stderr=True)
    if name is None:
        _list(console)
        return
    with progress_bar(errors, counted="iteration {task.completed:.0f}") as bar:
        task = bar.add_task(f"[bold]{escape(Path(name).stem)}[/bold]", total=None, phase="loading")
        stopping = False

        def heard() -> None:
            nonlocal stopping
            stopping = True
            bar.update(task, phase=STOPPING)
            errors.show_cursor()

        def show(iteration: int, objective: float, violation: float, worst: str) -> None:
            what = f"effort {objective:.4g}, violated by {violation:.1e}" + (f": {escape(worst)}" if worst else "")
            bar.update(task, completed=iteration, phase=STOPPING if stopping else what)

        with listening(heard, then=signal.SIG_DFL):
            body = None if character is None else BodyFile(character)
            chosen = _kind(name)(settings("--set", set_ or []), body)
            out = out or Path("out") / chosen.name
            found = chosen.compose(show)
            with unheard():
                found.write(out, chosen.p.model_dump(mode="json"))
    _tell(console, found)
    console.print(f"written to [bold]{escape(str(out))}[/bold]: plays and exports like a recording", soft_wrap=True)
    if found.solutions[-1].status == INTERRUPTED:
        raise typer.Exit(STOPPED)
    if not found.solved:
        raise typer.Exit(FAILED)


def _compositions() -> Any:
    """Return what is composed with; it needs CasADi."""
    try:
        return import_module("interplay.compositions")
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise InputError("compose: CasADi is missing; install it with: pip install 'interplay[spacetime]'") from None


def _kind(name: str) -> type[Composition]:
    """Return a composition by name, or of a file."""
    found = _compositions()
    if not name.endswith((".yaml", ".yml")):
        return found.composition(name)
    from interplay.script.composing import load_composition

    return load_composition(Path(name))


def _list(console: Console) -> None:
    """Show all compositions with their parameters."""
    for key, found in _compositions().compositions().items():
        console.print(f"[bold]{key}[/bold]: {found.summary}", highlight=False)
        for field, value in found.Parameters.model_fields.items():
            console.print(f"    {field} = {value.default}: {escape(value.description or '')}", highlight=False)


def _tell(console: Console, found: Performance) -> None:
    """Say how it ended, and what it is worth."""
    last = found.solutions[-1]
    if not last.solved:
        worst = f": {escape(', '.join(last.worst))}" if last.worst else ""
        off = f"violated by {last.violation:.1e}{worst}"
        off = off if isfinite(last.violation) else "nothing had been solved: this is what it would have begun with"
        console.print(f"[yellow]not solved[/yellow] ({last.status}): {off}", highlight=False, soft_wrap=True)
    for who, failing in found.failures.items():
        told = f"[yellow]not sound[/yellow]: {escape(who)}: {'; '.join(failing)}"
        console.print(told, highlight=False, soft_wrap=True)
    for who, worth in found.worth.items():
        console.print(
            f"{escape(who)}: force on the root that nothing gives {100 * worth.root_mean:.2f} % of the weight on the mean, "
            f"{100 * worth.root_worst:.1f} % at worst; feet slip {1e3 * worth.slip:.2f} mm; torques {worth.torque_ratio:.2f} of their "
            f"limits; deepest overlap {1e3 * worth.depth:.1f} mm; {worth.peak_force:.2f} times the weight under a foot"
            + (
                f", at worst {100 * worth.off_springs:.0f} % off what shoes give by how far they sank"
                if worth.off_springs
                else ""
            ),
            highlight=False,
            soft_wrap=True,
        )
    for name, value in found.between.items():
        console.print(f"{escape(name)}: {value:.4g}", highlight=False, soft_wrap=True)
    seconds = sum(one.seconds for one in found.solutions)
    console.print(f"{sum(one.iterations for one in found.solutions)} iterations, {seconds:.1f} s", highlight=False)
