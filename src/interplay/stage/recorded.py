"""A recorded act: a recording that is played and scrubbed.

States and forces come from the recording; objectives, pairs and controls from its scenario, which is built again and led
through the recorded states. Any moment can be shown at once; nothing is computed ahead.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from interplay.catalogue import built_in
from interplay.constraints.collision import ActivePairs
from interplay.constraints.collision_set import Pair
from interplay.errors import InputError, InterplayError
from interplay.io.grips import recorded_grips
from interplay.io.recording import Recording
from interplay.io.replay import Replay
from interplay.models.loader import BodyFile
from interplay.scenario import Scenario
from interplay.scene.kinematics import Kinematics
from interplay.scene.saved import assets_beside
from interplay.script.reader import parse
from interplay.script.scenario import made_from
from interplay.simulation import Simulation
from interplay.stage.messages import Moment, Notice, Opening
from interplay.stage.moment import MomentMaker, Status, control_values, objective_views, pull_view
from interplay.worlds.world import Touches

COMPOSED = "motion.problem"
"""What lies beside the recording of a composed motion, which can be edited."""
_MISSING = "objectives, collision pairs and controls are not shown"


class Twin:
    """The scenario of a recording, built again: it follows the recorded states, and tells what was asked for then."""

    def __init__(self, recording: Recording):
        """Build the scenario from the recording's header; an error says why that cannot be."""
        head = recording.header
        character = head.get("character")
        chosen = _scenario(recording)(head["parameters"], BodyFile(character) if character else None)
        options = [head["solver"], head["seed"], head["world"], head.get("controller", "integrated")]
        self.sim = chosen.simulation(head["dt"], *options)
        if self.sim.scene.xml != recording.scene_path.read_text():
            raise InputError(f"{head['scenario']!r} builds another scene now than the recording's")
        self._recording, self._first = recording, self.sim.checkpoint()
        self._next = -1  # the step it has not gone through yet

    def go_to(self, index: int, act: RecordedAct) -> Simulation | None:
        """Return the simulation at a recorded step; None in a block before which something is missing."""
        run = self._recording
        block = bisect_right(run.starts, index) - 1
        if not run.continues[block]:
            self._next = -1
            return None
        if not run.starts[block] <= self._next <= index + 1:
            self.sim.restore(act.block(block - 1)[1] if block else self._first)
            self._next = run.starts[block]
            begin = self.sim.time
            self.sim.live.targets = [t for t in run.inputs if t.time > begin - 1e-9]
        while self._next <= index:
            t, arrays = self._next - run.starts[block], act.block(block)[0]
            wrench = dict(zip(run.contacts, arrays["wrench"][t], strict=True))
            touches = Touches(np.array(run.touched, np.int64).reshape(-1, 2), arrays["touch_force"][t])
            self.sim.retrace(float(arrays["time"][t]), arrays["qpos"][t], arrays["qvel"][t], wrench, touches)
            label, phase = self.sim.behaviour.label if self.sim.behaviour else "", run.phases[self._next]
            if label != phase:
                raise InputError(f"at {self.sim.time:.3f} s it is in {label!r}, the recording in {phase!r}")
            self._next += 1
        self.sim.live.inputs.clear()
        return self.sim


def _scenario(recording: Recording) -> type[Scenario]:
    """Return the scenario of a recording: a built-in one, or one from the text of its file, which the recording holds."""
    name, sources = recording.header["scenario"], recording.header.get("sources")
    if not sources:
        return built_in(name)
    return made_from(parse(sources[0], name), recording.path.parent / name, built_in)


