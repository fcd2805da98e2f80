"""On a moving platform at several frictions: how she keeps her balance, by steps, ankles, hips and where her weight goes."""

from collections.abc import Mapping

import numpy as np

from interplay.catalogue import scenario

SOLES = ("ann/left_sole", "ann/right_sole")
MOVED = {"ankles": "ankle", "hips": "hip", "trunk": "torso", "shoulders": "shoulder"}


SHAKEN = {"strength": 0.8, "brisk": 2.0, "tilting": 0.3}
"""How the platform moves: quicker than her ankles can follow, and hardly tilting."""


def balanced(
    friction: float, seed: int, shaken: Mapping[str, float] = SHAKEN, seconds: float = 10.0
) -> dict[str, float]:
    """Play one seed and return what she did: angles [°] and places [cm] are root mean squares about their means."""
    sim = scenario("platform")({"friction": friction, **shaken}).simulation(seed=seed)
    m = sim.scene.model
    named = {part: [j for j in range(m.njnt) if word in m.joint(j).name] for part, word in MOVED.items()}
    angles, places, used = {part: [] for part in MOVED}, [], []
    while sim.time < seconds - 1e-9 and not sim.failure:
        sim.step()
        for part, joints in named.items():
            angles[part].append(sim.state.qpos[m.jnt_qposadr[joints]])
        places.append((sim.com("ann")[0] - sim.middle(*SOLES))[:2])
        forces = [sim.force(sole) for sole in SOLES]
        used += [np.hypot(*force[:2]) / force[2] for force in forces if force[2] > 50.0]
    return {
        "stands": float(not sim.failure),
        "steps": float(getattr(sim.behaviour, "steps", 0)),
        "weight [cm]": 100 * float(np.sqrt(np.var(places, axis=0).sum())),
        **{f"{part} [°]": float(np.degrees(np.sqrt(np.var(a, axis=0).mean()))) for part, a in angles.items()},
        "friction used, 99 %": float(np.percentile(used, 99)),
    }


if __name__ == "__main__":
    for friction in (0.8, 0.4, 0.2, 0.15):
        found = [balanced(friction, seed) for seed in range(1000, 1010)]
        stand = [one for one in found if one["stands"]]  # a fall would outdo all that balance does
        means = {key: np.mean([one[key] for one in stand]) for key in found[0] if key != "stands" and stand}
        print(
            f"friction {friction:g}: {len(stand)} of {len(found)} stand;", *(f"{k} {v:.2f}," for k, v in means.items())
        )
