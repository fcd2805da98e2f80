"""What a controller is asked, and what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from interplay.constraints.base import Limit
from interplay.constraints.collision import ActivePairs
from interplay.constraints.collision_set import Pair
from interplay.constraints.contact import Contact
from interplay.control.plan import Plan
from interplay.control.state import State
from interplay.objectives.base import Objective
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

NOBODY: Mapping[str, int] = MappingProxyType({})
"""Nobody perceives the others late."""


class Demands(NamedTuple):
    """All that a controller is asked at a state. The collections are never changed, but replaced: they are known by identity."""

    contacts: tuple[Contact, ...] = ()
    """Contacts in force."""
    objectives: Sequence[Objective] = ()
    pairs: tuple[Pair, ...] = ()
    """Pairs of shapes that keep apart."""
    late: Mapping[str, int] = NOBODY
    """How many steps late a character perceives the others; who is not in it sees the present."""
    limits: tuple[Limit, ...] = ()
    """Limits beside those of joints and motors."""
    ceded_acceleration: np.ndarray | None = None
    """Accelerations (nv,) that objectives let happen beside what they ask for: where the user's hand is given way."""
    unled: np.ndarray | None = None
    """DOFs of characters that the program does not lead: nobody keeps their limits, and nothing is asked of their motors."""
    coming: tuple[Contact, ...] | None = None
    """Contacts that come next, as far as that is known: what they need may be laid out ahead. It changes no plan."""


class Controller(Protocol):
    """Turns a state and demands into a plan, with no other input; a solver's warm start may be its only memory."""

    scene: Scene
    dt: float
    natural_world: str
    """The world in which its plans are meant to be carried out."""

    def initial_state(self) -> State:
        """Return the scene's initial state, at rest."""
        ...

    def at(self, state: State) -> Kinematics:
        """Return the terms at a state."""
        ...

    def solve(self, state: State, demands: Demands) -> Plan:
        """Return the plan at a state."""
        ...

    def forget(self) -> None:
        """Make the next plan as a new controller would. Warm and cold plans differ in their last digits only, but those grow."""
        ...

    def near(self, state: State, demands: Demands) -> ActivePairs:
        """Return the pairs of shapes that are inside their zones at a state."""
        ...

    def size(self) -> Mapping[str, int]:
        """Return the numbers of variables and rows of the last program: ``vars``, ``eq``, ``ineq``."""
        ...
