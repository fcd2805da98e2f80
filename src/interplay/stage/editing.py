"""The editor's process: a composed motion, changed as the holder of control asks, and written after each change."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from interplay.errors import InputError, InterplayError, number, pick, vector
from interplay.spacetime.editing import Editing
from interplay.spacetime.marks import Footprint, HandTarget
from interplay.stage.editor import Edit, Edited, Keep, Marks, MarkView, MoveMark, MoveTime, Prepare, Redo, Undo

_TELLS = 0.1  # seconds between two lines about progress


class Worker:
    """The motion, and what is done to it."""

    def __init__(self, pipe: Connection, folder: str, scratch: str):
        """Load it."""
        self._pipe, self._folder, self._scratch = pipe, folder, Path(scratch)
        self.motion = Editing(folder, self._progress)
        self._waiting: deque[Edit] = deque()
        self._written, self._doing, self._told = 0, "", 0.0
        self._said, self._refused = "", False

    def run(self) -> None:
        """Do one thing after another."""
        self._tell("getting ready")
        movable = next((mark for mark in self._marks().values() if not mark.why), None)
        if movable is not None:  # derivatives are found on disk now, not when somebody waits for them
            with contextlib.suppress(InterplayError):
                self.motion.prepare(movable)
        self._tell()
        while True:
            self._hear(wait=not self._waiting)
            command = self._waiting.popleft()
            try:
                self._refused = False
                self._do(command)
            except InterplayError as error:
                self._said, self._refused = str(error), True
            except OSError as error:
                self._said, self._refused = f"the motion cannot be written: {error}", True
            self._tell()

    def _hear(self, wait: bool) -> None:
        while wait or self._pipe.poll():
            command, wait = self._pipe.recv(), False
            if self._waiting and _replaces(command, self._waiting[-1]):
                self._waiting.pop()
            self._waiting.append(command)

    def _do(self, command: Edit) -> None:
        match command:
            case Prepare(mark):
                if not self._waiting:
                    self._tell(f"{mark}: getting ready")
                    self.motion.prepare(pick("mark", mark, self._marks()))
            case MoveMark(name, position, heading):
                mark = pick("mark", name, self._marks())
                place = vector(f"position of {name!r}", position, 3)
                self._change(name, partial(self._move, mark, place, number("heading", heading)))
            case MoveTime(name, seconds):
                mark = pick("mark", name, self._marks())
                if not isinstance(mark, Footprint):
                    raise InputError(f"{name}: a hand comes when the step lands that it belongs to")
                self._change(name, partial(self.motion.move_time, mark.who, mark.step, seconds, mark.side))
            case Undo():
                self._change("taken back", self.motion.undo)
            case Redo():
                self._change("made again", self.motion.redo)
            case Keep():
                self.motion.write(self._folder)
                self._said = f"written to {self._folder}"

    def _move(self, mark: Footprint | HandTarget, place: np.ndarray, heading: float) -> None:
        if isinstance(mark, Footprint):
            self.motion.move_footprint(mark.who, mark.step, place[:2].tolist(), heading, mark.side)
        else:
            self.motion.move_hand(mark.surface, "target", place.tolist(), mark.step)

    def _change(self, what: str, deed: Callable[[], object]) -> None:
        begin = time.perf_counter()
        self._tell(what)
        deed()
        self._written += 1
        out = self.motion.write(self._scratch / str(self._written))
        self._said = f"{what}: done in {time.perf_counter() - begin:.1f} s"
        self._pipe.send(Edited(str(out)))

    # -- what is told --------------------------------------------------------------------------------------------------

    def _marks(self) -> dict[str, Footprint | HandTarget]:
        marks: dict[str, Footprint | HandTarget] = {
            f"{mark.who}: step {mark.step}, {mark.side} foot": mark for mark in self.motion.footprints()
        }
        return marks | {f"{mark.surface}, {mark.step}": mark for mark in self.motion.hands()}

    def _progress(self, iteration: int, objective: float, violation: float, worst: str) -> None:
        if self._doing and time.perf_counter() > self._told + _TELLS:
            self._tell(self._doing, f", {iteration} iterations")

    def _tell(self, doing: str = "", more: str = "") -> None:
        self._doing, self._told = doing, time.perf_counter()
        undo, redo = self.motion.changes
        views = tuple(self._view(name, mark) for name, mark in self._marks().items())
        self._pipe.send(Marks(views, undo, redo, doing and doing + more, self._said, self._refused))

    def _view(self, name: str, mark: Footprint | HandTarget) -> MarkView:
        if isinstance(mark, HandTarget):
            return MarkView(name, "hand", mark.place, 0.0, (0.0, 0.0), mark.time, mark.why)
        scene = self.motion.performance.scene
        half = scene.model.site_size[scene.site(f"{mark.who}/{mark.side}_sole")]
        size, place = (float(half[0]), float(half[1])), (*mark.place, mark.height)
        return MarkView(name, "footprint", place, mark.heading, size, mark.lands, mark.why)


def _replaces(later: Edit, earlier: Edit) -> bool:
    """Return whether a move makes the one before it worthless."""
    if isinstance(later, MoveMark) and isinstance(earlier, MoveMark):
        return later.mark == earlier.mark
    return isinstance(later, MoveTime) and isinstance(earlier, MoveTime) and later.mark == earlier.mark
