"""Characters from files: any MJCF or URDF body, with a sidecar that says what scenarios must know of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np

from interplay.errors import InputError, unknown_name
from interplay.models.base import COLLISION_GROUP, SITE_GROUP, VISUAL_GROUP, Model, frame_quat, grip, patch
from interplay.models.extent import geom_extent
from interplay.models.files import alone, locate, read_model, refuse_outside
from interplay.models.fit import TOLERANCE, held_together, shapes_of, surface_off
from interplay.models.motors import torque_limits
from interplay.models.remedies import NeedsRemedy
from interplay.models.sidecar import Sidecar, Vector, read_sidecar

SOLES = ("left_sole", "right_sole")
"""Surfaces that a character stands on: they must be the lowest of it."""

_SCALAR = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


class BodyFile(Model):
    """A body that was modelled elsewhere: ``ip.BodyFile("robot.yaml")``; ``interplay sidecar FILE`` writes a first sidecar."""

    kind: ClassVar[str] = "character"

    def __init__(self, sidecar: str | Path, *, confined: bool = False):
        """Take the path of the sidecar; a confined one may only name what lies beside it or below, and installed packages."""
        super().__init__()
        self.path = Path(sidecar)
        self.sidecar: Sidecar = read_sidecar(self.path)
        if confined:
            refuse_outside(self.path, self.sidecar)
        file = locate(self.sidecar.model, self.path)
        self._name = self.path.name
        folder = self.path.resolve().parent
        within = folder if confined and not self.sidecar.model.startswith("python://") else None
        packages = {name: str(folder / place) for name, place in self.sidecar.packages.items()}
        found = read_model(file, self.sidecar.model_copy(update={"packages": packages}), within)
        self.assets, self._velocity = found.assets, found.velocity
        self.dropped = list(found.dropped)
        """What of the file is not simulated."""
        self.posture = dict(self.sidecar.posture)
        self.floating = self.sidecar.base != "fixed"  # type: ignore[misc]  # the class says what is usual
        try:
            self._xml = self._prepare(found.spec, found.model)
            self._measure()
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self._name}: {' '.join(str(error).split())}") from None

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec = mujoco.MjSpec.from_string(self._xml, assets=self.assets)
        spec.nuser_jnt = 1
        return spec

    @property
    def placement_height(self) -> float:
        """Height [m] of the root frame above the soles in its posture."""
        return self._root_height

    # -- from the file to a specification ------------------------------------------------------------------------------

    def _prepare(self, spec: mujoco.MjSpec, m: mujoco.MjModel) -> str:
        """Return the character alone as MJCF: root, surfaces, motors and limits as the sidecar says."""
        side = self.sidecar
        self._find(spec.bodies, "body", side.root, "root")
        limits = {
            m.joint(int(m.dof_jntid[d])).name: float(t) for d, t in enumerate(torque_limits(m)) if not np.isnan(t)
        }
        ranges = {m.joint(j).name: m.jnt_actfrcrange[j] for j in range(m.njnt) if m.jnt_actfrclimited[j]}
        for name, given in ranges.items():  # the effort of a URDF
            limits.setdefault(name, float(np.abs(given).min()))
        limits = {name: limit for name, limit in limits.items() if np.isfinite(limit) and limit > 0}
        for what, kind in (("equality constraints", spec.equalities), ("tendons", spec.tendons)):
            if kind:
                self.dropped.append(what)
        out = mujoco.MjSpec.from_string(alone(spec.to_xml(), side.root), assets=self.assets)
        out.nuser_jnt = 1
        body = out.worldbody.first_body()
        self._loosen(out, body)
        self._name_parts(out)
        self._limit(out, limits)
        self._add_surfaces(out)
        self._rename(out)
        self._turn(body)
        out.compile()
        return out.to_xml()

    def _find(self, items, what: str, name: str, entry: str):
        for item in items:
            if item.name == name:
                return item
        error = unknown_name(what, name, [item.name for item in items if item.name])
        raise InputError(f"{self._name}: {entry}: {error}")

    def _loosen(self, spec: mujoco.MjSpec, body: mujoco.MjsBody) -> None:
        """Take away what joins the root to the world, where the sidecar says so: it would hold itself up by motors there."""
        joints = [joint for joint in body.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE]
        if joints and self.sidecar.base == "file":
            names = ", ".join(joint.name for joint in joints)
            reason = f"root {body.name!r} is joined to the world by {len(joints)} joints ({names}), expected a free joint or none"
            raise NeedsRemedy(self._name, reason, "base", "free")
        if joints:
            self.dropped.append(f"{len(joints)} joints between the root and the world")
        if joints or not self.floating:
            for joint in list(body.joints):
                spec.delete(joint)

    def _rename(self, spec: mujoco.MjSpec) -> None:
        """Give bodies the names that scenarios use; one that the file calls so and the sidecar does not gives its name up."""
        given = self.sidecar.bodies
        targets = {new: self._find(spec.bodies, "body", old, f"bodies.{new}") for new, old in given.items() if old}
        mapped, taken = set(given.values()), {b.name for b in spec.bodies} | set(given)
        for body in spec.bodies:
            if body.name in given and body.name not in mapped:
                if given[body.name] is not None:
                    raise InputError(
                        f"{self._name}: bodies.{body.name}: the file has another body {body.name!r}; give that one a name too, "
                        f"as in '{body.name}_frame: {body.name}'"
                    )
                body.name = next(n for n in _numbered(f"{body.name}_frame") if n not in taken)
        for turn in ("~{}", "{}"):  # by way of names of their own, so that names may be exchanged
            for new, target in targets.items():
                target.name = turn.format(new)

    def _turn(self, body: mujoco.MjsBody) -> None:
        """Put the root at the origin, turned so that it faces +x and stands along +z."""
        quat = np.empty(4)
        try:
            mujoco.mju_mulQuat(quat, upright(self.sidecar.up, self.sidecar.facing), np.array(body.quat, float))
        except InputError as error:
            raise InputError(f"{self._name}: {error}") from None
        body.pos, body.quat = [0, 0, 0], quat.tolist()

    def _name_parts(self, spec: mujoco.MjSpec) -> None:
        """Name what has no name, and put what is seen and what collides in their groups."""
        seen = any(not (g.contype or g.conaffinity) for g in spec.geoms)
        for items in (spec.geoms, spec.joints):
            taken = {item.name for item in items}
            for k, item in enumerate(items):
                if not item.name:
                    item.name = next(n for n in _numbered(f"{item.parent.name}_{k}") if n not in taken)
                    taken.add(item.name)
        for geom in spec.geoms:
            collides = bool(geom.contype or geom.conaffinity)
            geom.group = COLLISION_GROUP if collides and seen else VISUAL_GROUP

    def _limit(self, spec: mujoco.MjSpec, file_torque: dict[str, float]) -> None:
        """Give every joint a motor with its limits; the file's come first, unless the sidecar names the joint."""
        side, joints = self.sidecar, [j for j in spec.joints if j.type != mujoco.mjtJoint.mjJNT_FREE]
        for name in (*side.limits, *side.posture):
            entry = f"limits.{name}" if name in side.limits else f"posture.{name}"
            self._find(joints, "joint", name, entry)
        for joint in joints:
            if joint.type not in _SCALAR:
                raise InputError(f"{self._name}: joint {joint.name!r} is a ball joint; expected hinges and slides")
            own = side.limits.get(joint.name)
            torque = (own.torque if own else None) or file_torque.get(joint.name) or side.torque
            speed = (own.velocity if own else None) or self._velocity.get(joint.name) or side.velocity
            if torque is None:
                raise InputError(
                    f"{self._name}: joint {joint.name!r} has no torque limit; name one under 'limits', or 'torque' for all"
                )
            if own and own.range:
                joint.range, joint.limited = list(own.range), mujoco.mjtLimited.mjLIMITED_TRUE
            joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
            joint.frictionloss = 0.0
            if side.passive == "drop":
                joint.stiffness, joint.damping = np.zeros_like(joint.stiffness), np.zeros_like(joint.damping)
            joint.userdata = [float(speed or 0.0)]
            motor = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_motor()
            motor.ctrlrange, motor.ctrllimited = [-torque, torque], mujoco.mjtLimited.mjLIMITED_TRUE

    def _add_surfaces(self, spec: mujoco.MjSpec) -> None:
        """Add the surfaces and grips of the sidecar as sites."""
        sites = list(spec.sites)
        for name, s in self.sidecar.surfaces.items():
            entry = f"surfaces.{name}"
            if s.site is not None:
                self._take_site(sites, s.site, name, entry, (mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_SPHERE))
                continue
            body = self._find(spec.bodies, "body", s.body or "", entry)
            if s.box is not None:
                for what in ("normal", "along"):
                    if np.linalg.norm(getattr(s.box, what)) < 1e-6:
                        raise InputError(f"{self._name}: {entry}.{what}: expected a direction, got one of zero length")
                patch(body, name, s.box.pos, s.box.normal, s.box.size, along=s.box.along)
            elif s.ball is not None:
                body.add_site(
                    name=name,
                    type=mujoco.mjtGeom.mjGEOM_SPHERE,
                    pos=list(s.ball.pos),
                    size=[s.ball.radius, 0, 0],
                    group=SITE_GROUP,
                )
        for name, g in self.sidecar.grips.items():
            entry = f"grips.{name}"
            if g.site is not None:
                self._take_site(sites, g.site, name, entry, (mujoco.mjtGeom.mjGEOM_CYLINDER,))
            else:
                if np.linalg.norm(g.axis) < 1e-6:
                    raise InputError(f"{self._name}: {entry}.axis: expected a direction, got one of zero length")
                body = self._find(spec.bodies, "body", g.body or "", entry)
                grip(body, name, g.pos, g.axis, g.half_length, g.radius, along=g.along)

    def _take_site(self, sites: list, site: str, name: str, entry: str, kinds: tuple) -> None:
        found = self._find(sites, "site", site, entry)
        if found.type not in kinds:
            raise InputError(f"{self._name}: {entry}: site {site!r} has the wrong shape for it")
        found.name, found.group = name, SITE_GROUP

    # -- what the compiled body is like --------------------------------------------------------------------------------

    def _measure(self) -> None:
        """Find the height of the root above the soles, and the stature, in the rest posture."""
        m = self.build().compile()
        d = mujoco.MjData(m)
        for joint, value in self.posture.items():
            index = m.joint(joint).id
            low, high = m.jnt_range[index]
            if m.jnt_limited[index] and not low - 1e-6 <= value <= high + 1e-6:
                raise InputError(
                    f"{self._name}: posture.{joint}: {value:g} is outside the joint's range [{low:.3g}, {high:.3g}]"
                )
            d.qpos[m.jnt_qposadr[index]] = min(max(value, low), high) if m.jnt_limited[index] else value
        mujoco.mj_kinematics(m, d)
        soles = [s for s in range(m.nsite) if m.site(s).name in SOLES]
        radius = [m.site_size[s, 0] if m.site_type[s] == mujoco.mjtGeom.mjGEOM_SPHERE else 0.0 for s in soles]
        up = np.array([[0.0, 0.0, 1.0]])
        reach = np.array([geom_extent(m, d, g, up) for g in range(m.ngeom)]).reshape(-1, 2)
        solid = shapes_of(m, list(range(1, m.nbody)))
        top, bottom = reach.max(initial=0.0), reach[solid or slice(None)].min(initial=0.0)
        floor = min((d.site_xpos[s, 2] - r for s, r in zip(soles, radius, strict=True)), default=bottom)
        self._root_height = -float(floor)
        self.height = float(top - floor)
        """Stature [m] in the rest posture."""
        self.mass = float(m.body_subtreemass[1])
        if soles and solid:
            self._check_floor(m, solid, reach[:, 0] - floor)
        self._check_surfaces(m, d)

    def _check_surfaces(self, m: mujoco.MjModel, d: mujoco.MjData) -> None:
        """Refuse surfaces that are not on what their body collides with: they would touch in the air, or deep inside."""
        for site in range(m.nsite):
            name = m.site(site).name
            if name not in self.sidecar.surfaces and name not in self.sidecar.grips:
                continue
            entry = f"{'surfaces' if name in self.sidecar.surfaces else 'grips'}.{name}"
            body, whole = int(m.site_bodyid[site]), name in SOLES
            off = surface_off(m, d, site, whole)
            if off is None:
                reason = f"{entry}: body {self._own(m, body)!r} has no collision shape to be on"
                if any(int(m.geom_bodyid[g]) in held_together(m, body) for g in range(m.ngeom)):
                    raise NeedsRemedy(self._name, reason, "collision", "visual")
                raise InputError(
                    f"{self._name}: {reason}; give it one under 'shapes', or name a body that has one"
                    f"{self._better(m, d, site, whole)}"
                )
            if abs(off) > TOLERANCE:
                side = "before" if off > 0 else "inside"
                raise InputError(
                    f"{self._name}: {entry}: it lies {abs(off) * 1e3:.1f} mm {side} the collision shape of {self._own(m, body)!r}; "
                    f"expected at most {TOLERANCE * 1e3:.0f} mm{self._better(m, d, site, whole)}"
                )

    def _own(self, m: mujoco.MjModel, body: int) -> str:
        """Return what the file calls a body."""
        name = m.body(body).name
        return self.sidecar.bodies.get(name) or name

    def _better(self, m: mujoco.MjModel, d: mujoco.MjData, site: int, whole: bool) -> str:
        """Return which body a surface would fit, as the end of a message."""
        others = {}
        for body in sorted(set(m.body_weldid[1:].tolist())):
            off = surface_off(m, d, site, whole, body)
            if off is not None:
                others[body] = abs(off)
        body = min(others, key=lambda b: others[b], default=None)
        if body is None or others[body] > TOLERANCE or body == m.body_weldid[m.site_bodyid[site]]:
            return ""
        return f"; where it is now it would fit {self._own(m, body)!r}"

    def _check_floor(self, m: mujoco.MjModel, solid: list[int], above: np.ndarray) -> None:
        """Refuse soles that are not the lowest of the body: the rest would stand in the floor."""
        lowest = min(solid, key=lambda g: above[g])
        if above[lowest] < -TOLERANCE:
            raise InputError(
                f"{self._name}: in its posture the body {self._own(m, int(m.geom_bodyid[lowest]))!r} reaches {-above[lowest] * 1e3:.1f} mm "
                f"below the soles; expected at most {TOLERANCE * 1e3:.0f} mm: put the soles on the lowest body, change the "
                "posture, or leave out the shape under 'shapes'"
            )


def upright(up: Vector, facing: Vector) -> np.ndarray:
    """Return the quaternion that turns a file's axes so that ``up`` is +z and ``facing``, but for its part along it, +x."""
    if np.linalg.norm(up) < 1e-6:
        raise InputError(f"up: expected a direction, got {list(up)}")
    if np.linalg.norm(np.cross(up, facing)) < 1e-6 * max(1.0, float(np.linalg.norm(up))):
        raise InputError(f"facing: expected a horizontal direction, got {list(facing)} with {list(up)} as up")
    quat = np.empty(4)
    mujoco.mju_negQuat(quat, np.array(frame_quat(up, facing)))
    return quat


def _numbered(name: str) -> Iterator[str]:
    """Yield a name and its variants."""
    yield name
    yield from (f"{name}_{k}" for k in itertools.count(1))
