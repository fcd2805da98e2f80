"""What happens in a recording, as plain data that other tools read: phases, feet, hands, and the forces of contacts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from interplay.io.recording import Recording
from interplay.io.replay import Replay
from interplay.io.take import frame_times

_DIGITS = 4
"""Of times [s]; forces have two less."""


def events_of(recording: Recording, fps: float = 30.0) -> dict[str, Any]:
    """Return the events of a recording; all times in s from its first step, forces in N along the world's axes (z up).

    - ``duration``, and ``fps``, at which forces are sampled from 0 on;
    - ``phases``: ``[{"name", "begin", "end"}]``;
    - ``feet``: ``[{"time", "event": "down" | "up", "foot", "on"}]``, ``foot`` and ``on`` names of bodies;
    - ``hands``: ``[{"time", "event": "grasp" | "release", "hand", "held", "how": "grip" | "palm"}]``; from the one to the other,
      what is held may be made a child of the hand's bone. A palm on a wall is there, too;
    - ``contacts``: ``[{"surfaces": [a, b], "bodies": [a, b], "spans": [[begin, end], …], "force": [[x, y, z], …]}]``: when it was
      in force, and the force on a by b; ``force`` is absent where the recording does not know it.

    What is there at the beginning has an event at 0; what lasts to the end has none there.
    """
    time = recording["time"] - recording["time"][0]
    contacts = _contacts(recording, time)
    forces = _forces(recording, fps)
    return {
        "duration": _rounded(time[-1]),
        "fps": float(fps),
        "phases": _phases(recording, time),
        "feet": _in_order(event for contact in contacts for event in _feet(contact)),
        "hands": _in_order(event for contact in contacts for event in _hands(contact)),
        "contacts": [
            {
                "surfaces": list(contact.surfaces),
                "bodies": list(contact.bodies),
                "spans": [[begin, _rounded(time[-1]) if end is None else end] for begin, end in contact.spans],
            }
            | ({} if forces is None else {"force": np.round(forces[:, k], _DIGITS - 2).tolist()})
            for k, contact in enumerate(contacts)
        ],
    }


class _Contact(NamedTuple):
    surfaces: tuple[str, str]
    bodies: tuple[str, str]
    grasped: bool
    spans: list[tuple[float, float | None]]
    """From when to when it was in force [s]; None: to the end."""


def _rounded(time: float) -> float:
    return round(float(time), _DIGITS)


def _phases(recording: Recording, time: np.ndarray) -> list[dict[str, Any]]:
    out, t = [], 0
    for name, steps in groupby(recording.phases):
        end = t + len(list(steps))
        out.append({"name": name, "begin": _rounded(time[t]), "end": _rounded(time[min(end, len(time) - 1)])})
        t = end
    return out


def _contacts(recording: Recording, time: np.ndarray) -> list[_Contact]:
    """Return the contacts of a recording, in its order, and when they were in force."""
    m, out = recording.model, []
    for names in recording.contacts:
        entries = [next((c for c in s if (c["first"], c["second"]) == names), None) for s in recording.contact_sets]
        there = np.array([entry is not None for entry in entries])[recording["contact_set"]]
        edges = np.flatnonzero(np.diff(there, prepend=False, append=False)).reshape(-1, 2).tolist()
        spans = [(_rounded(time[a]), None if b == len(time) else _rounded(time[b])) for a, b in edges]
        first, second = (m.body(int(m.site(name).bodyid[0])).name for name in names)
        kinds = {entry["kind"] for entry in entries if entry is not None}
        out.append(_Contact(names, (first, second), "grasp" in kinds, spans))
    return out


def _feet(contact: _Contact) -> Iterator[dict[str, Any]]:
    for foot, on in (contact.bodies, contact.bodies[::-1]):
        if foot.endswith("_foot"):
            yield from _on_and_off(contact, ("down", "up"), {"foot": foot, "on": on})


def _hands(contact: _Contact) -> Iterator[dict[str, Any]]:
    how = "grip" if contact.grasped else "palm"
    for hand, held in (contact.bodies, contact.bodies[::-1]):
        if hand.endswith("_hand"):
            yield from _on_and_off(contact, ("grasp", "release"), {"hand": hand, "held": held, "how": how})


def _on_and_off(contact: _Contact, names: tuple[str, str], what: dict[str, str]) -> Iterator[dict[str, Any]]:
    for moments in contact.spans:
        for time, name in zip(moments, names, strict=True):
            if time is not None:
                yield {"time": time, "event": name, **what}


def _in_order(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: event["time"])


def _forces(recording: Recording, fps: float) -> np.ndarray | None:
    """Return the forces of all contacts at frames (n, contacts, 3) [N], each as in the last step before; None: not known."""
    if "wrench" not in recording.known:
        return None
    replay, time = Replay(recording), recording["time"] - recording["time"][0]
    picks = np.searchsorted(time, frame_times(recording, fps) + 1e-9, side="right") - 1
    out, start = np.zeros((len(picks), len(recording.contacts), 3)), 0
    for chunk in recording.chunks():
        end = start + len(chunk["time"])
        for n in np.flatnonzero((picks >= start) & (picks < end)):
            step = replay.step(chunk, int(picks[n]) - start, int(picks[n]))
            out[n, step.touch.columns] = step.site_wrenches[:, :3]
        start = end
    return out
