"""The command ``interplay export``: its options are those of the format that the ending of OUT names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from interplay.errors import InputError
from interplay.io.export import all_formats, format_of
from interplay.io.formats.base import Format

_HELP = ("-h", "--help")


def parse_export(arguments: list[str], console: Console) -> tuple[Path, Path, dict[str, Any]] | None:
    """Return the folder, the file to write and the options of its format; None if help was asked for, which is shown.

    ``interplay export --help`` shows all formats, ``interplay export … OUT.png --help`` (or ``export .png --help``) one of them.
    """
    named = [a for a in arguments if not a.startswith("--") and any(a.lower().endswith(e) for e in all_formats())]
    if any(a in _HELP for a in arguments):
        _show_help(format_of(named[-1]) if named else None, console)
        return None
    positional = [a for a in arguments if not a.startswith("-")]
    if len(positional) < 2:
        raise InputError(
            "export: expected the folder of a run and a file to write, such as out/king king.png; see --help"
        )
    form = format_of(named[-1] if named else positional[1])
    values = _command(form).make_context("interplay export", list(arguments)).params
    given = {key: value for key, value in values.items() if value is not None}
    return Path(given.pop("folder")), Path(given.pop("out")), given


def _command(form: Format) -> click.Command:
    """Return a command with the options of a format; what they may be is for its model to judge."""
    params: list[click.Parameter] = [click.Argument(["folder"]), click.Argument(["out"])]
    for name, field in form.options.model_fields.items():
        dashed = name.replace("_", "-")
        if field.annotation is bool:
            params.append(click.Option([f"--{dashed}/--no-{dashed}", name], default=None))
        else:
            params.append(click.Option([f"--{dashed}", name]))
    return click.Command("export", params=params, add_help_option=False)


def _show_help(form: Format | None, console: Console) -> None:
    if form is None:
        console.print("Usage: [bold]interplay export DIR OUT \\[OPTIONS][/bold]\n")
        console.print("Write a recording in the format that the ending of OUT names; each has options of its own:")
        console.print("[bold]interplay export .png --help[/bold] shows those of .png.\n")
        table = Table(box=None, pad_edge=False, show_header=False)
        for kind in dict.fromkeys(all_formats().values()):
            table.add_row(f"  [cyan]{', '.join(kind.endings)}[/cyan]", kind.what)
        console.print(table)
        return
    console.print(f"Usage: [bold]interplay export DIR OUT{form.endings[0]} \\[OPTIONS][/bold]\n\n{form.what}\n")
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, field in form.options.model_fields.items():
        default = {None: "", True: "on", False: "off"}.get(field.default, str(field.default))
        note = f" [dim](default: {default})[/dim]" if default else ""
        table.add_row(
            f"  [cyan]--{name.replace('_', '-')}[/cyan]", (field.description or "").replace("[", "\\[") + note
        )
    console.print(table)
