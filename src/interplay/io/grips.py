"""What hands hold, over time, from the contacts that are in force: live as they come, of a recording all at once."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.constraints.contact_set import contact_from
from interplay.io.recording import Recording
from interplay.maths.steps import smooth_step
from interplay.models.fingers import hand_of
from interplay.view.fingers import Grip, Hold

SECONDS = 0.25
"""How long fingers take to close or to open [s]."""


@dataclass
class _Span:
    """A hold, and when fingers begin to close around it and to open again [s]."""

    hold: Hold
    closing: float
    opening: float = np.inf

    def closure(self, time: float) -> float:
        """Return how far they are closed."""
        return smooth_step((time - self.closing) / SECONDS) * (1.0 - smooth_step((time - self.opening) / SECONDS))


class Grips:
    """Takes note of the contacts in force as time goes on, and tells what hands hold at a moment."""

    def __init__(self, model: mujoco.MjModel, ahead: float = 0.0):
        """Take the model, and how long before a contact is made its fingers begin to close [s]: a recording knows what comes."""
        self._model, self._ahead = model, ahead
        self._begin()

    def _begin(self) -> None:
        self._now, self._contacts = -np.inf, None
        self._spans: list[_Span] = []
        self._held: dict[Hold, _Span] = {}

    def note(self, time: float, contacts: tuple[Contact, ...]) -> None:
        """Take note of the contacts in force from a time on; if that is before what was noted last, everything begins anew."""
        if time < self._now:
            self._begin()
        if contacts is not self._contacts:
            # Whoever holds something at the beginning has held it before.
            closing = -np.inf if self._contacts is None else time - self._ahead
            held = {hold: c.release_at for c in contacts for hold in _holds(self._model, c)}
            for hold, span in self._held.items():
                # Where a grip fades, fingers open with its force: they are out of the way when the hand leaves.
                span.opening = min(span.opening, held.get(hold, time))
            new = {hold: _Span(hold, closing) for hold in held if hold not in self._held}
            self._spans += new.values()
            self._held = {hold: new.get(hold) or self._held[hold] for hold in held}
        self._now, self._contacts = time, contacts

    def at(self, time: float) -> tuple[Grip, ...]:
        """Return what hands hold at a moment that has been noted, or were just about to hold or let go of."""
        grips = (Grip(span.hold, span.closure(time)) for span in self._spans)
        return tuple(grip for grip in grips if grip.closure > 0.0)


def recorded_grips(recording: Recording) -> Grips:
    """Return what hands hold in a recording; fingers are closed when a contact is made, not only then about to close."""
    m, time, sets = recording.model, recording["time"], recording["contact_set"]
    contacts = [tuple(contact_from(m, entry) for entry in members) for members in recording.contact_sets]
    grips = Grips(m, ahead=SECONDS)
    for t in np.flatnonzero(np.diff(sets, prepend=-1)) if contacts else ():
        grips.note(float(time[t]), contacts[sets[t]])
    return grips


def _holds(m: mujoco.MjModel, contact: Contact) -> list[Hold]:
    """Return what a contact is for hands: nothing, a hold, or one of each hand by the other. Its frame in the two bodies says where."""
    one, two = (contact.first.body, contact.p1, contact.R1), (contact.second.body, contact.p2, contact.R2)
    out = []
    for (hand, p, R), (held, p_other, R_other) in ((one, two), (two, one)):
        if hand_of(m, hand) is not None:
            turn, quat = R @ R_other.T, np.empty(4)
            mujoco.mju_mat2Quat(quat, turn.reshape(-1))
            position = (p - turn @ p_other).tolist()
            out.append(Hold(m.body(hand).name, m.body(held).name, tuple(position), tuple(quat.tolist())))
    return out
