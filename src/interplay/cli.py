"""The command line: parse, call, print."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interplay.cli_bar import progress_bar
from interplay.cli_compose import compose
from interplay.cli_import import import_files
from interplay.cli_learn import learn
from interplay.cli_sweep import sweep
from interplay.cli_trials import trials
from interplay.cli_tune import tune
from interplay.errors import BAD_INPUT, FAILED, STOPPED, InputError, InterplayError, settings
from interplay.qp import solvers
from interplay.startup import loaded

if TYPE_CHECKING:
    from interplay.scenario import Scenario

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
console, errors = Console(), Console(stderr=True)

Step = Annotated[float | None, typer.Option(help="Control step in seconds; by default the scenario's own.")]
Seed = Annotated[int, typer.Option(help="Seed of the random generator.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the scenario; may be repeated.")
]
World = Annotated[
    str | None,
    typer.Option(
        help="What becomes of plans: they happen as they are (direct), or what their torques lead to, under exact contact "
        "(rigid) or in MuJoCo's own contact physics (simulated)."
    ),
]
Body = Annotated[
    Path | None, typer.Option(help="Sidecar (YAML) of an MJCF or URDF body that plays instead of the scenario's own.")
]
Targets = Annotated[Path | None, typer.Option(help="CSV with timed values of live controls: time, control, values …")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from interplay import __version__

        print(f"interplay {__version__}")
        raise typer.Exit()


@app.callback()
def _begin(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Physics-based animation of characters that touch, carry, push, climb on, dodge and help each other."""


@app.command("list")
def list_scenarios(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]…", help="Scenarios to describe: parameters and live controls.")
    ] = None,
) -> None:
    """Show what can be run and which clips there are; with names, the parameters and live controls of these scenarios."""
    from interplay.catalogue import FILES, registry, scenario
    from interplay.motion.clip_file import load_clip, shipped_clips

    if names:
        for name in names:
            _describe(name, scenario(name))
        return
    shipped = {path.name: scenario(path) for path in sorted(FILES.glob("*.yaml"))}
    table = Table("scenario", "what happens", "parameters", box=None, pad_edge=False)
    for name, found in {**registry(), **shipped}.items():
        table.add_row(f"[bold]{name}[/bold]", found.summary, f"[dim]{', '.join(found.Parameters.model_fields)}[/dim]")
    console.print(table)
    console.print()
    table = Table("clip", "seconds", "what happens", box=None, pad_edge=False)
    for name in shipped_clips():
        clip = load_clip(name)
        table.add_row(f"[bold]{name}[/bold]", f"{clip.duration:.1f}", escape(clip.source))
    console.print(table)
    console.print("\n[dim]interplay list NAME describes a scenario: its parameters and live controls[/dim]")


