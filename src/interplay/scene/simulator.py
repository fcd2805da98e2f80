"""A scene for MuJoCo's own contact physics: one set of settings for all that is simulated, part of the saved ``scene.xml``.

- Steps are ``implicit``, Coriolis forces included (with ``implicitfast`` an arm whipped to 400 rad/s gained 6 kJ); contacts
  are elliptic cones, firm against slipping (``impratio`` 10: a pyramid slips a fifth too early), with a time constant of 5 ms. Jacobians
  are dense: with sparse ones (MuJoCo's own choice from 60 DOFs on) its solver once stopped far from the solution, which made 0.6 kJ.
- Patches of characters (soles, palms) get **pads**: flat boxes just under them. Meshes meet the ground in one spot of their vertices,
  pads with four corners, which is what a program counts on.
- A friction that is stated for a model holds against whatever touches it; of two such models, that of the more slippery one.
- Motors are torques or **servos**: gain and bias of each are those of a servo, with ``biastype`` none, which makes it a torque; affine,
  it is the servo (kp and kd in ``biasprm``). Either way its force is limited, not its control.
- Parts of one mechanism do not collide, nor do hands with hands and with what has grips for them: grips hold by springs; nor, of a
  character, what only a body without a shape lies between (chest and upper arm, by the clavicle): they overlap as neighbours do;
  nor its parts that overlap in its own posture, whatever it begins in: meshes of a file often do, around joints, and would burst
  apart.
- What is round and free rolls with resistance (a part of its radius), and comes to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from interplay.models.base import PAD_GROUP
from interplay.models.motors import servo_gains, torque_limits

LONGEST = 0.002
"""Longest step of the simulator [s]."""
FIRMNESS, FRICTION = (0.005, 1.0), 0.8
"""Time constant [s] and damping ratio of contacts; Coulomb's coefficient of everything, unless a scene says otherwise."""
PATIENCE = 1000
"""Most iterations of the simulator's solver. It needs few, but 311 were seen in a fall; where MuJoCo's 100 end it, its forces are
anything: that step made 14 kJ of 0.6."""
ROLLING = 0.03
"""Part of its weight that resists what rolls: a ball on a lawn, or a soft one on a floor."""
ROUGHEST = 10.0
"""Largest coefficient that can be stated."""
SOLID, PAD = 1, 2
"""Bits of what collides: solid shapes with each other and with pads, pads with pads."""
_ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER)
_THICK, _PROUD = 0.008, 0.0005
"""Half thickness of a pad, and how far it stands out of its patch [m]."""


def steps_within(dt: float) -> int:
    """Return how many steps of the simulator make a control step."""
    return max(1, int(np.ceil(dt / LONGEST - 1e-9)))


def precedence(friction: float) -> int:
    """Return the priority of shapes whose friction is stated: MuJoCo would take the larger one of two that have the same."""
    return 1 + round(1e4 * (ROUGHEST - friction))


def furnish(
    spec: mujoco.MjSpec,
    m: mujoco.MjModel,
    qpos: np.ndarray,
    kind: Callable[[str], str],
    stated: Mapping[str, float],
    timestep: float,
) -> None:
    """Give a scene's specification, compiled as ``m``, what the simulator needs.

    ``qpos`` is the configuration in which all models are in their own postures, ``kind`` that of a placed model, ``stated`` the friction
    of those for which it is.
    """
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICIT
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.option.iterations = PATIENCE
    for geom in spec.geoms:
        if geom.contype or geom.conaffinity:
            geom.contype, geom.conaffinity = SOLID, SOLID | PAD
            geom.solref, geom.friction[0], geom.condim = FIRMNESS, FRICTION, 4
            if geom.type in _ROUND and kind(geom.parent.name.split("/")[0]) == "object":
                geom.friction[2], geom.condim = ROLLING * geom.size[0], 6
    owner = [m.body(b).name.split("/")[0] for b in range(m.nbody)]
    for site in range(m.nsite):
        body = int(m.site_bodyid[site])
        if m.site_type[site] == mujoco.mjtGeom.mjGEOM_BOX and body and kind(owner[body]) == "character":
            _pad(spec, m, site)
    for geom in spec.geoms:
        whose = geom.parent.name.split("/")[0]
        if whose in stated:
            geom.friction[0], geom.priority = stated[whose], precedence(stated[whose])
    for first, second in sorted(_together(m, owner, kind) | _overlapping(m, qpos, owner, kind)):
        spec.add_exclude(bodyname1=m.body(first).name, bodyname2=m.body(second).name)
    _servos(spec, m)


