"""The editor: a composed motion that is edited in a process of its own, so that stage and playback go on meanwhile.

What is asked for while something is solved waits; of several moves of one mark in a row only the last is made.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from interplay.errors import InputError, InterplayError
from interplay.stage.messages import Notice


class MarkView(NamedTuple):
    """Something of a composed motion that can be moved: a footprint, or a hand's target."""

    name: str
    kind: str
    """footprint or hand."""
    position: tuple[float, float, float]
    heading: float
    """Of a footprint [rad]."""
    size: tuple[float, float]
    """Half length and half width of a footprint [m]."""
    time: float
    """When the foot lands, or the hand is there [s]."""
    why: str
    """Why it cannot be moved; empty: it can."""


class Marks(NamedTuple):
    """All that can be moved of a composed motion, and how editing goes: sent whenever that changes."""

    marks: tuple[MarkView, ...]
    undo: int
    """How many changes can be taken back."""
    redo: int
    doing: str
    """What is being solved; empty: nothing is."""
    said: str
    """What came of the last change."""
    refused: bool = False
    """Whether that was refused."""


class Prepare(NamedTuple):
    """A mark has been grabbed: what is around it may be solved as it is, so that moving it takes less."""

    mark: str


class MoveMark(NamedTuple):
    """Put a mark elsewhere; ``heading`` [rad] is that of a footprint."""

    mark: str
    position: tuple[float, float, float]
    heading: float = 0.0


class MoveTime(NamedTuple):
    """Let a foot land at another time [s]."""

    mark: str
    time: float


class Undo(NamedTuple):
    """Take the last change of a composed motion back."""


class Redo(NamedTuple):
    """Make it again."""


class Keep(NamedTuple):
    """Write a composed motion as it is now into its own folder."""


Edit = Prepare | MoveMark | MoveTime | Undo | Redo | Keep


class Edited(NamedTuple):
    """The motion has changed: the folder in which it is."""

    folder: str


class Editor:
    """The stage's end: starts the process, passes on what is asked for, and hears what came of it."""

    def __init__(self, folder: str | Path):
        """Begin to load a composed motion."""
        context = multiprocessing.get_context("spawn")
        self._scratch = tempfile.TemporaryDirectory(prefix="interplay-edit-", ignore_cleanup_errors=True)
        self._pipe, theirs = context.Pipe()
        args = (theirs, str(folder), self._scratch.name)
        self._process = context.Process(target=edit, args=args, name="interplay editor", daemon=True)
        self._process.start()
        theirs.close()
        self._broken = False

    def ask(self, command: Edit) -> None:
        """Ask for a change, without waiting."""
        if self._broken:
            raise InputError("the editor has ended: play the motion anew to edit it")
        with contextlib.suppress(OSError):
            self._pipe.send(command)

    def heard(self) -> list[Edited | Marks | Notice]:
        """Return what has been said since the last time."""
        out: list[Edited | Marks | Notice] = []
        if self._broken:
            return out
        try:
            while self._pipe.poll():
                out.append(self._pipe.recv())
        except (EOFError, OSError):
            self._broken = True
            self._process.join(1.0)
            out.append(Notice("error", f"the editor has ended unexpectedly (exit code {self._process.exitcode})"))
        return out

    def close(self) -> None:
        """End the process, and clear away what it has written."""
        self._broken = True
        self._process.terminate()
        self._process.join()
        self._pipe.close()
        self._scratch.cleanup()


def edit(pipe: Connection, folder: str, scratch: str) -> None:
    """Load a composed motion, and make changes until nobody asks for any: the main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stage hears Ctrl-C too, and ends us
    with contextlib.suppress(OSError, EOFError):  # nobody is there any more
        try:
            from interplay.stage.editing import Worker

            Worker(pipe, folder, scratch).run()
        except ModuleNotFoundError as error:
            if error.name != "casadi":
                raise
            pipe.send(Notice("info", "to edit this motion takes CasADi: pip install 'interplay[spacetime]'"))
        except InterplayError as error:
            pipe.send(Notice("warning", f"this motion cannot be edited: {error}"))
        pipe.recv()  # the stage hears that we have ended only as an error
