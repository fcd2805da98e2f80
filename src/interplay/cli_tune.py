"""The command ``interplay tune``: poses and durations of a skill by CMA-ES, for any body, and how it does from fresh starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from interplay.cli_bar import Workers, progress_bar, stopped

Skill = Annotated[str, typer.Argument(help="A skill of key poses by its name, such as roll_over, or its file (.yaml).")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for SKILL.yaml, report.json, tuning.jsonl; by default out/tune/SKILL.")
]
Character = Annotated[
    Path | None,
    typer.Option(help="Sidecar (YAML) of an MJCF or URDF body whose skill it is to be.", show_default=False),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="What the human is like: height, mass, sex, head_scale, leg_scale, strength, joints; may be repeated.",
    ),
]
Evaluations = Annotated[int, typer.Option(help="How many candidates are tried; 0: the skill is only measured.")]
Noise = Annotated[float, typer.Option(help="Noise of the starts by which it is tuned: 0.5 rad on joints at noise 1.")]
Sigma = Annotated[float, typer.Option(help="How far candidates are from the first guess at first, in rad.")]
Batch = Annotated[int, typer.Option(help="From how many starts of the pool each candidate is tried.")]
Fresh = Annotated[
    int, typer.Option(help="From how many fresh starts (seeds from 1000 on) it is measured at each noise.")
]
Noises = Annotated[
    list[float] | None, typer.Option("--at", help="Noise of fresh starts; may be repeated. By default 0.1, 0.3, 0.5.")
]
Then = Annotated[
    list[str] | None,
    typer.Option(
        help="Skill that may follow when it is measured; may be repeated. How often the last is reached is told."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the search.")]


def tune(
    skill: Skill,
    out: Out = None,
    character: Character = None,
    set_: Settings = None,
    evaluations: Evaluations = 200,
    noise: Noise = 0.5,
    sigma: Sigma = 0.12,
    batch: Batch = 6,
    fresh: Fresh = 200,
    at: Noises = None,
    then: Then = None,
    seed: Seed = 0,
    workers: Workers = "2",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the search in --out.")] = False,
) -> None:
    """Tune a skill of key poses, by default for an adult of 1.74 m and 68 kg, and measure it on fresh starts.

    [bold]interplay tune roll_over --set height=1.15[/bold] makes a child's; use it by ip.repertoire("ann", FILE).
    Ctrl-C leaves all generations that are done; --resume goes on from there.
    """
    from interplay.rehearsal import rehearse
    from interplay.runs.bodies import Body
    from interplay.runs.tune import NOISES
    from interplay.runs.tune import tune as tune_skill

    console, errors = Console(), Console(stderr=True)
    out = out or Path("out/tune") / Path(skill).stem
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors, "{task.completed:.0f}") as bar:
        task = bar.add_task(Path(skill).stem, total=None, phase="starts")
        try:
            found = tune_skill(
                skill,
                out,
                body=Body.of(character, set_ or []),
                evaluations=evaluations,
                noise=noise,
                sigma=sigma,
                seed=seed,
                batch=batch,
                fresh=fresh,
                noises=at or NOISES,
                then=then or (),
                workers=workers,
                resume=resume,
                progress=lambda done, total, what: bar.update(task, completed=done, total=total, phase=what),
            )
        except KeyboardInterrupt:
            bar.stop()
            raise stopped(errors) from None
    if found.rows:
        table = Table(box=None, pad_edge=False)
        shown = [column for column in found.rows[0] if column not in ("body", "draws")]
        for column in shown:
            table.add_column(column, no_wrap=True)
        for row in found.rows:
            values = (row[column] for column in shown)
            table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values))
        console.print(found.rows[0]["body"], highlight=False, markup=False)
        console.print(table)
    console.print(f"written to [bold]{out}[/bold]: {found.file.name + ', ' if evaluations else ''}report.json")
