"""What is held is kept off its holder by default: off trunk, head, thighs and the arm that does not hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interplay.constraints.contact import Contact
from interplay.scene.scene import Scene

HELD_ZONE = (0.05, 0.005)
"""Influence and security distance [m] of what is held."""

_BODY = ("pelvis", "abdomen", "chest", "head", "left_thigh", "right_thigh")
_ARM = ("upper_arm", "forearm", "hand")


def held_pairs(scene: Scene, contacts: Sequence[Contact]) -> Iterator[tuple[str, str]]:
    """Yield a thing and a body of who holds it, for all things that hands hold: by a grip, or between palms."""
    m = scene.model
    bodies = {m.body(b).name for b in range(m.nbody)}
    hands = {hold for contact in contacts for hold in _holds(scene, contact)}
    for holder, held in sorted({(holder, held) for holder, _, held in hands}):
        free = [side for side in ("left", "right") if (holder, side, held) not in hands]
        for name in (*_BODY, *(f"{side}_{name}" for side in free for name in _ARM)):
            if f"{holder}/{name}" in bodies:
                yield held, f"{holder}/{name}"


def _holds(scene: Scene, contact: Contact) -> Iterator[tuple[str, str, str]]:
    """Yield who holds what with which hand by a contact."""
    for hand, thing in ((contact.first, contact.second), (contact.second, contact.first)):
        holder, _, surface = hand.name.partition("/")
        side, _, part = surface.partition("_")
        held = thing.name.partition("/")[0]
        by_hand = side in ("left", "right") and part in ("grip", "palm") and scene.kind(holder) == "character"
        if by_hand and not thing.fixed and scene.kind(held) != "character":
            yield holder, side, held
