"""The certificate: a recording checked against the laws of its world, from the recording and the saved scene alone."""

from __future__ import annotations

from typing import NamedTuple

from interplay.io.laws import laws_of
from interplay.io.ledger import Bookkeeper
from interplay.io.recording import Recording
from interplay.io.replay import Replay
from interplay.scene.penetration import PairDepth


class Certificate(NamedTuple):
    """By how much laws are violated at worst, over every step (None: not known), and all pairs of shapes that overlapped."""

    laws: dict[str, float | None]
    penetration: list[PairDepth]


def certify(recording: Recording) -> Certificate:
    """Judge a recording by the laws of its world; a law about what the recording does not hold is None."""
    laws = laws_of(recording.world)
    judged = [law for law in laws if law.needs <= recording.known]
    worst = dict.fromkeys((law.name for law in judged), 0.0)
    keeper = Bookkeeper(Replay(recording))
    for ledger in keeper.ledgers():
        for law in judged:
            worst[law.name] = max(worst[law.name], law.worst(ledger))
    return Certificate({law.name: worst.get(law.name) for law in laws}, keeper.tally.rows())
