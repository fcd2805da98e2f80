"""Measures for docs/simulated.md: quiet standing, the king's reach, the programs of abe2007's Table 1, what conflicts cost.

python tools/measure_simulated.py quiet|reach|programs|ordeals
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

import interplay as ip
from interplay.catalogue import scenario
from interplay.control.integrated import IntegratedController
from interplay.runs.run import run
from interplay.scenario import stands
from interplay.simulation import CONTROLLERS

STANDING, SETTLED = 60.0, 10.0
"""How long she stands [s], and when she has come to rest: what comes later counts."""

PUSHED = (70.0, 70.0, 0.0)
"""A push [N] of 0.1 s after a second of standing, 10 N·s obliquely; after it nothing may go on swinging."""

WAYS = {
    "forward 0.8 m": (0.8, 0, 0),
    "to the right 0.8 m": (0, -0.8, 0),
    "to the left 1.0 m": (0, 1.0, 0),
    "up 0.7 m": (0, 0, 0.7),
    "right and down": (0.2, -0.8, -0.4),
    "back and right": (-0.5, -0.5, 0.2),
}
"""Where the king's hand is asked to go from where it is, as in docs/cooperation.md."""

THEIRS = {
    "platform": (140, 13, 14.5),
    "pelted": (140, 13, 14.5),
    "sobriety": (146, 16, 13.8),
    "mishap": (143, 14, 15.8),
    "wall": (172, 29, 17.7),
}
"""Table 1 of abe2007: variables, average milliseconds and iterations of a program."""


def standing(rate: float) -> ip.Simulation:
    """Return someone who stands, feet in place."""
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
    sim = ip.Simulation(scene, 1.0 / rate, world="simulated")
    stands(sim, "ann", steps=False)
    return sim


def watched(sim: ip.Simulation, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the horizontal places of her centre of mass (T, 2) [m] and the torques (T, nv) [N·m] of some seconds."""
    places, torques = [], []
    for _ in range(round(seconds / sim.dt)):
        torques.append(sim.step().tau)
        places.append(sim.com("ann")[0][:2])
    return np.array(places), np.array(torques)


def quiet() -> None:
    """Print sway and ripple of a minute, and what is left of a push."""
    for rate in (30.0, 100.0, 500.0):
        places, torques = watched(standing(rate), STANDING)
        rest = round(SETTLED * rate)
        sway = np.abs(places[rest:] - places[rest:].mean(axis=0)).max()
        ripple = np.sqrt(np.mean(np.diff(torques[rest:], axis=0) ** 2, axis=0)).max()
        sim = standing(rate)
        sim.run(1.0)
        sim.live.push("ann/chest", PUSHED, 0.1)
        places, _ = watched(sim, 30.0)
        away = np.abs(places - places[-1]).max(axis=1)
        left = [1e3 * away[round(begin * rate) : round(end * rate)].max() for begin, end in ((0, 2), (2, 5), (5, 20))]
        print(
            f"{rate:g} Hz: sway {1e3 * sway:.1e} mm; torque from step to step, RMS of the worst joint {ripple:.1e} N·m; after a push, "
            f"within 2, 5 and 20 s, at most {left[0]:.1f}, {left[1]:.3f} and {left[2]:.1e} mm off"
        )


def reach() -> None:
    """Print how far from what it reaches for the king's hand remains, with the litter free and held."""
    for way, goal in WAYS.items():
        print(f"{way}:", *(f"{world} {_missed(world, goal)}" for world in ("direct", "simulated")), flush=True)


def _missed(world: str, way: tuple[float, ...]) -> str:
    found = []
    for fixed in (False, True):
        sim = scenario("king")({"carried": True, "fixed": fixed}).simulation(0.01, world=world)
        hand = sim.scene.site("king/right_palm")
        goal = sim.terms.site_xpos[hand] + way
        sim.run(1.0)
        sim.live.set("reach", goal)
        sim.run(7.0)
        found.append(100.0 * float(np.linalg.norm(sim.terms.site_xpos[hand] - goal)))
    return "{:.1f} cm free, {:.1f} cm held;".format(*found)


def programs() -> None:
    """Print variables, average time and working-set changes of the programs of each experiment, beside theirs."""
    for name, theirs in THEIRS.items():
        changes: list[int] = []

        def watch(sim: ip.Simulation, changes: list[int] = changes) -> object:
            return lambda state, outcome, seconds: changes.append(outcome.plan.proof.iterations)

        with tempfile.TemporaryDirectory() as out:
            run(name, out, seconds=15.0, watch=watch)  # type: ignore[arg-type]
            recording = ip.Recording(out)
        size = recording.sizes[max(set(recording.phases), key=recording.phases.count)]
        print(
            f"{name}: theirs {theirs[0]} variables, {theirs[1]} ms, {theirs[2]} iterations; ours {size['vars']} ({size['paper_qp']} "
            f"with torques and generators), {np.mean(recording['solve_ms']):.2f} ms (with its assembly "
            f"{np.mean(recording['solve_ms'] + recording['assemble_ms']):.2f}), {np.mean(changes):.1f} changes",
            flush=True,
        )


class _Timed(IntegratedController):
    """Times plans in which rows gave way."""

    cost: ClassVar[list[float]] = []

    def solve(self, state, demands):
        begin = time.process_time()
        plan = super().solve(state, demands)
        if any(c.kind != "fall" for c in plan.conflicts):
            self.cost.append(1e3 * (time.process_time() - begin))
        return plan


def ordeals() -> None:
    """Print what plans cost in which rows gave way [ms of the processor], over all ordeals: of one character, and of several."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from ordeals import SCENARIOS, simulated_ordeal

    CONTROLLERS["integrated"] = _Timed
    found: dict[str, list[float]] = {"one": [], "several": []}
    for seed in range(500):
        _Timed.cost.clear()
        watch = simulated_ordeal(seed)
        who = "several" if len(watch.sim.falls.characters) > 1 else "one"
        found[who] += _Timed.cost
        print(
            f"{seed} {SCENARIOS[seed % len(SCENARIOS)]}: surplus {watch.surplus:.4f}, lowest {watch.lowest:.4f} m",
            flush=True,
        )
    for who, cost in found.items():
        middle, nearly = np.percentile(cost, [50, 99])
        print(
            f"{who}: {len(cost)}, median {middle:.2f}, 99 % {nearly:.1f}, worst {max(cost):.1f}, over 5: {np.mean(np.array(cost) > 5):.1%}"
        )


if __name__ == "__main__":
    {"quiet": quiet, "reach": reach, "programs": programs, "ordeals": ordeals}[sys.argv[1]]()
