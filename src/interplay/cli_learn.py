"""The command ``interplay learn``: from which states a skill succeeds, by machines that learn from samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interplay.cli_bar import Workers, progress_bar, stopped
from interplay.cli_tune import Character, Settings

Skill = Annotated[str, typer.Argument(help="Any skill by its name, such as balance, or a file of key poses (.yaml).")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for SKILL.npz, samples.npz, report.json; by default out/learn/SKILL.", show_default=False
    ),
]
Train = Annotated[int, typer.Option(help="Samples to learn from.")]
Test = Annotated[int, typer.Option(help="Other samples, to judge by.")]
Push = Annotated[float, typer.Option(help="Largest impulse of the push at her pelvis, in N·s for 68 kg.")]
Offset = Annotated[float, typer.Option(help="Largest offset that servos drive a joint to meanwhile, in rad.")]


def learn(
    skill: Skill,
    out: Out = None,
    character: Character = None,
    set_: Settings = None,
    train: Train = 1000,
    test: Test = 1000,
    push: Push = 60.0,
    offset: Offset = 0.6,
    workers: Workers = "2",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the samples in --out.")] = False,
) -> None:
    """Learn from which states a skill succeeds: support vector machines, and the nearest neighbour beside them.

    Each sample is shaken for 0.3 s from where the skill can begin, then the skill acts, and succeeds or fails.
    Between 20 and 80 % should succeed: --push and --offset change that. A file of key poses uses what is learned by
    a line such as [bold]learned: roll_over.npz[/bold]. Ctrl-C leaves the samples that are made; --resume goes on.
    """
    from interplay.rehearsal import rehearse
    from interplay.runs.bodies import Body
    from interplay.runs.learn import FEWEST, SOME
    from interplay.runs.learn import learn as learn_skill

    console, errors = Console(), Console(stderr=True)
    out = out or Path("out/learn") / Path(skill).stem
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors, "{task.completed:.0f}") as bar:
        task = bar.add_task(Path(skill).stem, total=None, phase="samples")
        try:
            found = learn_skill(
                skill,
                out,
                body=Body.of(character, set_ or []),
                train=train,
                test=test,
                push=push,
                offset=offset,
                workers=workers,
                resume=resume,
                progress=lambda done, total, what: bar.update(task, completed=done, total=total, phase=what),
            )
        except KeyboardInterrupt:
            bar.stop()
            raise stopped(errors) from None
    told = found.told
    console.print(
        f"{told['skill']}, {escape(told['body'])}: {train} samples to learn from, {test} to judge by, "
        f"{100 * told['positive']:.1f} % succeed",
        highlight=False,
    )
    table = Table("machine", "accuracy", "balanced", "training", "vectors", box=None, pad_edge=False)
    for row in found.rows:
        seconds = f"{row['training_seconds']:.2f} s" if "training_seconds" in row else ""
        chosen = "[bold]" if row["machine"] == told["best"] else ""
        table.add_row(
            f"{chosen}{row['machine']}",
            f"{100 * row['accuracy']:.1f} %",
            f"{100 * row['balanced']:.1f} %",
            seconds,
            str(row["vectors"]),
        )
    console.print(table)
    if not FEWEST <= told["positive"] <= SOME:
        errors.print(
            f"[yellow]few to learn from:[/yellow] {100 * FEWEST:.0f} to {100 * SOME:.0f} % should succeed; "
            "--push and --offset change that"
        )
    console.print(f"written to [bold]{out}[/bold]: {found.file.name} ({told['best']}), samples.npz, report.json")
