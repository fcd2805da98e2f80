"""Fits the motions with which gaits begin (src/interplay/spacetime/guesses.py): prints that module with new numbers.

    python tools/fit_guess.py > guesses.py; mv guesses.py src/interplay/spacetime/

Gaits of one man at several speeds, each coordinate a Fourier series of three harmonics over the cycle, each coefficient linear in the logarithm
of the speed. What hardly moves is left out: so much is like anybody's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import interplay as ip
from interplay.spacetime import guesses
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.gaits import Gait, gait
from interplay.spacetime.guesses import AXIAL, SIDED, harmonics

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
        + "SERIES: dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {"
    )
    for kind, speeds in SPEEDS.items():
        cycles = [cycle_of(gait(body, kind, speed)) for speed in speeds]
        basis = harmonics(np.arange(200) / 200)
        series = np.array([np.linalg.lstsq(basis, q, rcond=None)[0] for q in cycles])
        over = np.stack([np.ones(len(speeds)), np.log(np.array(speeds) / body.pendulum)], axis=1)
        fitted = np.linalg.lstsq(over, series.reshape(len(speeds), -1), rcond=None)[0].reshape(2, *series.shape[1:])
        print(f'    "{kind}": {{')
        for name in (*AXIAL, *SIDED):
            rows = [", ".join(f"{value + 0.0:.3f}" for value in row.round(3)) for row in fitted[:, :, index[name]]]
            print(f'        "{name}": (\n            ({rows[0]}),\n            ({rows[1]}),\n        ),')
        print("    },")
    print('}\n"""Of each gait and coordinate."""')


if __name__ == "__main__":
    main()
