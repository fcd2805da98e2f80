"""The certificate: a recording checked against the laws of its world, from the recording and the saved scene alone."""

from __future__ import annotations

from interplay.io.laws import laws_of
from interplay.io.ledger import Bookkeeper
from interplay.io.recording import Recording
from interplay.io.replay import Replay


def certify(recording: Recording) -> dict[str, float | None]:
    """Return by how much each law of a recording's world is violated at worst, over every step.

    None: the recording does not hold what the law is about.
    """
    laws = laws_of(recording.world)
    judged = [law for law in laws if law.needs <= recording.known]
    worst = dict.fromkeys((law.name for law in judged), 0.0)
    for ledger in Bookkeeper(Replay(recording)).ledgers():
        for law in judged:
            worst[law.name] = max(worst[law.name], law.worst(ledger))
    return {law.name: worst.get(law.name) for law in laws}
