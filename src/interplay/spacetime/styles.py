"""What a gait is to be like: what torques cost, which posture is liked (liu2006 learned such weights from capture).

Weights are of a man of 75 kg and 1.74 m; others' torques count in proportion to their size, and their time to that of a pendulum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.part import CLEARANCE, Style, Tie


class Weights(NamedTuple):
    """What squares of torques [1/(50 N·m)²] and of their rates cost, and what holds trunk, pelvis, legs and feet.

    Of bare soles set by hand, until walks at 1.3 and runs at 3 m/s had steps, shares of stance and forces like people's; of shoes fitted.
    """

    hip: float = 1.0
    knee: float = 0.25
    ankle: float = 0.15
    frontal: float = 0.05
    trunk: float = 1.0
    arms: float = 1.0
    haste: float = 0.001
    upright: float = 10.0
    pelvis: float = 6.0
    narrow: float = 6.0
    foot: float = 1.5
    jerk: float = 0.006
    turning: float = 8.0
    """What it costs to turn hips off the way: by torques alone they turn by 40° each way, people's by 5°."""
    airborne: float = 0.0
    """What it costs to be in the air for less of the time than people, who have tendons that bounce: by torques alone runs skim the ground."""


CHOSEN = {
    "walk": Weights(hip=0.4, knee=0.17, ankle=0.12, haste=0.0007, pelvis=4.0, jerk=0.008),
    "run": Weights(
        hip=1.5,
        knee=0.13,
        ankle=0.1,
        frontal=0.033,
        haste=0.0007,
        jerk=0.045,
        upright=30.0,
        pelvis=15.0,
        narrow=15.0,
        foot=3.4,
        turning=25.0,
        airborne=600.0,
    ),
    "jump": Weights(
        hip=0.4,
        knee=0.17,
        ankle=0.12,
        arms=0.3,
        haste=0.0007,
        jerk=0.008,
        upright=2.0,
        pelvis=1.0,
        airborne=100.0,
    ),
}
SHOD = {
    **CHOSEN,
    "walk": Weights(
        hip=1.06,
        knee=0.079,
        ankle=0.121,
        frontal=0.124,
        trunk=0.845,
        arms=0.91,
        haste=0.0035,
        upright=15.0,
        pelvis=5.9,
        narrow=5.7,
        foot=3.0,
        jerk=0.010,
        turning=7.7,
    ),
    "run": Weights(
        hip=0.22,
        knee=0.067,
        ankle=0.035,
        frontal=0.076,
        trunk=0.94,
        arms=0.91,
        haste=0.0024,
        upright=21.5,
        pelvis=15.6,
        narrow=24.0,
        foot=2.44,
        jerk=0.094,
        turning=31.0,
        airborne=1450.0,
    ),
}
"""In shoes: fitted, from the others, to people's steps, stance and peak forces of walks at 1.3 and 1.8 and runs at 3 and 4 m/s, and to angles
at 1.3 and 3 m/s (``tools/fit_style.py``)."""
ELBOWS = {"walk": 0.35, "run": 1.6, "jump": 0.35}
"""How far elbows are bent [rad]."""
LEAN = {"walk": 0.04, "run": 0.14, "jump": 0.2}
"""How far the trunk leans forward [rad]."""
TILT = {"walk": 0.04, "run": 0.22, "jump": 0.04}
"""How far the pelvis does: in runs it tilts beneath an upright trunk."""
ARMS, BACK = {"walk": 0.7, "run": 0.9, "jump": 1.2}, {"walk": 0.1, "run": 0.35, "jump": -0.2}
"""How far an arm swings against its leg, of what that does, and how far back it is on the mean [rad]."""
OUTWARD, INWARD = 0.1, 0.04
"""How far legs are turned outward and lean inward on the mean [rad]."""
POINTED = 0.03
"""How far feet point down in what is liked best [rad]."""
CALM, CALM_FEET = 0.001, 0.01
"""What squares of joints' speeds cost: next to nothing, but the solver creeps along what costs nothing, such as a foot's angle in the air."""


FLIGHT = 0.25
"""For what share of a jump nothing is touched."""


def airborne(speed: float) -> float:
    """Return for what share of the time people who run at a speed [m/s] touch nothing: of about 1.74 m (``tools/gait_facts.py`` names whom)."""
    return float(np.clip(0.18 + 0.31 * np.log(speed / 2.0), 0.0, 0.5))


