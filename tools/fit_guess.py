"""Fits the motions with which gaits begin (src/interplay/spacetime/guesses.py): prints that module with new numbers.

    python tools/fit_guess.py > guesses.py; mv guesses.py src/interplay/spacetime/

Gaits of one man at several speeds, each coordinate a Fourier series over the cycle. What hardly moves is left out: so much is like anybody's.
Phases as they turned out to be, for `GAITS` of gaits.py, go to the other output.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import interplay as ip
from interplay.spacetime import guesses
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.gaits import Gait, gait
from interplay.spacetime.guesses import AXIAL, SIDED, UNIT, harmonics

SPEEDS = {"walk": (0.5, 0.8, 1.3, 1.8, 2.0), "run": (2.0, 3.0, 4.0, 5.0)}


def cycle_of(found: Gait) -> np.ndarray:
    """Return the coordinates (T, n) of a cycle, evenly spread, x ahead of one who goes evenly, and lengths of hips 0.9 m high."""
    part, body = found.part, found.part.body
    span = float(found.x[part.span[0]])
    share = np.arange(200) / 200
    second, within = np.divmod(2 * span * share, span)
    q = part.course(found.x, within)[0].q.copy()
    order, sign = body.mirror()
    q[second == 1] = sign * q[second == 1][:, order]
    q[:, 0] += found.step * (second - 2 * share)
    q[:, 0] -= q[:, 0].mean()
    q[:, :3] /= body.pendulum**2
    return q


def main() -> None:
    """Solve, fit, print."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68.0, springs=True), "ann"), "ann")
    index = {name: k for k, name in enumerate(AXIAL[:ROOT])}
    index |= {joint.removeprefix("left_"): ROOT + k for k, joint in enumerate(body.joints) if "right_" not in joint}
    print(
        Path(guesses.__file__).read_text().partition("SERIES:")[0]
        + "SERIES: dict[str, dict[float, dict[str, tuple[int, ...]]]] = {"
    )
    basis = harmonics(np.arange(200) / 200)
    for kind, speeds in SPEEDS.items():
        print(f'    "{kind}": {{')
        for speed in speeds:
            found = gait(body, kind, speed)
            spans = found.x[found.part.rate] * [phase.intervals for phase in found.part.phases]
            row = ", ".join(f"({p.intervals}, {s:.3f})" for p, s in zip(found.part.phases, spans, strict=True))
            print(f"{kind} {speed}: {row}", file=sys.stderr)
            series = np.linalg.lstsq(basis, cycle_of(found), rcond=None)[0]
            print(f"        {speed}: {{")
            for name in (*AXIAL, *SIDED):
                row = ", ".join(str(round(value / UNIT)) for value in series[:, index[name]])
                print(f'            "{name}": ({row}),')
            print("        },")
        print("    },")
    print('}\n"""Of each gait, at some speeds, of each coordinate."""')


if __name__ == "__main__":
    main()