class RecordedAct:
    """A recording that is played and scrubbed."""

    live = True

    def __init__(self, title: str, folder: str | Path):
        """Open a recording; what follows from its scenario comes a little later."""
        self._take(folder)
        run = self.recording
        text = run.scene_path.read_text()
        self.opening = Opening(
            scenario=title,
            parameters=dict(run.header["parameters"]),
            dt=self.dt,
            xml=text,
            assets=assets_beside(run.scene_path),
            models=self._maker.models,
            phases=tuple(dict.fromkeys(self._order)),
            interactive=(),
            controls=(),
            camera=run.camera,
            recorded=True,
            duration=float(self._time[-1]),
            composed=str(run.path.parent) if (run.path.parent / COMPOSED).is_file() else "",
        )
        self.notices: deque[Notice] = deque(Notice("warning", f"of this recording, {gap}") for gap in run.missing)
        self._index, self._shown = 0, 0
        self._twin: Twin | None = None
        self._building = Thread(target=self._build, daemon=True)
        self._building.start()

    def _take(self, folder: str | Path) -> None:
        """Play what is in a folder, from where it is shown."""
        self.recording = run = Recording(folder)
        self._replay, self._maker, self._grips = Replay(run), MomentMaker(run.model), recorded_grips(run)
        self._time, self.dt = run["time"], float(run.header["dt"])
        phases = [(name, len(list(steps))) for name, steps in groupby(run.phases)]
        self._changes = np.cumsum([count for _, count in phases]).tolist()
        self._order = [name for name, _ in phases]
        self._relaxed = {k: [f"{kind}: {name}" for kind, name, *_ in found] for k, found in run.conflicts}
        self._blocks: dict[int, tuple[dict[str, np.ndarray], dict[str, Any]]] = {}

    def swap(self, folder: str | Path) -> None:
        """Play what has become of this motion, of the same scene, from the moment that is shown."""
        shown, before = self.time, self.recording.scene_path.read_text()
        if (Path(folder) / "scene.xml").read_text() != before:
            raise InputError(f"{str(folder)!r} holds a motion of another scene")
        self._take(folder)
        self.seek(shown)

    def _build(self) -> None:
        if self.recording.header.get("arrays"):
            more = "" if "wrench" in self.recording.known else "contacts, forces, "
            self.notices.append(Notice("info", f"{more}{_MISSING}: this motion was written without them"))
            return
        try:
            self._twin = Twin(self.recording)
        except (InterplayError, OSError, KeyError, ValueError) as error:
            self.notices.append(Notice("warning", f"{_MISSING}: the scenario cannot be built again: {error}"))

    def wait(self) -> None:
        """Wait until the scenario is built."""
        self._building.join()

    def block(self, k: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return a block of the recording; the last two are kept."""
        if k not in self._blocks:
            self._blocks[k] = self.recording.block(k)
            for old in [*self._blocks][:-2]:
                del self._blocks[old]
        return self._blocks[k]

    @property
    def time(self) -> float:
        """The moment that is shown [s]."""
        return float(self._time[self._index])

    @property
    def span(self) -> tuple[float, float]:
        """First and last moment [s]."""
        return float(self._time[0]), float(self._time[-1])

    @property
    def ended(self) -> str:
        """Whether its last step is shown."""
        return "finished" if self._index == len(self._time) - 1 else ""

    def take_step_ms(self) -> np.ndarray:
        """Return the milliseconds the steps took then, since the last frame."""
        took = np.asarray(self.recording["step_ms"][self._shown + 1 : self._index + 1], float)
        return took[~np.isnan(took)]

    def played(self, folder: Path) -> tuple[Path, tuple[float, float]]:
        """Return the recording's own folder, and from when to when it lasts [s]; nothing is put into the one that is offered."""
        begin, end = self.span
        return self.recording.path.parent, (begin, end + self.dt)

    def step(self) -> None:
        """Go on by one step."""
        self._index = min(self._index + 1, len(self._time) - 1)

    def resume(self) -> None:
        """Go on from here, or from the beginning if this is the end."""
        if self.ended:
            self.reset()

    def seek(self, time: float) -> None:
        """Show the step next to a time."""
        self._index = self._shown = int(np.abs(self._time - time).argmin())

    def reset(self) -> None:
        """Begin again."""
        self._index = self._shown = 0

    def frame(self, status: Status, stability: bool) -> bytes:
        """Return the frame of the step that is shown, pickled, with regions of stability if asked."""
        run, index = self.recording, self._index
        at = bisect_right(run.starts, index) - 1
        chunk, t = self.block(at)[0], index - run.starts[at]
        step = self._replay.step(chunk, t, index)
        sim = self._follow()
        where = bisect_right(self._changes, index)
        fresh = range(min(self._shown + 1, index), index + 1)
        relaxed = dict.fromkeys(name for k in fresh for name in self._relaxed.get(k, ()))
        self._shown = index
        terms = self._replay.terms
        frame = Moment(
            time=self.time,
            phase=run.phases[index],
            coming=tuple(self._order[where + 1 :]),
            qpos=chunk["qpos"][t],
            body_load=self._maker.load(step.tau),
            com=self._maker.com(terms),
            **self._maker.contacts(terms, step.touch.contacts, step.wrenches),
            grips=self._grips.at(self.time),
            **self._maker.pairs(*self._near(sim)),
            stability=self._maker.stability(terms, step.touch.contacts, status.playing) if stability else (),
            objectives=objective_views(sim.demands.objectives, sim.terms, self.time) if sim else (),
            relaxed=tuple(relaxed),
            **(control_values(sim) if sim else {"controls": {}, "wanted": {}}),
            pull=pull_view(sim) if sim else None,
            **status._asdict(),
        )
        return pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)

    def _follow(self) -> Simulation | None:
        """Lead the twin to the step that is shown; one that goes another way is given up."""
        if self._twin is None:
            return None
        try:
            return self._twin.go_to(self._index, self)
        except (InterplayError, KeyError) as error:
            self._twin = None
            self.notices.append(Notice("warning", f"{_MISSING}: the scenario does not follow the recording: {error}"))
            return None

    def _near(self, sim: Simulation | None) -> tuple[Kinematics, ActivePairs, Sequence[Pair]]:
        """Return the pairs inside their influence distance, with the terms they were found at."""
        if sim is None:
            return self._replay.terms, ActivePairs.none(), []
        return sim.terms, sim.controller.near(sim.state, sim.demands), sim.collisions.pairs