def _servos(spec: mujoco.MjSpec, m: mujoco.MjModel) -> None:
    limit, gains = torque_limits(m), servo_gains(m)
    for motor, joint, gear in zip(spec.actuators, m.actuator_trnid[:, 0], np.abs(m.actuator_gear[:, 0]), strict=True):
        dof = m.jnt_dofadr[joint]
        motor.biasprm[1:3] = -gains.stiffness[dof] / gear**2, -gains.damping[dof] / gear**2
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        if np.isfinite(limit[dof]):
            motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
            motor.forcerange = [-limit[dof] / gear, limit[dof] / gear]


def _pad(spec: mujoco.MjSpec, m: mujoco.MjModel, site: int) -> None:
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, m.site_quat[site])
    out = turn.reshape(3, 3)[:, 2]
    spec.body(m.body(int(m.site_bodyid[site])).name).add_geom(
        name=f"{m.site(site).name}_pad",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[*m.site_size[site, :2], _THICK],
        pos=(m.site_pos[site] - (_THICK - _PROUD) * out).tolist(),
        quat=m.site_quat[site].tolist(),
        group=PAD_GROUP,
        material=spec.materials[0].name,  # that of a file's defaults may have another name in a scene
        contype=PAD,
        conaffinity=PAD,
        solref=FIRMNESS,
        friction=[FRICTION, 0.005, 0.0001],
        mass=0.0,
    )


def _together(m: mujoco.MjModel, owner: list[str], kind: Callable[[str], str]) -> set[tuple[int, int]]:
    """Return pairs of bodies that never collide: parts of a mechanism; hands with hands, and with what has grips; neighbours."""
    grips = [s for s in range(m.nsite) if m.site_type[s] == mujoco.mjtGeom.mjGEOM_CYLINDER]
    hands = {int(m.site_bodyid[s]) for s in grips if kind(owner[m.site_bodyid[s]]) == "character"}
    held = {int(m.site_bodyid[s]) for s in grips} - hands
    out = {(min(a, b), max(a, b)) for a in hands for b in hands | held if a != b}
    for name in {o for o in owner[1:] if kind(o) == "mechanism"}:
        parts = [b for b in range(1, m.nbody) if owner[b] == name]
        out |= {(a, b) for a in parts for b in parts if a < b}
    shaped = set(m.geom_bodyid[(m.geom_contype > 0) | (m.geom_conaffinity > 0)].tolist())
    for body in range(1, m.nbody):
        between = int(m.body_parentid[body])
        if between and between not in shaped and kind(owner[body]) == "character":
            out.add((int(m.body_parentid[between]), body))
    return {(a, b) for a, b in out if a > 0}


def _overlapping(
    m: mujoco.MjModel, qpos: np.ndarray, owner: list[str], kind: Callable[[str], str]
) -> set[tuple[int, int]]:
    """Return pairs of bodies of one character whose shapes overlap in a configuration."""
    d = mujoco.MjData(m)
    d.qpos[:] = qpos
    mujoco.mj_fwdPosition(m, d)
    bodies = np.sort(m.geom_bodyid[d.contact.geom[d.contact.dist < 0.0]], axis=1).tolist()
    return {(a, b) for a, b in bodies if owner[a] == owner[b] and kind(owner[a]) == "character"}
