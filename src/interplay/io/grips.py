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
from interplay.view.fingers import Grip, Hold, Place

SECONDS = 0.25
"""How long fingers take to close, to open, and to relax again [s]."""


@dataclass
class _Span:
    """A hold, and when its hand begins to open for it, to close around it, to open again, and is free to leave [s]."""

    hold: Hold
    reaching: float
    closing: float
    opening: float = np.inf
    free: float = np.inf

    def at(self, time: float) -> Grip:
        """Return it at a moment. A hand relaxes when it has had time to leave: where it is there might be no room for that."""
        opened = _step(time, self.reaching) * (1.0 - _step(time, self.free + SECONDS))
        return Grip(self.hold, opened, _step(time, self.closing) * (1.0 - _step(time, self.opening)))


def _step(time: float, begin: float) -> float:
    return smooth_step((time - begin) / SECONDS)


class Grips:
    """Takes note of the contacts in force as time goes on, and tells what hands hold at a moment."""

    def __init__(self, model: mujoco.MjModel, ahead: float = 0.0):
        """Take the model, and how long before a contact is made its fingers begin to close [s]: a recording knows what comes.

        Three times as long before that the hand begins to open, so that it is open when it comes near.
        """
        self._model, self._ahead = model, ahead
        self._begin()

    def _begin(self) -> None:
        self._now, self._noted = -np.inf, None
        self._spans: list[_Span] = []
        self._held: dict[Hold, _Span] = {}

    def note(self, time: float, contacts: tuple[Contact, ...], coming: tuple[Contact, ...] = ()) -> None:
        """Take note of the contacts in force from a time on, and of those that come next, as far as that is known.

        If the time is before what was noted last, everything begins anew.
        """
        if time < self._now:
            self._begin()
        if self._noted is None or contacts is not self._noted[0] or coming is not self._noted[1]:
            self._take_up(time, contacts, coming)
        self._now, self._noted = time, (contacts, coming)

    def _take_up(self, time: float, contacts: tuple[Contact, ...], coming: tuple[Contact, ...]) -> None:
        held = {hold: c.release_at for c in contacts for hold in _holds(self._model, c)}
        there = {(c.first.name, c.second.name) for c in contacts}
        awaited = {
            h._replace(place=None)
            for c in coming
            if (c.first.name, c.second.name) not in there
            for h in _holds(self._model, c)
        }
        for hold, span in self._held.items():
            # Where a grip fades, fingers open with its force: they are out of the way when the hand leaves.
            span.opening = min(span.opening, held.get(hold, time))
            if hold not in held and hold not in awaited:
                span.free = time
        before, self._held = self._held, {}
        # Whoever holds something at the beginning has held it before.
        begin = -np.inf if self._noted is None else time - self._ahead
        for hold in [*awaited, *held]:
            span = before.get(hold)
            if span is None:
                span = _Span(hold, begin - 3 * self._ahead, begin if hold.place else np.inf)
                self._spans.append(span)
            self._held[hold] = span

    def at(self, time: float) -> tuple[Grip, ...]:
        """Return what hands hold at a moment that has been noted, or are about to hold or have just let go of."""
        grips = (span.at(time) for span in self._spans)
        return tuple(grip for grip in grips if grip.opened > 0.0)


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
            place = Place(tuple((p - turn @ p_other).tolist()), tuple(quat.tolist()))
            out.append(Hold(m.body(hand).name, m.body(held).name, contact.kind == "grasp", place))
    return out
