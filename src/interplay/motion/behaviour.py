"""What a behaviour is: it says what is wanted now. A machine of phases is one; one may act for all, or one for each character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from interplay.constraints.contact import Contact
from interplay.errors import InputError
from interplay.objectives.base import Objective

if TYPE_CHECKING:
    from interplay.simulation import Simulation


class Listener(Protocol):
    """Somebody who can be told what to do."""

    @property
    def commands(self) -> tuple[str, ...]:
        """What it can be told."""
        ...

    def tell(self, command: str, time: float) -> None:
        """Do that, from a time [s] on, as soon as it can be done."""
        ...

    @property
    def doing(self) -> str:
        """What it does now."""
        ...

    @property
    def bids(self) -> Mapping[str, tuple[float, str]]:
        """How well each command suited when it was chosen last what to do, and why."""
        ...

    @property
    def moves(self) -> Mapping[tuple[str, str], int]:
        """How often what has followed what."""
        ...


class Behaviour(Protocol):
    """Looks at the simulation before each step, makes and releases contacts, and says which objectives are in force."""

    @property
    def label(self) -> str:
        """What goes on now, in a word: shown to the user and recorded."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels it may have, in order, as far as they are known."""
        ...

    @property
    def coming(self) -> tuple[str, ...]:
        """Labels to come, the next one first, as far as they are known."""
        ...

    @property
    def in_force(self) -> Sequence[tuple[str, Sequence[Objective]]]:
        """Objectives in force, under the labels that brought them."""
        ...

    @property
    def objectives(self) -> Sequence[Objective]:
        """Objectives in force, each once."""
        ...

    @property
    def attended(self) -> tuple[str, ...]:
        """Labels under which it waits for the user's live control."""
        ...

    @property
    def waiting_since(self) -> float | None:
        """Since when [s] it has been waiting for the user's live control; None: it is not."""
        ...

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        ...

    @property
    def failure(self) -> str | None:
        """What went wrong, in words; None: nothing."""
        ...

    @property
    def catching(self) -> frozenset[str]:
        """Who catches herself when she is pushed, by a step or by getting up again."""
        ...

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """Who can be told what to do, by name."""
        ...

    def update(self, sim: Simulation) -> None:
        """Do what is due at the present state."""
        ...

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return the contacts that come next, as far as they can be told; the same tuple as long as they are the same."""
        ...

    def checkpoint(self) -> Any:
        """Return what restores it, as plain values."""
        ...

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint; the simulation restores state and contacts."""
        ...


class Together:
    """Several behaviours at a time, each under a name, such as its character's."""

    def __init__(self, behaviours: Mapping[str, Behaviour]):
        """Take the behaviours by name."""
        if not behaviours:
            raise InputError("Together: expected at least one behaviour, got none")
        self.parts = dict(behaviours)

    @property
    def label(self) -> str:
        """What each does now."""
        return ", ".join(f"{name}: {part.label}" for name, part in self.parts.items())

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of each."""
        return tuple(dict.fromkeys(label for part in self.parts.values() for label in part.labels))

    @property
    def coming(self) -> tuple[str, ...]:
        """What comes for each."""
        return tuple(dict.fromkeys(label for part in self.parts.values() for label in part.coming))

    @property
    def in_force(self) -> Sequence[tuple[str, Sequence[Objective]]]:
        """Objectives of all."""
        return [entry for part in self.parts.values() for entry in part.in_force]

    @property
    def objectives(self) -> Sequence[Objective]:
        """Objectives of all, each once."""
        return list({id(o): o for part in self.parts.values() for o in part.objectives}.values())

    @property
    def attended(self) -> tuple[str, ...]:
        """Labels under which any waits for the user."""
        return tuple(dict.fromkeys(label for part in self.parts.values() for label in part.attended))

    @property
    def waiting_since(self) -> float | None:
        """Since when all that are not done have been waiting for the user."""
        since = [part.waiting_since for part in self.parts.values() if not part.done]
        return max(since) if since and None not in since else None  # type: ignore[type-var]

    @property
    def done(self) -> bool:
        """Whether all have come to their end."""
        return all(part.done for part in self.parts.values())

    @property
    def failure(self) -> str | None:
        """What went wrong first."""
        return next((f"{name}: {part.failure}" for name, part in self.parts.items() if part.failure), None)

    @property
    def catching(self) -> frozenset[str]:
        """All who catch themselves in any of them."""
        return frozenset[str]().union(*(part.catching for part in self.parts.values()))

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """All who listen in any of them."""
        return {name: who for part in self.parts.values() for name, who in part.listeners.items()}

    def update(self, sim: Simulation) -> None:
        """Let each do what is due."""
        for part in self.parts.values():
            part.update(sim)

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return nothing: which of them changes first is not known."""
        return None

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores each."""
        return {name: part.checkpoint() for name, part in self.parts.items()}

    def restore(self, sim: Simulation, data: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same behaviours."""
        for name, part in self.parts.items():
            part.restore(sim, data[name])
