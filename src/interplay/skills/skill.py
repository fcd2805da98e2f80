"""What a skill is: it bids for a character whose state it can do something with, and moves it until it has succeeded or failed.

A skill is one file of ``interplay/skills/repertoire``, or a file of key poses (:mod:`.key_poses`), or a plug-in (entry point
``interplay.skills``). Its pre-conditions are what it bids by, its post-conditions when it has succeeded, what it expects of itself
when it has failed (faloutsos2001, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from interplay.control.plan import Servo
from interplay.errors import InputError
from interplay.objectives.base import Objective
from interplay.skills.learned import Learned
from interplay.skills.sensing import Sensed

if TYPE_CHECKING:
    from interplay.simulation import Simulation

NOT, SENSIBLE, MOST = 0.0, 1.0, 20.0
"""Bids: unsuited; from here on a sensible thing to do (from 10 on one that also leads to where its user wants to be); the most."""
RUNNING, SUCCEEDED = "running", "succeeded"


class Bid(NamedTuple):
    """How well a skill suits a state (0 … 20), and why."""

    value: float
    why: str


class Skill:
    """Subclass, set ``name``; say when to ``bid``; move her by ``servo``, or by contacts and ``objectives`` for the program."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    def __init__(self, model: str):
        """Take the character."""
        self.model = model
        self.began = 0.0
        """When it became active [s]."""
        self.waiting_since: float | None = None
        """Since when [s] nothing has been left to do but to be told, or pushed; None: something is."""
        self.learned: Learned | None = None
        """What it has learned of the states from which it succeeds: a pre-condition beside its own (``interplay learn``)."""

    def bid(self, sensed: Sensed) -> Bid:
        """Return how well it suits what is sensed."""
        raise TypeError(f"{type(self).__name__} does not define bid()")

    def offer(self, sensed: Sensed) -> Bid:
        """Return what it bids, unless what it has learned says that it would fail."""
        bid = self.bid(sensed)
        if self.learned is None or bid.value <= NOT:
            return bid
        score = self.learned.score(sensed)
        if score > 0.0:
            return Bid(bid.value, f"{bid.why}; it has learned to succeed from here ({score:.2f})")
        return Bid(NOT, f"it has learned to fail from here ({score:.2f}), though {bid.why}")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Become active."""

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Do what is due, and return ``running``, ``succeeded``, or why it has failed."""
        raise TypeError(f"{type(self).__name__} does not define update()")

    def end(self, sim: Simulation) -> None:
        """Let go of what it has made."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """What it asks of the program; a skill that moves by servos asks nothing."""
        return ()

    def servo(self, sim: Simulation) -> Servo | None:
        """Return the servos that move her in the step to come; None: the program does."""
        return None

    def checkpoint(self) -> Any:
        """Return what restores it while it is active, as plain values."""
        return None

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint; ``began`` is known."""


def by_name(what: str, skills: Sequence[Skill]) -> dict[str, Skill]:
    """Return skills by their names, or raise an error that says where one has none, or two have the same."""
    out: dict[str, Skill] = {}
    for skill in skills:
        if not isinstance(skill, Skill) or not skill.name:
            raise InputError(f"{what}: expected skills, each with a name, got {skill!r}")
        if skill.name in out:
            raise InputError(f"{what}: two skills have the name {skill.name!r}; expected one of each")
        out[skill.name] = skill
    return out
