"""Measures for docs/skills.md: who stands again after a push, and how hard heads hit the ground.

python tools/measure_skills.py pushes 1000:1100
python tools/measure_skills.py falls 10
"""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable

import numpy as np

import interplay as ip
from interplay.catalogue import scenario
from interplay.runs.pool import measured
from interplay.runs.trials import read_seeds
from interplay.scene.penetration import Solids
from interplay.skills.repertoire import fall

WITHIN = 20.0
"""Who has fallen should stand again after so many seconds."""
HARD = 120.0
"""Impulse of a push [N·s] after which nobody of 68 kg stays on her feet."""
ARMS = ("shoulder", "elbow", "forearm", "wrist")


def pushed(seed: int) -> tuple[int, bool, float | None, str, float, float]:
    """Push one who stands; return whether she fell, when she stood again, what she did, how deep anything was, real-time factor."""
    sim = scenario("stunt")().simulation(seed=seed)
    solids, data = Solids(sim.scene.model), sim.world._data  # type: ignore[attr-defined]
    deepest, fell, up, begin = 0.0, False, None, clock.process_time()
    spent = 0.0
    while up is None and sim.time < 1.0 + WITHIN:
        sim.step()
        paused = clock.process_time()
        found = solids.overlaps(data)
        deepest = max(deepest, max((o.depth for o in found if "ground" in o.pair), default=0.0))
        label = sim.behaviour.label  # type: ignore[union-attr]
        fell = fell or label == "fall"
        if (fell and label == "balance") or (not fell and sim.time > 4.0):
            up = sim.time - 1.0
        spent += clock.process_time() - paused
    did = " ".join(entry.chosen for entry in sim.behaviour.log)  # type: ignore[union-attr]
    return seed, fell, up, did, deepest, sim.time / (clock.process_time() - begin - spent)


def pushes(seeds: str) -> None:
    """Print who stands again."""
    found = sorted(measured(pushed, read_seeds(seeds), 1))
    fallen = [one for one in found if one[1]]
    again = [one[2] for one in fallen if one[2] is not None]
    for seed, _, up, did, *_ in fallen:
        if up is None:
            print(f"    {seed} does not stand: {did}")
    print(f"{len(found)} pushes, {len(fallen)} fell, {len(again)} of them stood again within {WITHIN:g} s")
    if again:
        print(f"after {np.median(again):.1f} s, 95 % within {np.quantile(again, 0.95):.1f} s")
    print(
        f"deepest in the ground {1e3 * max(one[4] for one in found):.1f} mm; {np.median([one[5] for one in found]):.1f} times real time"
    )


def armless(skills: list[ip.Skill]) -> list[ip.Skill]:
    """Keep arms where they are as she falls."""
    for pose in fall.POSES.values():
        for joint in [joint for joint in pose if any(part in joint for part in ARMS)]:
            del pose[joint]
    return skills


def limp(skills: list[ip.Skill]) -> list[ip.Skill]:
    """Let her fall as a limp body does."""
    return [skill for skill in skills if skill.name in ("balance", "settle")]


def fallen(degrees: float, change: Callable[[list[ip.Skill]], list[ip.Skill]]) -> tuple[float, float]:
    """Push one who stands so hard that she falls; return the largest force on her head [N], and how fast it hit [m/s]."""
    sim = scenario("stunt")({"direction": degrees, "least": HARD, "most": HARD}).simulation()
    sim.behaviour = ip.Supervisor("ann", change(ip.repertoire("ann")))
    head, force, fast = sim.scene.body("ann/head"), 0.0, 0.0
    while sim.time < 4.0:
        speed = float(np.linalg.norm(sim.terms.motion(head, sim.terms.xipos[head]).velocity[:3]))
        sim.step()
        for (one, two), on in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
            if head in (one, two) and sim.scene.model.body_treeid[one if two == head else two] < 0:
                force = max(force, float(np.linalg.norm(on)))
                fast = max(fast, speed)
    return force, fast


def falls(every: str) -> None:
    """Print the largest force on the head by direction: as she falls, without arms, and limp."""
    ways: dict[str, Callable[[list[ip.Skill]], list[ip.Skill]]] = {"falls": list, "limp": limp, "no arms": armless}
    for name, change in ways.items():
        found = [(degrees, *fallen(degrees, change)) for degrees in np.arange(0.0, 360.0, float(every))]
        print(f"{name}: largest {max(f for _, f, _ in found):.0f} N at {max(v for *_, v in found):.1f} m/s; "
              f"over 1 kN in {sum(f > 1000 for _, f, _ in found)} of {len(found)} directions")  # fmt: skip
        print("    " + ", ".join(f"{d:.0f}°: {f:.0f} N" for d, f, _ in found))


if __name__ == "__main__":
    {"pushes": pushes, "falls": falls}[sys.argv[1]](sys.argv[2])