def _describe(name: str, found: type[Scenario]) -> None:
    """Print the parameters of a scenario, and what can be moved while it runs."""
    title = f"[bold]{escape(name)}[/bold]  {escape(found.summary)}"
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False, box=None, min_width=60)
    for column in ("parameter", "default", "meaning"):
        table.add_column(column, style="dim" if column == "meaning" else None)
    for key, field in found.Parameters.model_fields.items():
        table.add_row(f"  {key}", str(field.default), escape(field.description or ""))
    for control in found().simulation().live.controls.values():
        table.add_row(f"  [cyan]{control.name}[/cyan]", "live", f"{control.help} ({control.kind}, {control.unit})")
    console.print(table)
    console.print()


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Scenario, see [bold]interplay list[/bold], or a scenario file (.yaml).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for recording, scene.xml and report.json; by default out/NAME.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Simulate exactly so many seconds; otherwise until the scenario finishes.")
    ] = None,
    dt: Step = None,
    solver: Annotated[str, typer.Option(help=f"QP solver: {', '.join(solvers.SOLVERS)}.")] = solvers.DEFAULT,
    seed: Seed = 0,
    set_: Settings = None,
    character: Body = None,
    targets: Targets = None,
    world: World = None,
    controller: Annotated[
        str | None,
        typer.Option(
            help="One program over all (integrated), one per character, in sequence (independent), one over all for each "
            "priority, in sequence (prioritised), one of wrenches alone (force), or none: joint PD to the posture (servos); "
            "by default the scenario's own."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the recording in --out.")] = False,
    on_fall: Annotated[
        str, typer.Option(help="When someone falls: stop (exit code 1), or continue with the others.")
    ] = "stop",
    substeps: Annotated[
        bool,
        typer.Option("--substeps", help="Record every step of the simulator, for a repetition in plain MuJoCo (.npz)."),
    ] = False,
) -> None:
    """Run a scenario headless. Exit code 0: finished or cut short by --seconds; 1: failed; 2: bad input; 130: interrupted.

    Ctrl-C ends it after the step under way; --resume goes on from there.
    """
    from interplay.rehearsal import rehearse
    from interplay.runs.run import INTERRUPTED
    from interplay.runs.run import run as run_scenario
    from interplay.runs.summary import summary

    out = out or Path("out") / Path(name).stem
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors) as bar:
        task = bar.add_task(name, total=seconds, phase="")

        def show(now: float, _: float | None, phase: str) -> None:
            bar.update(task, completed=now, phase=phase)

        report = run_scenario(
            name,
            out,
            seconds=seconds,
            dt=dt,
            solver=solver,
            seed=seed,
            parameters=settings("--set", set_ or []),
            character=character,
            targets=targets,
            world=world,
            controller=controller,
            resume=resume,
            on_fall=on_fall,
            substeps=substeps,
            progress=show,
        )
    console.print(summary(report))
    console.print(f"written to [bold]{out}[/bold]: recording, scene.xml, report.json")
    if report["failure"] == INTERRUPTED:
        until = ["--seconds", f"{seconds:.12g}"] if seconds else []
        again = ["interplay", "run", name, "--out", str(out), *until, "--resume"]
        errors.print(
            f"[yellow]interrupted[/yellow] at {report['end']:g} s; to go on: [bold]{escape(shlex.join(again))}[/bold]",
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(STOPPED)
    if report["failure"]:
        errors.print(f"[red]failed:[/red] {escape(report['failure'])}", soft_wrap=True)
        raise typer.Exit(FAILED)


@app.command()
def play(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.yaml|DIR",
            help="Scenario (see [bold]interplay list[/bold]), scenario file, or folder of a run to play back.",
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: a free one.")] = 8080,
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve. Anything but 127.0.0.1 lets others on your network watch and take control."
        ),
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    dt: Step = None,
    seed: Seed = 0,
    set_: Settings = None,
    character: Body = None,
    world: World = None,
) -> None:
    """Open the stage in your browser: play, pause and scrub, drag targets, grab and push bodies, see forces and plots.

    Several browsers may watch at once; one of them holds control. Ctrl-C closes the stage.
    """
    from interplay.stage.play import play as open_stage

    with console.status(f"setting up {escape(name)}") as status:

        def tell(line: str) -> None:
            status.stop()
            console.print(escape(line), style="yellow" if line.startswith("warning") else None, soft_wrap=True)

        open_stage(
            name,
            host=host,
            port=port,
            browser=not no_open,
            tell=tell,
            parameters=settings("--set", set_ or []),
            dt=dt,
            seed=seed,
            character=str(character) if character is not None else None,
            world=world,
        )


