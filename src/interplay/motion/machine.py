"""The finite-state machine: phases own contacts and objectives; transitions on conditions, with time-outs; smooth hand-over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.errors import InputError, unknown_name
from interplay.objectives.base import Objective

if TYPE_CHECKING:
    from interplay.simulation import Simulation

FADE = 0.4
"""Seconds over which a phase's objectives hand over to the next one's, and contacts take up or give up their load."""

Condition = Callable[["Simulation"], bool]
Objectives = Sequence[Objective] | Callable[["Simulation"], Sequence[Objective]]


@dataclass(frozen=True)
class Phase:
    """A fixed set of contacts and objectives, held until a condition.

    Args:
        name: shown to the user and recorded.
        objectives: objectives, or a function of the simulation that makes them on entry (references then start where
            things are).
        make: contacts made on entry, as pairs of surfaces, optionally with options: ``(a, b, {"friction": 1.0})``.
        release: contacts (pairs or single surfaces) whose force fades out in this phase and which end with it.
        until: the phase ends when this is true …
        seconds: … but not before this time,
        timeout: and it fails after this one; None: it never does.
        next: name of the next phase; by default the one listed after it.
        interactive: a phase for live control; a scenario is finished when it has held it.
    """

    name: str
    objectives: Objectives = ()
    make: Sequence[Any] = ()
    release: Sequence[Any] = ()
    until: Condition | None = None
    seconds: float = 0.0
    timeout: float | None = 20.0
    next: str | None = None
    interactive: bool = False


@dataclass
class Entry:
    """A phase that was entered: when, in which state; enough to enter it again when a run is resumed."""

    phase: str
    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    objectives: list[Objective] = field(default_factory=list)

    def checkpoint(self) -> dict[str, Any]:
        """Return the entry as plain numbers."""
        return {"phase": self.phase, "time": self.time, "qpos": self.qpos.tolist(), "qvel": self.qvel.tolist()}


class Machine:
    """Runs phases in order (or by their ``next``) over a simulation."""

    def __init__(self, phases: Sequence[Phase]):
        """Take the phases; the first one is entered at the start."""
        if not phases:
            raise InputError("a machine needs at least one phase")
        self.phases = {p.name: p for p in phases}
        if len(self.phases) != len(phases):
            raise InputError(f"phase names must differ, got {[p.name for p in phases]}")
        self._order = [p.name for p in phases]
        for phase in phases:
            if phase.next is not None and phase.next not in self.phases:
                raise unknown_name(f"phase (after {phase.name!r})", phase.next, self.phases)
        self.entries: list[Entry] = []
        self.visited: list[str] = []
        self.failure: str | None = None
        self.done = False

    @property
    def phase(self) -> Phase | None:
        """The phase in force."""
        return self.phases[self.entries[-1].phase] if self.entries else None

    @property
    def objectives(self) -> list[Objective]:
        """Objectives of the phase in force and of the one that is handing over."""
        return [o for entry in self.entries for o in entry.objectives]

    def elapsed(self, time: float) -> float:
        """Return the seconds since the phase was entered."""
        return time - self.entries[-1].time if self.entries else 0.0

    def update(self, sim: Simulation) -> None:
        """Enter the first phase, or the next one when its condition holds; forget what has handed over."""
        now = sim.time
        if not self.entries:
            self._enter(sim, self._order[0])
        while len(self.entries) > 1 and now >= self.entries[1].time + FADE - 1e-9:
            self.entries.pop(0)
        for _ in range(len(self.phases)):  # phases that hold no time pass at once
            phase = self.phase
            if phase is None or self.done or not self._over(sim, phase):
                break
            self._leave(sim, phase)
        phase = self.phase
        if (
            phase
            and phase.timeout is not None
            and self.elapsed(now) > phase.timeout
            and self.failure is None
            and not self.done
        ):
            self.failure = f"phase {phase.name!r} did not end within {phase.timeout:g} s"

    def _over(self, sim: Simulation, phase: Phase) -> bool:
        elapsed = self.elapsed(sim.time)
        fading = FADE if phase.release else 0.0
        if elapsed < max(phase.seconds, fading) - 1e-9:
            return False
        return not phase.interactive and (phase.until is None or phase.until(sim))

    def _leave(self, sim: Simulation, phase: Phase) -> None:
        for pair in phase.release:
            sim.contacts.remove(*((pair,) if isinstance(pair, str) else pair[:2]))
        following = phase.next or self._after(phase.name)
        if following is None:
            self.done = True
        else:
            self._enter(sim, following)

    def _after(self, name: str) -> str | None:
        at = self._order.index(name) + 1
        return self._order[at] if at < len(self._order) else None

    def _enter(self, sim: Simulation, name: str) -> None:
        phase, now = self.phases[name], sim.time
        for pair in phase.make:
            options = pair[2] if len(pair) > 2 else {}
            sim.contacts.add(pair[0], pair[1], **{"fade": FADE if self.entries else 0.0, **options})
        for pair in phase.release:
            sim.contacts.release(*((pair,) if isinstance(pair, str) else pair[:2]), fade=FADE)
        self.visited.append(name)
        self._activate(sim, Entry(name, now, sim.state.qpos.copy(), sim.state.qvel.copy()))

    def _activate(self, sim: Simulation, entry: Entry) -> None:
        phase = self.phases[entry.phase]
        entry.objectives = list(phase.objectives(sim) if callable(phase.objectives) else phase.objectives)
        for objective in entry.objectives:
            objective.attach(sim.scene)
            objective.fade = (entry.time, FADE, True) if self.entries else None
        for old in self.entries:
            for objective in old.objectives:
                objective.fade = (entry.time, FADE, False)
        self.entries = [*self.entries[-1:], entry]

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores the machine."""
        return {"entries": [e.checkpoint() for e in self.entries], "visited": self.visited, "done": self.done}

    def restore(self, sim: Simulation, data: dict[str, Any]) -> None:
        """Enter the recorded phases again in their recorded states; contacts and state are restored by the simulation."""
        self.visited, self.done, self.entries = list(data["visited"]), bool(data["done"]), []
        first = len(self.visited) > len(data["entries"])
        for saved in data["entries"]:
            entry = Entry(saved["phase"], saved["time"], np.array(saved["qpos"]), np.array(saved["qvel"]))
            with sim.at(entry.time, entry.qpos, entry.qvel):
                self._activate(sim, entry)
            if first:  # it was itself faded in from a phase that is gone
                for objective in entry.objectives:
                    objective.fade = (entry.time, FADE, True)
                first = False
