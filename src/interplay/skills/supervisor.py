"""The supervisor: lets that skill act on a character which suits its state best, and asks again when it has ended (faloutsos2001).

There is no graph of what follows what: whenever none is active, or the active one has succeeded or failed, or another one is
commanded, all bid, and the highest bid wins. Every such arbitration is kept with all bids and their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from interplay.constraints.contact import Contact
from interplay.control.plan import Servo
from interplay.errors import InputError, InterplayError, pick
from interplay.motion.behaviour import Listener
from interplay.objectives.base import Objective
from interplay.skills.sensing import Sensed, Senses
from interplay.skills.skill import MOST, NOT, RUNNING, SUCCEEDED, Bid, Skill, by_name

if TYPE_CHECKING:
    from interplay.simulation import Simulation

COMMANDED = MOST
"""What a command adds to a bid that is not 0."""
PATIENCE = 2.0
"""Seconds for which a command waits to be possible."""


class Arbitration(NamedTuple):
    """Who bid what and why, and who became active, because of what."""

    time: float
    because: str
    bids: Mapping[str, Bid]
    chosen: str


class Supervisor:
    """The behaviour of one character that is moved by skills: ``sim.behaviour = Supervisor("ann", skills)``."""

    def __init__(self, model: str, skills: Sequence[Skill]):
        """Take the character and its skills."""
        where = f"Supervisor of {model!r}"
        if not skills:
            raise InputError(f"{where}: expected at least one skill, got none")
        self.model, self.skills = model, by_name(where, skills)
        for name, skill in self.skills.items():
            if skill.model != model:
                raise InputError(f"{where}: expected skills of hers, but {name!r} is one of {skill.model!r}")
        self.log: list[Arbitration] = []
        self._active: Skill | None = None
        self._senses: Senses | None = None
        self._command: tuple[str, float] | None = None

    # -- what it does --------------------------------------------------------------------------------------------------

    def tell(self, command: str, time: float) -> None:
        """Ask for a skill: its bid is raised as soon as it is not 0, if that is within a while."""
        self._command = pick(f"skill of {self.model!r}", command, self.skills).name, time

    def update(self, sim: Simulation) -> None:
        """Let the active skill act, or the one that suits best take over."""
        sensed = self._look(sim)
        because = self._judge(sim, sensed)
        # A skill that ends at once is followed at once; one that never does anything must not hang the step.
        for _ in self.skills:
            if not because:
                break
            self._arbitrate(sim, sensed, because)
            because = self._judge(sim, sensed)
        self._move(sim)

    def _look(self, sim: Simulation) -> Sensed:
        if self._senses is None:
            if not sim.world.finds_contacts:
                raise InputError(
                    f"Supervisor of {self.model!r}: skills live in the simulated world; expected world='simulated'"
                )
            self._senses = Senses(sim, self.model)
        sim.falls.expected.add(self.model)
        return self._senses.look(sim)

    def _judge(self, sim: Simulation, sensed: Sensed) -> str:
        """Let the active skill act, and return why all should bid; nothing: it goes on."""
        if self._active is None:
            return "none is active"
        if lost := sim.falls.lost.pop(self.model, ""):
            return f"{self._active.name} has failed: {lost}"
        said = self._active.update(sim, sensed)
        if said != RUNNING:
            return f"{self._active.name} has {SUCCEEDED if said == SUCCEEDED else f'failed: {said}'}"
        if self._command is not None:
            name, since = self._command
            if sim.time - since > PATIENCE:
                self._command = None
            elif name != self._active.name and self.skills[name].offer(sensed).value > 0.0:
                return f"{name} is commanded"
        return ""

    def _arbitrate(self, sim: Simulation, sensed: Sensed, because: str) -> None:
        """Let the highest bidder take over that can begin."""
        bids = {name: skill.offer(sensed) for name, skill in self.skills.items()}
        if self._command is not None and bids[self._command[0]].value > 0.0:
            bid = bids[self._command[0]]
            bids[self._command[0]], self._command = Bid(bid.value + COMMANDED, f"commanded; {bid.why}"), None
        if self._active is not None:
            self._active.end(sim)
        self._active = None
        for chosen in sorted((name for name in bids if bids[name].value > NOT), key=lambda name: -bids[name].value):
            self._active = self.skills[chosen]
            self._active.began = sim.time
            try:
                self._active.begin(sim, sensed)
                break
            except InterplayError as error:
                self._active.end(sim)
                bids[chosen] = Bid(NOT, f"it cannot begin: {error}")
        else:
            said = "; ".join(f"{name}: {bid.why}" for name, bid in bids.items())
            raise InputError(
                f"Supervisor of {self.model!r}: expected a skill that suits any state, such as 'settle'; {said}"
            )
        self.log.append(Arbitration(sim.time, because, bids, chosen))

    def _move(self, sim: Simulation) -> None:
        """Tell the simulation who leads her."""
        servo = self._servo(sim)
        if servo is None:
            sim.unled.lead(self.model)
        else:
            sim.unled.serve(self.model, servo)

    def _servo(self, sim: Simulation) -> Servo | None:
        return None if self._active is None else self._active.servo(sim)

    # -- what it says --------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Which skill is active."""
        return "" if self._active is None else self._active.name

    @property
    def labels(self) -> tuple[str, ...]:
        """All skills."""
        return tuple(self.skills)

    @property
    def coming(self) -> tuple[str, ...]:
        """Nothing: who will bid most is not known."""
        return ()

    @property
    def in_force(self) -> Sequence[tuple[str, Sequence[Objective]]]:
        """What the active skill asks of the program."""
        return [] if self._active is None else [(self._active.name, self._active.objectives)]

    @property
    def objectives(self) -> Sequence[Objective]:
        """The same."""
        return () if self._active is None else self._active.objectives

    @property
    def attended(self) -> tuple[str, ...]:
        """Nothing by its name: whoever is at rest waits."""
        return ()

    @property
    def waiting_since(self) -> float | None:
        """Since when she has been at rest, as the active skill says."""
        return None if self._active is None else self._active.waiting_since

    @property
    def done(self) -> bool:
        """Never: she lives on."""
        return False

    @property
    def failure(self) -> str | None:
        """None: who falls gets up."""
        return None

    @property
    def catching(self) -> frozenset[str]:
        """The character."""
        return frozenset({self.model})

    @property
    def doing(self) -> str:
        """Which skill is active."""
        return self.label

    @property
    def bids(self) -> Mapping[str, Bid]:
        """The bids of the last arbitration."""
        return self.log[-1].bids if self.log else {}

    @property
    def moves(self) -> Mapping[tuple[str, str], int]:
        """How often which skill has followed which."""
        return Counter(pairwise(entry.chosen for entry in self.log))

    @property
    def commands(self) -> tuple[str, ...]:
        """All skills."""
        return tuple(self.skills)

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """The character."""
        return {self.model: self}

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return nothing: it is not known."""
        return None

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def checkpoint(self) -> Any:
        """Return what restores it, as plain values."""
        active = self._active
        return {
            "active": active and [active.name, active.began, active.checkpoint()],
            "command": self._command,
            "log": [[a.time, a.because, {name: list(bid) for name, bid in a.bids.items()}, a.chosen] for a in self.log],
        }

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint."""
        self._look(sim)
        self.log = [Arbitration(t, why, {n: Bid(*b) for n, b in bids.items()}, c) for t, why, bids, c in data["log"]]
        self._command = data["command"] and (data["command"][0], data["command"][1])
        self._active = None
        if data["active"]:
            name, began, kept = data["active"]
            self._active = self.skills[name]
            self._active.began = began
            self._active.restore(sim, kept)
        self._move(sim)
