"""Fits weights of a style until the gaits they make are as like people's as they get, by what gait_facts.py knows of those.

    python tools/fit_style.py walk:0.8 walk:1.3 walk:1.8
    python tools/fit_style.py run:2 run:3 run:4 --weights knee ankle haste airborne

Of who wears shoes. Least squares (Levenberg and Marquardt) in the logarithms of weights: each is made larger in turn to see what that changes,
each gait begins with the best so far, and it ends where two steps in a row gain less than 1 % of the score. The score is a sum of squares of
what is off, over what may be: step 5 %, stance 7 %, peak force 10 %, and, at the speed at which they are known, each angle 8° (mean over the
cycle). What a weight is off what it was, by a factor of e, costs a little, so that weights which change nothing stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import gait_facts
import numpy as np

import interplay as ip
from interplay.errors import InputError, pick
from interplay.spacetime.body import Body
from interplay.spacetime.gaits import Gait, guess, half_cycle, paced
from interplay.spacetime.performing import perform_gait
from interplay.spacetime.problem import Found, Problem, Role, find
from interplay.spacetime.styles import SHOD, Weights, style

WHO = "ann"
MAY_BE_OFF = {"step": 0.05, "contact": 0.07, "peak": 0.10}
DEGREES = 8.0
POINTS = np.arange(0, 100, 5)
"""Percents of the cycle at which angles are compared."""
NUDGE, STAY, MOST, GAIN = 0.15, 0.1, 1.0, 0.01
"""How far a logarithm is moved to see what that changes; what its square costs; how far it goes in a step at most; and what ends it."""


class Seen(NamedTuple):
    """Weights, the gaits that they make, by speed, and what is off people's, by speed: each over what may be."""

    weights: Weights
    gaits: dict[float, Found]
    off: dict[float, dict[str, np.ndarray]]

    @property
    def all_off(self) -> np.ndarray:
        """All that is off, one after the other."""
        return np.concatenate([part for parts in self.off.values() for part in parts.values()])

    @property
    def score(self) -> float:
        """Sum of squares of what is off."""
        return float(self.all_off @ self.all_off)

    def __str__(self) -> str:
        told = [
            f"{speed:g} m/s: " + ", ".join(f"{name} {_size(part):+.2f}" for name, part in parts.items())
            for speed, parts in self.off.items()
        ]
        return f"{self.score:6.2f}  {'; '.join(told)}"


def _size(part: np.ndarray) -> float:
    return float(part[0] if len(part) == 1 else np.linalg.norm(part))


class Fit:
    """A kind of gait whose weights are sought."""

    def __init__(self, kind: str, speeds: Sequence[float]):
        """Take the gaits, and find them with the weights there are."""
        self.kind, self.speeds = kind, speeds
        self.body = Body(ip.Scene().add(ip.Humanoid(1.74, 68.0, springs=True, shoes=True), WHO), WHO)
        seen = self.seen(SHOD[kind])
        if seen is None:
            raise InputError(f"{kind} was not solved at all of {speeds} m/s with the weights there are")
        self.best: Seen = seen

    def seen(self, weights: Weights, near: Seen | None = None) -> Seen | None:
        """Return the gaits that weights make, from nothing or from others on their meshes; nothing where one is not solved."""
        gaits, off = {}, {}
        for speed in self.speeds:
            manner = style(self.body, self.kind, weights, speed)
            if near is None:
                phases = paced(self.body, self.kind, speed)
                role = Role(self.body, phases, manner, guess(self.body, phases, speed))
            else:
                role = near.gaits[speed].problem.roles[WHO]._replace(style=manner)
            laws = [half_cycle(WHO, speed)]
            gaits[speed] = find(Problem({WHO: role}, laws), near=near is not None, meshes=1 if near else 4)
            if not gaits[speed].solved:
                return None
            off[speed] = self._off(gaits[speed], speed)
        return Seen(weights, gaits, off)

    def _off(self, found: Found, speed: float) -> dict[str, np.ndarray]:
        part = found.parts[WHO]
        step = float(found.x[part.q[-1, 0]] - found.x[part.q[0, 0]])
        performed = perform_gait(self.kind, Gait(part, found.x, step, found.solutions), 6)
        mine = gait_facts.facts_of(self.kind, performed.clip(), performed.worth[WHO].peak_force)
        known, values = gait_facts.PEOPLE[self.kind], mine._asdict()
        out = {
            name: np.array([(values[name] / float(np.interp(speed, known["speed"], known[name])) - 1.0) / may])
            for name, may in MAY_BE_OFF.items()
        }
        if speed == gait_facts.CURVES_AT[self.kind]:
            for joint, angles in mine.angles.items():
                away = (angles - gait_facts.curve(self.kind, joint))[POINTS]
                out[joint] = away / DEGREES / np.sqrt(len(POINTS))
        return out

    def scaled(self, names: Sequence[str], logs: np.ndarray) -> Weights:
        """Return the weights there were, times factors of which logarithms are given."""
        begun = SHOD[self.kind]
        factors = dict(zip(names, np.exp(logs), strict=True))
        return begun._replace(**{name: getattr(begun, name) * float(factor) for name, factor in factors.items()})

    def run(self, names: Sequence[str]) -> None:
        """Fit, and print what becomes better."""
        print(f"as it is: {self.best}", flush=True)
        logs, damping, rests = np.zeros(len(names)), 0.1, 0
        while rests < 2:
            off, slopes = self.best.all_off, np.zeros((len(self.best.all_off), len(names)))
            for k, name in enumerate(names):
                for nudge in (NUDGE, -NUDGE):
                    seen = self.seen(self.scaled(names, logs + nudge * np.eye(len(names))[k]), self.best)
                    if seen is not None:
                        slopes[:, k] = (seen.all_off - off) / nudge
                        print(f"    {name:>9} x {np.exp(nudge):.2f}: {seen}", flush=True)
                        break
            before = self._whole(self.best, logs)
            while damping < 1e3:
                curved = slopes.T @ slopes
                curved += STAY * np.eye(len(names)) + damping * np.diag(np.diag(curved))
                step = np.clip(-np.linalg.solve(curved, slopes.T @ off + STAY * logs), -MOST, MOST)
                seen = self.seen(self.scaled(names, logs + step), self.best)
                print(f"damped by {damping:.3g}: {seen or 'not solved'}", flush=True)
                if seen is not None and self._whole(seen, logs + step) < before:
                    self.best, logs, damping = seen, logs + step, damping / 4
                    break
                damping *= 4
            print(self.best.weights, flush=True)
            rests = rests + 1 if self._whole(self.best, logs) > (1.0 - GAIN) * before else 0

    @staticmethod
    def _whole(seen: Seen, logs: np.ndarray) -> float:
        return seen.score + STAY * float(logs @ logs)


def main() -> None:
    """Fit, and print what becomes better."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gaits", nargs="+", help="of one kind: walk:1.3, run:3")
    parser.add_argument("--weights", nargs="+", help="by default all: " + ", ".join(Weights._fields))
    given = parser.parse_args()
    kinds, speeds = zip(*(gait.partition(":")[::2] for gait in given.gaits), strict=True)
    known = pick("gait", kinds[0], SHOD)._asdict()
    if set(kinds) != {kinds[0]}:
        raise InputError(f"expected gaits of one kind, got {' and '.join(sorted(set(kinds)))}")
    names = given.weights or [name for name in known if known[name]]
    for name in names:
        pick("weight", name, known)
    Fit(kinds[0], [float(speed) for speed in speeds]).run(names)


if __name__ == "__main__":
    main()
