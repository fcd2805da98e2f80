"""What is held is kept off its holder by default: off trunk, head, thighs and the arm that does not hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interplay.constraints.contact import Contact
from interplay.scene.scene import Scene

HELD_ZONE = (0.05, 0.005)
"""Influence and security distance [m] of what is held."""

_BODY = ("pelvis", "abdomen", "chest", "head", "left_thigh", "right_thigh")
_ARM = ("upper_arm", "forearm", "hand")
_OTHER = {"left": "right", "right": "left"}


def held_pairs(scene: Scene, contacts: Sequence[Contact]) -> Iterator[tuple[str, str]]:
    """Yield a thing and a body of who holds it, for all things that hands hold: by a grip, or between palms."""
    m = scene.model
    bodies = {m.body(b).name for b in range(m.nbody)}
    for contact in contacts:
        for hand, thing in ((contact.first, contact.second), (contact.second, contact.first)):
            holder, _, surface = hand.name.partition("/")
            side, _, part = surface.partition("_")
            held = thing.name.partition("/")[0]
            if side not in _OTHER or part not in ("grip", "palm") or thing.fixed or held not in scene.names:
                continue
            if scene.kind(holder) != "character" or scene.kind(held) == "character":
                continue
            for name in (*_BODY, *(f"{_OTHER[side]}_{name}" for name in _ARM)):
                if f"{holder}/{name}" in bodies:
                    yield held, f"{holder}/{name}"
