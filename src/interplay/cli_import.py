"""The command ``interplay import``: captured motion into a folder that plays and exports like a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from interplay.cli_bar import progress_bar
from interplay.errors import InputError

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="BVH files; several are persons in one common frame.")
]
Out = Annotated[Path, typer.Option(help="Folder for recording, scene.xml, motion.clip, contacts.csv and parts.yaml.")]
Characters = Annotated[
    list[Path] | None, typer.Option(help="Sidecar (YAML) of a body that plays a file; in the order of files.")
]
Heights = Annotated[
    list[float] | None,
    typer.Option(help="Height in metres of the human who plays a file, in the order of files; below 1.3 a child."),
]
Map = Annotated[
    Path | None, typer.Option("--map", help="Table (YAML) of parts and joints, such as parts.yaml, edited.")
]
Contacts = Annotated[Path | None, typer.Option(help="Contacts (CSV) to keep, such as contacts.csv, edited.")]
Unit = Annotated[float | None, typer.Option(help="Length of one unit of the files in metres; by default guessed.")]
Up = Annotated[str | None, typer.Option(help="Axis of the files that points up: x, y or z; by default guessed.")]
Fps = Annotated[float | None, typer.Option(help="Frames per second of the clip; by default those of the files.")]


def import_files(
    files: Files,
    out: Out,
    character: Characters = None,
    height: Heights = None,
    map_: Map = None,
    contacts: Contacts = None,
    unit: Unit = None,
    up: Up = None,
    fps: Fps = None,
) -> None:
    """Bring captured motion (BVH) to our characters: feet stand, hands that touch meet, joints stay in range.

    What was guessed is said. To correct it, edit parts.yaml or contacts.csv in the folder, and import again with them.
    """
    from interplay.io.clips.importing import body_of_height, write_import
    from interplay.io.clips.importing import import_files as read_files
    from interplay.io.clips.names import read_table
    from interplay.models.loader import BodyFile
    from interplay.motion.clip_file import read_touches

    if character and height:
        raise InputError("import: expected --character or --height, not both")
    bodies = [BodyFile(path) for path in character or []] or [body_of_height(h) for h in height or []]
    console, errors = Console(), Console(stderr=True)
    with progress_bar(errors) as bar:
        task = bar.add_task("retargeting", total=1.0, phase="")
        found = read_files(
            files,
            bodies,
            table=read_table(map_) if map_ else None,
            unit=unit,
            up=up,
            fps=fps,
            contacts=read_touches(contacts) if contacts else None,
            progress=lambda done: bar.update(task, completed=done),
        )
        write_import(out, found)
    for name, capture in zip(found.clip.motions, found.captures, strict=True):
        console.print(f"{escape(capture.name)} is {name}: {'; '.join(capture.said)}", highlight=False, soft_wrap=True)
    feet = sum(t.second == "ground" for t in found.clip.touches)
    console.print(f"contacts: {feet} of feet with the ground", highlight=False)
    for touch in found.clip.touches:
        if touch.second != "ground":
            console.print(
                f"  {touch.first} – {touch.second}, {touch.begin:.2f} s to {touch.end:.2f} s", highlight=False
            )
    q = found.quality
    deep = f"{q.overlap.depth * 1e3:.1f} mm ({q.overlap.pair})" if q.overlap else "none"
    console.print(
        f"skate {q.skate * 1e3:.1f} mm, gap of what touches {q.gap * 1e3:.1f} mm, joints {q.error * 1e3:.0f} mm from the "
        f"capture in the body's proportions on the mean, deepest overlap {deep}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(f"written to [bold]{escape(str(out))}[/bold]: plays and exports like a recording", soft_wrap=True)
