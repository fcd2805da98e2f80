"""The finite-state machine: phases own contacts and objectives; transitions on conditions, with time-outs; smooth hand-over."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import ContactError, InputError, InterplayError, number, unknown_name
from interplay.motion.behaviour import Listener
from interplay.motion.conditions import missing
from interplay.motion.touchdown import land
from interplay.objectives.base import FADE, Objective

if TYPE_CHECKING:
    from interplay.simulation import Simulation

Condition = Callable[["Simulation"], bool]
Objectives = Sequence[Objective] | Callable[..., Sequence[Objective]]


@dataclass(frozen=True)
class Phase:
    """A fixed set of contacts and objectives, held until a condition.

    Args:
        name: shown to the user and recorded.
        objectives: objectives, or a function of the simulation that makes them on entry (references then start where
            things are).
        since: name of a phase in which something began that lasts over several phases (a walk); ``objectives`` then gets
            the :class:`Entry` of that phase as a second argument.
        make: contacts made on entry, as pairs of surfaces, optionally with options: ``(a, b, {"friction": 1.0})``.
        unload: contacts (pairs or single surfaces) whose force begins to fade out on entry; a later phase releases them.
        touchdown: tells in each step which contacts, as in ``make``, have come about by themselves, in worlds in which things touch; they
            are made at once, and no more when a later phase would.
        release: contacts whose force fades out in this phase, unless it has begun to before, and which end with it.
        fade: seconds over which contacts take up and give up their load, and the last phase's objectives hand over.
        until: the phase ends when this is true …
        seconds: … but not before this time,
        timeout: and it fails after this one; None: it never does.
        next: name of the next phase; by default the one listed after it.
        interactive: a phase for live control; a scenario is finished when it has held it.
        origin: file and line it comes from, where there are such; errors name it.
    """

    name: str
    objectives: Objectives = ()
    since: str | None = None
    make: Sequence[Any] = ()
    unload: Sequence[Any] = ()
    touchdown: Callable[[Simulation], Sequence[Any]] | None = None
    release: Sequence[Any] = ()
    fade: float = FADE
    until: Condition | None = None
    seconds: float = 0.0
    timeout: float | None = 20.0
    next: str | None = None
    interactive: bool = False
    origin: str = ""

    def __str__(self) -> str:
        """Return its name as errors show it."""
        return f"phase {self.name!r}" + (f" ({self.origin})" if self.origin else "")


@dataclass(eq=False)
class Entry:
    """A phase that was entered: when, in which state, when it was left and how long its objectives then fade.

    That is enough to enter it again when a run is resumed.
    """

    phase: str
    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    first: bool
    left: float = math.inf
    fade: float = FADE
    masses: tuple[np.ndarray, np.ndarray] | None = None
    """Masses and inertias of all bodies then; those of the beginning, if none had changed."""
    since_then: dict[str, float] = field(default_factory=dict)
    """When the phases that refer to this one were entered …"""
    noted: dict[str, list[float]] = field(default_factory=dict)
    """… and what they found then."""
    objectives: list[Objective] = field(default_factory=list)

    @classmethod
    def of(cls, sim: Simulation, phase: str = "", first: bool = False) -> Entry:
        """Return the present state as an entry."""
        state = sim.state
        return cls(phase, sim.time, state.qpos.copy(), state.qvel.copy(), first, masses=sim.live.masses.present)

    def checkpoint(self) -> dict[str, Any]:
        """Return the entry as plain numbers."""
        return {
            "phase": self.phase,
            "time": self.time,
            "qpos": self.qpos.tolist(),
            "qvel": self.qvel.tolist(),
            "first": self.first,
            "left": None if self.left == math.inf else self.left,
            "fade": self.fade,
            "masses": None if self.masses is None else [part.tolist() for part in self.masses],
            "since_then": self.since_then,
            "noted": self.noted,
        }

    @classmethod
    def restore(cls, data: dict[str, Any]) -> Entry:
        """Return the entry written by ``checkpoint``, without objectives."""
        left = math.inf if data["left"] is None else data["left"]
        return cls(
            data["phase"],
            data["time"],
            np.array(data["qpos"]),
            np.array(data["qvel"]),
            data["first"],
            left,
            data["fade"],
            None if data["masses"] is None else (np.array(data["masses"][0]), np.array(data["masses"][1])),
            dict(data["since_then"]),
            dict(data["noted"]),
        )


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
            number(f"fade of phase {phase.name!r}", phase.fade, 1e-3, 10, "s")
            for name in (phase.next, phase.since):
                if name is not None and name not in self.phases:
                    raise unknown_name(f"phase (named by {phase.name!r})", name, self.phases)
        self._begun: dict[str, Entry | None] = {p.since: None for p in phases if p.since is not None}
        """Last entries of the phases that others refer to."""
        self.entries: list[Entry] = []
        self._foreseen: tuple[Entry | None, tuple[Contact, ...] | None] = None, None
        """The entry whose coming contacts were told, and these."""
        self.visited: list[str] = []
        self.failure: str | None = None
        self.done = False

    @property
    def phase(self) -> Phase | None:
        """The phase in force."""
        return self.phases[self.entries[-1].phase] if self.entries else None

    @property
    def label(self) -> str:
        """Name of the phase in force."""
        return self.phase.name if self.phase else ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all phases."""
        return tuple(self._order)

    @property
    def attended(self) -> tuple[str, ...]:
        """Names of the phases for live control."""
        return tuple(name for name, phase in self.phases.items() if phase.interactive)

    @property
    def waiting_since(self) -> float | None:
        """When the phase for live control was entered [s], if it is in force."""
        return self.entries[-1].time if self.phase and self.phase.interactive else None

    @property
    def in_force(self) -> list[tuple[str, list[Objective]]]:
        """Objectives of the phase in force and of those that are handing over, under their phases' names."""
        return [(entry.phase, entry.objectives) for entry in self.entries]

    @property
    def objectives(self) -> list[Objective]:
        """Objectives of the phase in force and of those that are handing over; each once."""
        return list({id(o): o for entry in self.entries for o in entry.objectives}.values())

    @property
    def coming(self) -> tuple[str, ...]:
        """Names of the phases to come, the next one first, as far as they are not repeated."""
        out: list[str] = []
        name = self._following(self.phase.name) if self.phase else self._order[0]
        while name is not None and name not in out:
            out.append(name)
            name = self._following(name)
        return tuple(out)

    def elapsed(self, time: float) -> float:
        """Return the seconds since the phase was entered."""
        return time - self.entries[-1].time if self.entries else 0.0

    def update(self, sim: Simulation) -> None:
        """Enter the first phase, or the next one when its condition holds; forget what has handed over."""
        now = sim.time
        if not self.entries:
            self._enter(sim, self._order[0], self._prepare(sim, self.phases[self._order[0]]))
        over = [e for e in self.entries if now >= e.left + e.fade - 1e-9]
        if over:
            self.entries = [e for e in self.entries if e not in over]
            self._share_fades()
        self._feel(sim)
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
            wait = missing(phase.until, sim) if phase.until is not None else ""
            self.failure = f"{phase} did not end within {phase.timeout:g} s" + (f": {wait}" if wait else "")

    @property
    def catching(self) -> frozenset[str]:
        """Nobody by itself: see :class:`interplay.Recovery`."""
        return frozenset()

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """Nobody: what comes next is said by the phases."""
        return {}

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return the contacts of the phase to come: less what this one releases, with what that makes.

        They are told from the second step of a phase on; what cannot be made is told when it is tried.
        """
        if not self.entries or self.elapsed(sim.time) <= 0:
            return None
        if self._foreseen[0] is not self.entries[-1]:
            with suppress(InterplayError):
                self._foreseen = self.entries[-1], None
                self._foreseen = self.entries[-1], self._foresee(sim)
        return self._foreseen[1]

    def _foresee(self, sim: Simulation) -> tuple[Contact, ...]:
        phase = self.phases[self.entries[-1].phase]
        following = self._following(phase.name)
        made = self._made(sim, self.phases[following]) if following is not None and not phase.interactive else ()
        gone = sim.contacts.remaining(map(_names, phase.release))
        return sim.contacts.foresee(gone, [(p[0], p[1], p[2] if len(p) > 2 else {}) for p in made])

    def _feel(self, sim: Simulation) -> None:
        """Make the contacts that have come about by themselves."""
        phase = self.phase
        if phase and phase.touchdown is not None and sim.world.finds_contacts and not self.done:
            for pair in phase.touchdown(sim):
                land(sim, pair[0], pair[1], **{"fade": phase.fade, **(pair[2] if len(pair) > 2 else {})})

    def _over(self, sim: Simulation, phase: Phase) -> bool:
        elapsed = self.elapsed(sim.time)
        if elapsed < phase.seconds - 1e-9:
            return False
        if any(sim.time < c.released_at - 1e-9 for c in sim.contacts.remaining(map(_names, phase.release))):
            return False
        return not phase.interactive and (phase.until is None or phase.until(sim))

    def _leave(self, sim: Simulation, phase: Phase) -> None:
        following = self._following(phase.name)
        # What cannot be made raises before anything is changed.
        made = self._prepare(sim, self.phases[following]) if following is not None else []
        for contact in sim.contacts.remaining(map(_names, phase.release)):
            sim.contacts.remove(contact.first.name, contact.second.name)
        if following is None:
            self.done = True
        else:
            self._enter(sim, following, made)

    def _prepare(self, sim: Simulation, phase: Phase) -> list[Contact]:
        """Return the contacts a phase makes, not yet in force."""
        fade = phase.fade if self.entries else 0.0
        try:
            return [
                sim.contacts.prepare(pair[0], pair[1], **{"fade": fade, **(pair[2] if len(pair) > 2 else {})})
                for pair in self._made(sim, phase)
            ]
        except ContactError as error:
            raise ContactError(f"{phase}: {error}") from None

    @staticmethod
    def _made(sim: Simulation, phase: Phase) -> Sequence[Any]:
        """Return what a phase makes, without what has been made as it came about."""
        if not sim.world.finds_contacts:
            return phase.make
        return [pair for pair in phase.make if not sim.contacts.between(pair[0], pair[1])]

    def _following(self, name: str) -> str | None:
        if self.phases[name].next is not None:
            return self.phases[name].next
        at = self._order.index(name) + 1
        return self._order[at] if at < len(self._order) else None

    def _enter(self, sim: Simulation, name: str, made: list[Contact]) -> None:
        phase, now = self.phases[name], sim.time
        for contact in made:
            sim.contacts.accept(contact)
        for contact in sim.contacts.remaining(map(_names, (*phase.unload, *phase.release))):
            if contact.released_at == math.inf:
                sim.contacts.release(contact.first.name, contact.second.name, fade=phase.fade)
        self.visited.append(name)
        if self.entries:
            self.entries[-1].left, self.entries[-1].fade = now, phase.fade
        self._activate(sim, Entry.of(sim, name, first=not self.entries))

    def _activate(self, sim: Simulation, entry: Entry) -> None:
        phase = self.phases[entry.phase]
        if phase.name in self._begun:
            self._begun[phase.name] = entry
        begun = ()
        if phase.since is not None:
            found = self._begun[phase.since]
            if found is None:
                raise InputError(f"{phase} refers to {phase.since!r}, which has not been entered before it")
            found.since_then[phase.name] = entry.time
            begun = (found,)
        if callable(phase.objectives):
            entry.objectives = list(phase.objectives(sim, *begun))
        else:
            entry.objectives = list(phase.objectives)
        sim.live.adjustments.take_up(entry.objectives, entry.phase)
        self.entries.append(entry)
        self._share_fades()

    def _share_fades(self) -> None:
        """Tell each objective when the phases that own it take it up and let it go."""
        for objective in self.objectives:
            objective.fades = ()
        for e in self.entries:
            fade = (-math.inf if e.first else e.time, self.phases[e.phase].fade, e.left, e.fade)
            for objective in {id(o): o for o in e.objectives}.values():
                objective.fades += (fade,)

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores the machine."""
        return {
            "entries": [e.checkpoint() for e in self.entries],
            "begun": {name: entry.checkpoint() for name, entry in self._begun.items() if entry},
            "visited": self.visited,
            "done": self.done,
            "failure": self.failure,
        }

    def restore(self, sim: Simulation, data: dict[str, Any]) -> None:
        """Enter the recorded phases again in their recorded states; contacts and state are restored by the simulation."""
        self.visited, self.done, self.failure, self.entries = (
            list(data["visited"]),
            bool(data["done"]),
            data["failure"],
            [],
        )
        self._begun = {name: None for name in self._begun}
        self._begun |= {name: Entry.restore(saved) for name, saved in data["begun"].items()}
        for entry in map(Entry.restore, data["entries"]):
            known = self._begun.get(entry.phase)
            if known is not None and known.time == entry.time:
                entry.since_then, entry.noted = known.since_then, known.noted
            with sim.at(entry):
                self._activate(sim, entry)


def _names(pair: Any) -> tuple[str, ...]:
    """Return the surfaces of a pair, or the single one."""
    return (pair,) if isinstance(pair, str) else tuple(pair[:2])