@app.command()
def check(
    file: Annotated[Path | None, typer.Argument(help="Scenario file (YAML).")] = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON schema of scenario files, for editors.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Print the surfaces, bodies, joints and shapes that the models have.")
    ] = False,
) -> None:
    """Report every problem of a scenario file with its line. Exit code 0: it can be run; 2: it cannot."""
    import json

    from interplay.catalogue import check as problems_of
    from interplay.catalogue import names_in
    from interplay.script.schema import json_schema as schema

    if json_schema:
        print(json.dumps(schema(), indent=1, ensure_ascii=False))
        return
    if file is None:
        raise InputError("check: expected a scenario file, or --json-schema")
    if names:
        _print_names(names_in(file))
        return
    problems = problems_of(file)
    for problem in problems:
        level = "[yellow]warning:[/yellow] " if problem.warning else ""
        place = f"{file}:{problem.line}:"
        console.print(f"{escape(place)} {level}{escape(problem.message)}", highlight=False, soft_wrap=True)
    wrong = sum(not p.warning for p in problems)
    if wrong:
        errors.print(f"[red]{wrong} problem{'s' if wrong > 1 else ''}[/red]", highlight=False)
        raise typer.Exit(BAD_INPUT)
    console.print(f"[green]{escape(str(file))} can be run[/green]", highlight=False, soft_wrap=True)


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
    short_help="Write a recording as a film, armatures, a page, arrays, …",
)
def export(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Write a recording in the format that the ending of OUT names; each has its own options."""
    from interplay.cli_export import parse_export
    from interplay.io.export import export as export_recording

    wanted = parse_export(arguments or [], console)
    if wanted is None:
        return
    folder, out, options = wanted

    def warn(line: str) -> None:
        errors.print(f"[yellow]warning:[/yellow] {line}", highlight=False, soft_wrap=True)

    with progress_bar(errors) as bar:
        task = bar.add_task(f"writing {out.name}", total=1.0, phase="")
        written = export_recording(folder, out, warn, lambda done: bar.update(task, completed=done), **options)
    for file in written:
        console.print(f"written: [bold]{file}[/bold] ({file.stat().st_size / 1e6:.2f} MB)")


app.command("import")(import_files)
app.command()(compose)
app.command()(sweep)
app.command()(trials)
app.command()(tune)
app.command()(learn)


@app.command()
def sidecar(
    file: Annotated[Path, typer.Argument(help="MJCF or URDF file of a body.")],
    out: Annotated[Path | None, typer.Option(help="File to write; by default FILE with the ending .yaml.")] = None,
    root: Annotated[str | None, typer.Option(help="Root body, where the guess would be wrong.")] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=DIR", help="Folder of the package:// addresses of a package; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a sidecar that exists.")] = False,
) -> None:
    """Write a first sidecar for a body: remedies, root, soles, palms, grips, posture and limits, each guess marked as one."""
    from interplay.models.guess import guess_sidecar
    from interplay.models.loader import BodyFile

    target = out or file.with_suffix(".yaml")
    if target.exists() and not force:
        raise InputError(f"{str(target)!r} exists; use --force to overwrite it")
    text = guess_sidecar(file, root, beside=target.parent, packages=settings("--package", package or []))
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r}: {error.strerror or error}") from None
    body = BodyFile(target)
    legs = "left_sole" in body.sidecar.surfaces
    then = (
        f"then: interplay run stand --character {target} --out DIR"
        if legs
        else "it has no legs and is fixed where it is placed"
    )
    console.print(
        f"written: [bold]{target}[/bold]; {body.height:.2f} m, {body.mass:.1f} kg, "
        f"{text.count('# guess')} guesses to check; {then}",
        soft_wrap=True,
    )


@app.command()
def compare(
    name: Annotated[str, typer.Argument(help="Scenario; see [bold]interplay list[/bold].")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the two runs, tables and figure; by default out/compare/NAME.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Simulate exactly so many seconds; otherwise until the integrated run finishes."),
    ] = None,
    dt: Step = None,
    seed: Seed = 0,
    set_: Settings = None,
    targets: Targets = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Compare the direct with the simulated world.")] = False,
) -> None:
    """Run a scenario with one program over all and with one per character, and say how well each does what is asked."""
    from interplay.rehearsal import rehearse
    from interplay.runs.compare import compare as compare_controllers
    from interplay.runs.compare_worlds import compare_worlds

    out = out or Path("out/compare") / Path(name).stem
    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors) as bar:
        task = bar.add_task(name, total=seconds, phase="")
        tables = (compare_worlds if worlds else compare_controllers)(
            name,
            out,
            parameters=settings("--set", set_ or []),
            targets=targets,
            seconds=seconds,
            dt=dt,
            seed=seed,
            progress=lambda which, now: bar.update(task, completed=now, phase=which),
        )
    console.print(*tables, markup=False)
    written = "worlds.json, worlds.md" if worlds else "compare.json, compare.md, compare.png"
    console.print(f"written to [bold]{out}[/bold]: {written}")


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Scenarios, NAME or NAME:key=value,…; by default all, and rings of growing size."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("out/bench"),
    steps: Annotated[
        int | None, typer.Option(help="Timed steps of each; by default its whole script, all phases.")
    ] = None,
    problems: Annotated[
        int, typer.Option(help="Problems, over all, on which the default solver is checked against PIQP at 1e-9.")
    ] = 1000,
    solver: Annotated[
        list[str] | None, typer.Option(help="Solvers timed on the same problems; may be repeated. By default all.")
    ] = None,
) -> None:
    """Measure whole control steps, the solvers on the same problems, and whether they agree."""
    from interplay.rehearsal import rehearse
    from interplay.runs.bench import bench as measure

    rehearse()  # with a bar of its own, if it takes long
    with progress_bar(errors) as bar:
        task = bar.add_task("bench", total=None, phase="")

        def show(done: int, total: int, phase: str) -> None:
            bar.update(task, completed=done, total=total, phase=phase)

        chosen = solver or list(solvers.SOLVERS)
        tables = measure(names or None, out, steps=steps, problems=problems, solvers=chosen, progress=show)
    console.print(*tables, markup=False)
    console.print(f"written to [bold]{out}[/bold]: bench.md, bench.json and figures")


def _print_names(models: dict[str, dict[str, list[str]]]) -> None:
    """Print what each model has, as names that a file can use."""
    for model, kinds in models.items():
        console.print(f"[bold]{escape(model)}/[/bold]", highlight=False)
        for kind, names in kinds.items():
            if names:
                console.print(f"  [dim]{kind}:[/dim] {escape(', '.join(names))}", highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; our own errors are one line, without a traceback."""
    loaded()
    try:
        sys.exit(app(standalone_mode=False) or 0)  # click returns the code of typer.Exit here
    except InputError as error:
        errors.print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(BAD_INPUT)
    except InterplayError as error:
        errors.print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(FAILED)
    except (typer.Abort, KeyboardInterrupt):
        errors.print("[yellow]interrupted[/yellow]", highlight=False)
        sys.exit(STOPPED)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's usage errors
            errors.print(f"[red]error:[/red] {escape(error.format_message())}", highlight=False, soft_wrap=True)  # type: ignore[attr-defined]
            sys.exit(BAD_INPUT)
        raise
