"""A live act: a simulation that is stepped, shown, touched, and taken back to any moment of its past."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from interplay.control.state import State
from interplay.errors import InputError, InterplayError, StateError
from interplay.models.objects import Ball
from interplay.motion.targets import Target, targets_text
from interplay.objectives.base import Gains
from interplay.scenario import Scenario
from interplay.simulation import Simulation
from interplay.stage.messages import Notice, Opening
from interplay.stage.moment import MomentMaker, Status, control_views
from interplay.stage.record import Record
from interplay.stage.tape import Mark, Tape
from interplay.worlds.world import Outcome


def _adjust(sim: Simulation, label: str, phase: str | None, gains: Gains) -> None:
    sim.live.adjust(label, phase=phase, **gains._asdict())


def _balls(sim: Simulation) -> tuple[str, ...]:
    """Return what can be thrown: balls, where things bump into each other."""
    names = sim.scene.names if sim.world.finds_contacts else ()
    return tuple(name for name in names if isinstance(sim.scene.placed(name), Ball))


class LiveAct:
    """One performance of a scenario."""

    def __init__(self, title: str, scenario: Scenario, sim: Simulation):
        """Take the scenario and its simulation, ready to step."""
        self.scenario, self.sim = scenario, sim
        m = sim.scene.model
        self._maker = MomentMaker(m)
        self.opening = Opening(
            scenario=title,
            parameters=scenario.p.model_dump(mode="json"),
            dt=sim.dt,
            xml=sim.scene.xml,
            assets=dict(sim.scene.assets),
            models=self._maker.models,
            phases=sim.behaviour.labels if sim.behaviour else (),
            interactive=sim.behaviour.attended if sim.behaviour else (),
            controls=control_views(sim),
            camera=scenario.view(),
            recorded=False,
            duration=None,
            balls=_balls(sim),
            frictions=dict(sim.scene.frictions) if sim.world.finds_contacts else {},
            skills={who: heard.commands for who, heard in sim.behaviour.listeners.items()} if sim.behaviour else {},
        )
        self._relaxed: dict[str, None] = {}
        self._step_ms: list[float] = []
        self.notices: deque[Notice] = deque()
        header = {"scenario": scenario.name, "parameters": self.opening.parameters}
        self._record = Record(sim, header | {"camera": self.opening.camera.model_dump()}, self.notices.append)
        sim.observers += [self._observe, self._record]
        self._begin()

    def _begin(self) -> None:
        self.tape, self.log = Tape(), list[Target]()
        self.ended = ""
        self._past: float | None = None
        self.sim.live.inputs.clear()
        self._mark()

    def close(self) -> None:
        """Give up the record on disk."""
        self._record.close()

    def _mark(self) -> None:
        mark = Mark(self.sim.checkpoint(), list(self.sim.live.targets), self._record.flush())
        self.tape.mark(self.sim.time, mark)

    def _observe(self, state: State, outcome: Outcome, seconds: float) -> None:
        self._step_ms.append(1e3 * seconds)
        self._relaxed.update(dict.fromkeys(f"{c.kind}: {c.name}" for c in outcome.conflicts))

    @property
    def dt(self) -> float:
        """Control step [s]."""
        return self.sim.dt

    @property
    def live(self) -> bool:
        """Whether the present is shown, not a moment of the past."""
        return self._past is None

    @property
    def time(self) -> float:
        """The moment that is shown [s]."""
        return self.sim.time if self._past is None else self._past

    @property
    def span(self) -> tuple[float, float]:
        """First and last moment that can be shown [s]."""
        return self.tape.span[0], self.sim.time

    def take_step_ms(self) -> np.ndarray:
        """Return the milliseconds of the steps since the last time this was asked."""
        out, self._step_ms = np.array(self._step_ms), []
        return out

    # -- time ----------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Advance by one step; from a moment of the past, the performance goes on from there."""
        self.resume()
        if self.ended:
            return
        try:
            self._advance()
        except InterplayError as error:
            if isinstance(error, StateError):  # a state that cannot be: back to the last one that was shown
                self._past = self.tape.span[1]
                self.resume()
            self.ended = str(error)

    def _advance(self) -> None:
        """Step the simulation, and see whether it goes on."""
        sim = self.sim
        sim.step()
        _ = sim.terms  # raises for a state that cannot be
        if sim.behaviour is not None:
            self.ended = sim.behaviour.failure or ("finished" if sim.behaviour.done else "")
        if not sim.steps % sim.afresh:
            self._mark()

    def seek(self, time: float) -> None:
        """Show the moment on the tape that is next to a time."""
        end = self.span[1]
        moment = self.tape.moment(time) if time < end else end
        self._past = moment if moment < end - 0.5 * self.dt else None

    def reset(self) -> None:
        """Begin again, with the gains as they are now."""
        gains, mark = dict(self.sim.live.adjustments.gains), self.tape.last_mark(0.0)
        self._restore(mark)
        before = dict(self.sim.live.adjustments.gains)
        self._begin()
        for (label, phase), wanted in gains.items():
            if before.get((label, phase)) != wanted:
                self.act(partial(_adjust, label=label, phase=phase, gains=wanted))

    def _restore(self, mark: Mark) -> None:
        self.sim.restore(mark.checkpoint)
        self._record.cut(mark.place)
        self.sim.live.targets = list(mark.targets)
        self.sim.live.inputs.clear()
        self._relaxed, self._step_ms = {}, []

    def resume(self) -> None:
        """Take the simulation to the moment that is shown: from the last checkpoint before it, with the same input."""
        if self._past is None:
            return
        sim, moment = self.sim, self._past
        self._restore(self.tape.last_mark(moment))
        self.tape.cut(moment)
        self.log = [t for t in self.log if t.time < moment - 1e-9]
        again = [t for t in self.log if t.time > sim.time - 1e-9]
        sim.live.targets = sorted([*again, *sim.live.targets], key=lambda t: t.time)
        self._past, self.ended = None, ""
        try:
            while sim.time < moment - 0.5 * sim.dt and not self.ended:
                self._advance()
        except InterplayError as error:
            self.ended = str(error)
        self._step_ms = []

    # -- touch ---------------------------------------------------------------------------------------------------------

    def act(self, deed: Callable[[Simulation], None]) -> None:
        """Let the user do something to the simulation, and keep it as live input."""
        if self._past is not None:
            raise InputError("a moment of the past is shown: press play to go on from there, then touch")
        if self.ended:
            raise InputError("the scenario has ended: reset it, or go back to a moment before")
        known = len(self.sim.live.inputs)  # those that the record has not taken yet
        deed(self.sim)
        self.log += self.sim.live.inputs[known:]

    def targets(self) -> str:
        """Return the live input so far as the text of a targets file."""
        return targets_text(self.log)

    def played(self, folder: Path) -> tuple[Path, tuple[float, float]]:
        """Copy what has been played into a folder as a recording; return where it is, and from when to when it lasts [s]."""
        return self._record.copy(folder / "run")

    # -- frames --------------------------------------------------------------------------------------------------------

    def frame(self, status: Status, stability: bool) -> bytes:
        """Return the frame of the moment that is shown, pickled; one of the present is kept on the tape.

        Regions of stability are found if asked for.
        """
        if self._past is not None:
            return pickle.dumps(replace(self.tape.frame(self._past), **status._asdict()), pickle.HIGHEST_PROTOCOL)
        frame = self._maker.live(self.sim, self._relaxed, status, stability)
        self._relaxed = {}
        data = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
        self.tape.add(frame.time, data)
        return data
