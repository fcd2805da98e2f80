"""Fits weights of a style until the gait they make is like people's, by their curves in gait_facts.py.

    python tools/fit_style.py run:3 knee ankle haste airborne

One weight after the other is made larger and smaller by a factor; what makes the score less is kept, and the factor shrinks where nothing does. Each
gait begins with the best so far. The score is a sum of squares of what is off, over what may be: step 5 %, stance 7 %, peak force 10 %,
each angle 8° (root of the mean square over the cycle).
"""

from __future__ import annotations

import argparse

import gait_facts
import numpy as np

import interplay as ip
from interplay.errors import InputError
from interplay.spacetime.body import Body
from interplay.spacetime.gaits import Gait, guess, half_cycle, paced
from interplay.spacetime.performing import perform_gait
from interplay.spacetime.problem import Found, Problem, Role, find
from interplay.spacetime.styles import CHOSEN, Weights, style

WHO = "ann"
FACTORS = (1.5, 1.2)
MAY_BE_OFF = {"step": 0.05, "contact": 0.07, "peak": 0.10}
DEGREES = 8.0


def found(body: Body, kind: str, speed: float, weights: Weights, near: Found | None = None) -> Found:
    """Return the gait that weights make, from nothing or from another, on its mesh."""
    manner = style(body, kind, weights, speed)
    if near is None:
        phases = paced(body, kind, speed)
        role = Role(body, phases, manner, guess(body, phases, speed))
    else:
        role = near.problem.roles[WHO]._replace(style=manner)
    return find(Problem({WHO: role}, [half_cycle(WHO, speed)]), near=near is not None, meshes=1 if near else 4)


def off(seen: Found, kind: str, speed: float) -> dict[str, float]:
    """Return what is off people's, each over what may be."""
    part = seen.parts[WHO]
    step = float(seen.x[part.q[-1, 0]] - seen.x[part.q[0, 0]])
    performed = perform_gait(kind, Gait(part, seen.x, step, seen.solutions), 6)
    mine = gait_facts.facts_of(kind, performed.clip(), performed.worth[WHO].peak_force)
    known, values = gait_facts.PEOPLE[kind], mine._asdict()
    out = {
        name: (values[name] / float(np.interp(speed, known["speed"], known[name])) - 1.0) / may
        for name, may in MAY_BE_OFF.items()
    }
    for joint, angles in mine.angles.items():
        out[joint] = float(np.sqrt(np.mean((angles - gait_facts.curve(kind, joint))[:-1] ** 2))) / DEGREES
    return out


def told(score: float, parts: dict[str, float]) -> str:
    """Return a score and what it is made of."""
    return f"{score:6.2f}  " + ", ".join(f"{name} {value:+.2f}" for name, value in parts.items())


def main() -> None:
    """Fit, and print what becomes better."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gait", help="walk:1.3, run:3")
    parser.add_argument(
        "weights", nargs="+", choices=Weights._fields, metavar="WEIGHT", help=", ".join(Weights._fields)
    )
    given = parser.parse_args()
    kind, _, speed = given.gait.partition(":")
    speed = float(speed)
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68.0, springs=True), WHO), WHO)
    weights = CHOSEN[kind]
    best = found(body, kind, speed, weights)
    if not best.solved:
        raise InputError(f"{given.gait} was not solved: {', '.join(best.solutions[-1].worst)}")
    parts = off(best, kind, speed)
    score = sum(value**2 for value in parts.values())
    print(f"{'as it is':>24}: {told(score, parts)}", flush=True)
    for factor in FACTORS:
        better = True
        while better:
            better = False
            for name in given.weights:
                for share in (factor, 1.0 / factor):
                    tried = weights._replace(**{name: getattr(weights, name) * share})
                    seen = found(body, kind, speed, tried, best)
                    if not seen.solved:
                        print(f"{name + f' {getattr(tried, name):.3g}':>24}: {seen.solutions[-1].status}", flush=True)
                        continue
                    parts = off(seen, kind, speed)
                    mine = sum(value**2 for value in parts.values())
                    print(f"{name + f' {getattr(tried, name):.3g}':>24}: {told(mine, parts)}", flush=True)
                    if mine < 0.99 * score:
                        score, weights, best, better = mine, tried, seen, True
                        break
    print(weights)


if __name__ == "__main__":
    main()
