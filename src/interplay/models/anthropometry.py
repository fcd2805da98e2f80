"""The default human in numbers: segments (De Leva 1996, Table 4), joint ranges (AAOS 1965) and strength."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

REFERENCE_STATURE = {"male": 1.741, "female": 1.735}
"""Stature [m] of the samples behind the segment lengths."""


class Segment(NamedTuple):
    """One body segment, already scaled: length [m], mass [kg], CM [m] from the first landmark, inertia [kg·m²] about the CM.

    The inertia is about the sagittal (x), transverse (y) and longitudinal (z) axes.
    """

    length: float
    mass: float
    cm: float
    inertia: tuple[float, float, float]


# segment: (length mm, mass %, CM fraction, radii of gyration) for male and female.
_TABLE = {
    "head": ((242.9, 6.94, 0.5002, (0.303, 0.315, 0.261)), (243.7, 6.68, 0.4841, (0.271, 0.295, 0.261))),
    "upper_trunk": ((242.1, 15.96, 0.5066, (0.505, 0.320, 0.465)), (228.0, 15.45, 0.5050, (0.466, 0.314, 0.449))),
    "mid_trunk": ((215.5, 16.33, 0.4502, (0.482, 0.383, 0.468)), (205.3, 14.65, 0.4512, (0.433, 0.354, 0.415))),
    "lower_trunk": ((145.7, 11.17, 0.6115, (0.615, 0.551, 0.587)), (181.5, 12.47, 0.4920, (0.433, 0.402, 0.444))),
    "upper_arm": ((281.7, 2.71, 0.5772, (0.285, 0.269, 0.158)), (275.1, 2.55, 0.5754, (0.278, 0.260, 0.148))),
    "forearm": ((268.9, 1.62, 0.4574, (0.276, 0.265, 0.121)), (264.3, 1.38, 0.4559, (0.261, 0.257, 0.094))),
    "hand": ((187.9, 0.61, 0.3624, (0.288, 0.235, 0.184)), (170.1, 0.56, 0.3427, (0.244, 0.208, 0.154))),
    "thigh": ((422.2, 14.16, 0.4095, (0.329, 0.329, 0.149)), (368.5, 14.78, 0.3612, (0.369, 0.364, 0.162))),
    "shank": ((440.3, 4.33, 0.4395, (0.251, 0.246, 0.102)), (438.6, 4.81, 0.4352, (0.267, 0.263, 0.092))),
    "foot": ((258.1, 1.37, 0.4415, (0.257, 0.245, 0.124)), (228.3, 1.29, 0.4014, (0.299, 0.279, 0.139))),
}
_PAIRED = {"upper_arm", "forearm", "hand", "thigh", "shank", "foot"}
_COLUMN = ("head", "upper_trunk", "mid_trunk", "lower_trunk", "thigh", "shank")

# Of a stature of 1.74 m [m]; they scale with height (design of the default human).
WIDTHS = {
    "shoulder": 0.185,
    "hip": 0.085,
    "sole_length": 0.25,
    "sole_width": 0.095,
    "ankle_height": 0.08,
    "heel": 0.06,
    "palm_length": 0.09,
    "palm_width": 0.08,
}


class Range(NamedTuple):
    """One anatomical motion: axis (left side), range [deg] (AAOS 1965), torque [N·m] of a strong adult of 75 kg, speed [rad/s]."""

    axis: tuple[float, float, float]
    low: float
    high: float
    torque: float
    speed: float


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_MX, _MY = (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)

# Dorsiflexion is the weight-bearing 30°, not the table's 20°: a heel stays down in a squat.
# x forward, y left, z up; flexion, abduction (left: away from the body) and outward rotation are positive.
MOTIONS = {
    "neck_flexion": Range(_Y, -45, 45, 40, 6),
    "neck_side": Range(_X, -45, 45, 40, 6),
    "neck_yaw": Range(_Z, -60, 60, 40, 6),
    "head_nod": Range(_Y, -25, 25, 40, 6),
    "head_yaw": Range(_Z, -60, 60, 40, 6),
    "torso_flexion": Range(_Y, -25, 80, 250, 6),
    "torso_side": Range(_X, -35, 35, 200, 6),
    "torso_yaw": Range(_Z, -45, 45, 200, 6),
    "clavicle_lift": Range(_X, -10, 40, 110, 12),
    "shoulder_flexion": Range(_MY, -60, 180, 110, 12),
    "shoulder_abduction": Range(_X, -30, 180, 110, 12),
    "shoulder_rotation": Range(_Z, -70, 90, 60, 12),
    "elbow_flexion": Range(_MY, 0, 150, 90, 12),
    "forearm_rotation": Range(_Z, -80, 80, 15, 12),
    "wrist_flexion": Range(_MX, -70, 80, 20, 12),
    "wrist_deviation": Range(_MY, -30, 20, 20, 12),
    "hip_flexion": Range(_MY, -30, 120, 220, 10),
    "hip_abduction": Range(_X, -30, 45, 150, 10),
    "hip_rotation": Range(_Z, -45, 45, 80, 10),
    "knee_flexion": Range(_Y, 0, 150, 230, 10),
    "ankle_flexion": Range(_MY, -50, 30, 180, 10),
    "ankle_inversion": Range(_MX, -20, 35, 60, 10),
}

SPRINGS = {"hip_flexion": (28.0, 20.0), "ankle_flexion": (-12.0, 130.0)}
"""Passive tissue: rest [deg] and stiffness k [N·m/rad³] of torques −k x³, x away from rest, of a man of 75 kg and 1.74 m."""

SHOES = 125e3
"""Stiffness of the heel of a shoe with the foot's own pad, and of its toes [N/m], of a man of 75 kg: between the 100 and 150 kN/m that are commonly
quoted of shod heels that a pendulum hits (Aerts and De Clercq 1993; not looked up anew)."""

_ARM7 = {
    "upper_arm": ("shoulder_flexion", "shoulder_abduction", "shoulder_rotation"),
    "forearm": ("elbow_flexion",),
    "hand": ("forearm_rotation", "wrist_flexion", "wrist_deviation"),
}
_LEG6 = {
    "thigh": ("hip_rotation", "hip_abduction", "hip_flexion"),
    "shank": ("knee_flexion",),
    "foot": ("ankle_flexion", "ankle_inversion"),
}

# body: its motions, in order. A body without motions is welded to its parent.
JOINT_SETS: dict[str, dict[str, tuple[str, ...]]] = {
    "30": {
        "abdomen": ("torso_flexion",),
        "chest": ("torso_yaw",),
        "neck": ("neck_flexion",),
        "head": ("head_yaw",),
        **_ARM7,
        **_LEG6,
    },
    "31": {
        "abdomen": ("torso_flexion", "torso_side"),
        "chest": ("torso_yaw",),
        "neck": ("neck_flexion", "neck_side", "neck_yaw"),
        "head": ("head_nod",),
        "upper_arm": ("shoulder_flexion", "shoulder_abduction"),
        "forearm": ("elbow_flexion", "forearm_rotation"),
        "hand": ("wrist_flexion", "wrist_deviation"),
        **_LEG6,
    },
    "34": {
        "abdomen": ("torso_flexion", "torso_side"),
        "chest": ("torso_yaw",),
        "neck": ("neck_flexion", "neck_side"),
        "head": ("head_yaw",),
        "clavicle": ("clavicle_lift",),
        **_ARM7,
        **_LEG6,
    },
    "planar": {
        "abdomen": ("torso_flexion",),
        "neck": ("neck_flexion",),
        "head": ("head_nod",),
        "upper_arm": ("shoulder_flexion",),
        "forearm": ("elbow_flexion",),
        "thigh": ("hip_flexion",),
        "shank": ("knee_flexion",),
        "foot": ("ankle_flexion",),
    },
}
"""30: vaillant2017; 31: faloutsos2001; 34: liu2012 (its split is not printed: clavicles taken); planar: 3 + 13 DOF."""


def segments(
    height: float, mass: float, sex: str, head_scale: float = 1.0, leg_scale: float = 1.0
) -> dict[str, Segment]:
    """Return the scaled segments of a body.

    De Leva's landmarks do not lie on one line, so the lengths of the standing column (head, trunk, legs, ankle) add up to a
    little more than the stature; they are scaled together so that the body is exactly ``height`` tall. ``head_scale`` and
    ``leg_scale`` change proportions (child, big-headed) before that; masses follow the volumes and sum to ``mass``.
    """
    column = 0 if sex == "male" else 1
    reference = REFERENCE_STATURE[sex]
    shape = {
        name: head_scale if name == "head" else leg_scale if name in ("thigh", "shank") else 1.0 for name in _TABLE
    }
    raw = {name: _TABLE[name][column][0] / 1000 / reference * shape[name] for name in _TABLE}
    stack = sum(raw[name] for name in _COLUMN) + WIDTHS["ankle_height"] / 1.74
    share = {name: _TABLE[name][column][1] * (shape[name] ** 3 if name == "head" else shape[name]) for name in _TABLE}
    total = sum(value * (2 if name in _PAIRED else 1) for name, value in share.items())
    out = {}
    for name, rows in _TABLE.items():
        _, _, cm, radii = rows[column]
        length = raw[name] * height / (stack if name in _COLUMN else 1.0)
        kg = mass * share[name] / total
        inertia = kg * (np.asarray(radii) * length) ** 2
        out[name] = Segment(length, kg, cm * length, (float(inertia[0]), float(inertia[1]), float(inertia[2])))
    return out
