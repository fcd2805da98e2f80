"""The record of a live performance: all its steps as a recording on disk, from which it can be exported.

It follows the performance: what is taken back there is cut off here. Whatever becomes of the disk, the performance goes on.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interplay.control.state import State
from interplay.errors import InputError, InterplayError
from interplay.io.recorder import Recorder
from interplay.io.writer import Place
from interplay.simulation import Simulation
from interplay.stage.messages import Notice
from interplay.worlds.world import Outcome

LONGEST, LARGEST = 600.0, 15_000_000
"""Seconds of a record, and joint values of all its steps together (ten minutes of three characters at 5 ms): exports hold them in
memory."""


class Record:
    """An observer that keeps all steps of a simulation, as long as there is room for them."""

    def __init__(self, sim: Simulation, header: Mapping[str, Any], tell: Callable[[Notice], None]):
        """Begin a recording with that header in a folder of its own; tell when no more is recorded, and why."""
        self._sim, self._tell = sim, tell
        self._most = min(round(LONGEST / sim.dt), LARGEST // sim.scene.model.nq)
        self._recorder: Recorder | None = None
        self._stopped, self._last = "", Place(0, 0)  # why no more is recorded; where the record stands
        try:
            self._folder = folder = Path(tempfile.mkdtemp(prefix="interplay-stage-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            sim.scene.save(folder / "scene.xml")
            self._recorder = Recorder(folder / "recording", sim, header)
        except (OSError, InterplayError) as error:
            self._stop(str(error))

    def _stop(self, why: str) -> None:
        self._stopped = f"only the first {self._last.steps * self._sim.dt:.0f} s can be downloaded: {why}"
        self._tell(Notice("warning", self._stopped))

    def __call__(self, state: State, outcome: Outcome, seconds: float) -> None:
        """Take one step."""
        if self._recorder is not None and not self._stopped:
            try:
                self._recorder(state, outcome, seconds)
            except InterplayError as error:  # which writes from time to time
                self._stop(str(error))

    def flush(self) -> Place:
        """Write what has been taken, and return where the record stands."""
        if self._recorder is None or self._stopped:
            self._sim.live.inputs.clear()
            return self._last
        try:
            self._recorder.flush()
            self._last = self._recorder.place
            if self._last.steps >= self._most:
                self._stop("longer performances are for interplay run")
        except InterplayError as error:
            self._stop(str(error))
        return self._last

    def cut(self, place: Place) -> None:
        """Take back all steps since a place, and record what comes now."""
        if self._recorder is None:
            return
        self._last = place
        try:
            self._recorder.cut(place)
            self._stopped = ""
        except InterplayError as error:
            self._stop(str(error))

    def copy(self, folder: Path) -> tuple[Path, tuple[float, float]]:
        """Copy the recording into a new folder; return that, and from when to when it lasts [s]."""
        place = self.flush()
        if not place.steps:
            raise InputError(self._stopped or "nothing has been played yet")
        folder.mkdir()
        for file in self._folder.iterdir():
            shutil.copyfile(file, folder / file.name)
        return folder, (0.0, place.steps * self._sim.dt)

    def close(self) -> None:
        """Give it up."""
        if self._recorder is not None:
            with contextlib.suppress(InterplayError):
                self._recorder.close()
            shutil.rmtree(self._folder, ignore_errors=True)
