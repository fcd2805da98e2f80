"""Words of held hands: who walks hand in hand, each with steps of their own, as a motion that goes round and round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from interplay.errors import InputError, pick
from interplay.scene.scene import Scene
from interplay.spacetime.actions import Action, Walk
from interplay.spacetime.holding import Held
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.rounds import Walker, check_walkers, together
from interplay.spacetime.solving import Progress


class Hands(NamedTuple):
    """Who hold hands, from right to left, and whose own way of walking counts more."""

    names: tuple[str, ...]
    leader: str | None = None

    def walkers(self, scene: Scene, actions: Mapping[str, Sequence[Action]]) -> tuple[list[Walker], float]:
        """Return who walks with how many steps in a round, and the speed [m/s], as their actions say.

        Each walks once, all at one speed; where somebody stands in the scene does not count: they begin side by side, and walk along x.
        """
        if len(set(self.names)) != len(self.names) or len(self.names) < 2:
            raise InputError(f"hold_hands: expected two characters at least, each once, got {', '.join(self.names)}")
        if others := sorted(set(actions) - set(self.names)):
            raise InputError(f"hold_hands: expected that all who act hold hands, but {', '.join(others)} does not")
        walkers, speeds = list[Walker](), set[float]()
        for k, who in enumerate(self.names):
            doing = pick("character that acts", who, dict(actions))
            walk = doing[0]
            if len(doing) != 1 or not isinstance(walk, Walk) or walk.turn or walk.kind != "walk":
                raise InputError(
                    f"hold_hands: expected one walk of {who}, such as walk(1.0, steps=4), and nothing else"
                )
            walkers.append(Walker(who, scene.placed(who), walk.steps, "left" if k % 2 == 0 else "right"))
            speeds.add(walk.speed)
        if len(speeds) != 1:
            told = ", ".join(f"{speed:g}" for speed in sorted(speeds))
            raise InputError(f"hold_hands: expected that all walk at one speed, got {told} m/s")
        speed = speeds.pop()
        check_walkers(walkers, speed, self.leader)
        return walkers, speed


def hand_in_hand(
    walkers: Sequence[Walker],
    speed: float,
    leader: str | None = None,
    *,
    alternating: bool = False,
    rounds: int = 2,
    progress: Progress | None = None,
    name: str = "hand_in_hand",
) -> Performance:
    """Return the motion of people who walk along x hand in hand, from right to left: see `rounds.together`."""
    walked = together(walkers, speed, leader, alternating, progress=progress)
    held = [
        Held((f"{one}/left_grip", f"{other}/right_grip"), ((one, a), (other, b)))
        for (one, a), (other, b) in walked.hands
    ]
    return perform(name, walked.found, rounds, between=lambda _: walked.said(), held=held)