def lift(speed: float) -> float:
    """Return how high heels rise at least where people run at a speed [m/s], of a man of 1.74 m [m]: knees fold by 90° at 3 m/s."""
    return max(CLEARANCE, 0.32 + 0.15 * np.log(speed / 3.0))


_GROUPS = {
    "hip_flexion": "hip",
    "knee_flexion": "knee",
    "ankle_flexion": "ankle",
    "hip_abduction": "frontal",
    "hip_rotation": "frontal",
    "ankle_inversion": "frontal",
}


def style(body: Body, kind: str = "walk", weights: Weights | None = None, speed: float | None = None) -> Style:
    """Return what is minimised: torques and their rates, arms that swing against legs, a trunk and a head that stay upright and look ahead.

    With a speed [m/s], runs are in the air for about as much of the time as people's.
    """
    weights, n = weights or (SHOD if body.shoes else CHOSEN)[kind], body.n
    rest, posture, calm = np.zeros(n), np.zeros(n), np.full(n, CALM)
    rest[ROOT:] = body.coordinates(body.scene.qpos)[ROOT:]
    size = (75 * 1.74 / (body.mass * body.height)) ** 2
    effort, given = np.zeros(n - ROOT), weights._asdict()
    swings = body.doing("left_shoulder_flexion") is not None
    for k, (joint, sign) in enumerate(body.does):
        arm = any(part in joint for part in ("shoulder", "elbow", "wrist", "forearm", "clavicle"))
        trunk = any(part in joint for part in ("torso", "neck", "head", "waist"))
        effort[k] = given[_GROUPS.get(_one_side(joint), "arms" if arm else "trunk" if trunk else "frontal")]
        if arm:
            posture[ROOT + k] = 0.5
        if trunk:
            posture[ROOT + k], calm[ROOT + k] = 0.5, 0.002
        if "hip_abduction" in joint or "hip_rotation" in joint:
            rest[ROOT + k] = sign * (OUTWARD if "rotation" in joint else -INWARD)
            posture[ROOT + k] = weights.narrow
        if "ankle" in joint:
            posture[ROOT + k], calm[ROOT + k] = weights.foot, CALM_FEET
            rest[ROOT + k] = -sign * POINTED if "flexion" in joint else 0.0
        if "elbow" in joint and swings:
            rest[ROOT + k] = sign * ELBOWS[kind]
    calm[:3] = 0.0
    posture[3:6], calm[3:6] = (weights.turning, weights.pelvis, weights.pelvis), 0.005
    rest[5] = TILT[kind]
    effort *= size
    haste = effort * weights.haste * body.height / 1.74
    ties = []
    for side in ("left", "right"):
        arm, leg = body.doing(f"{side}_shoulder_flexion"), body.doing(f"{side}_hip_flexion")
        if arm is not None and leg is not None:
            posture[arm[0]] = 0.0
            ties.append(Tie((arm, (leg[0], leg[1] * ARMS[kind])), ARMS[kind] * 0.2 - BACK[kind], 3.0))

    def turning(*named: str) -> list[tuple[int, float]]:
        return [(ROOT + k, sign) for k, (joint, sign) in enumerate(body.does) if joint in named]

    for axis, ending, lean in ((3, "yaw", 0.0), (4, "side", 0.0), (5, "flexion", LEAN[kind])):
        trunk = turning(f"torso_{ending}")
        head = turning(f"neck_{ending}", f"head_{ending}") + (turning("head_nod") if axis == 5 else [])
        if trunk and axis != 3:
            ties.append(Tie(((axis, 1.0), *trunk), lean, weights.upright))
        if head:
            ties.append(Tie(((axis, 1.0), *trunk, *head), 0.0, weights.upright))
    return Style(
        effort,
        haste,
        rest,
        posture,
        calm,
        tuple(ties),
        force=0.002 * (75 / body.mass) ** 2,
        jerk=weights.jerk * (75 / body.mass) ** 2,
        lift=lift(speed / body.pendulum) * body.height / 1.74 if speed and kind == "run" else CLEARANCE,
        airborne=(airborne(speed / body.pendulum) if speed else FLIGHT, weights.airborne)
        if speed or kind == "jump"
        else (0.0, 0.0),
    )


def _one_side(joint: str) -> str:
    return joint.removeprefix("left_").removeprefix("right_")
