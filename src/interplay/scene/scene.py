"""Composition: models placed under name prefixes, compiled into one MuJoCo model from the XML that is saved."""

from __future__ import annotations

import colorsys
import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, SceneError, number, pick, quaternion, unknown_name, vector
from interplay.maths.rotations import about_z
from interplay.models.base import Model, patch
from interplay.scene.kinematics import Kinematics
from interplay.scene.posing import solve_reach
from interplay.scene.simulator import ROUGHEST, furnish

GROUND = "ground"
"""The contact surface of the ground."""

FARTHEST = 1e3
"""How far from the origin a model may be placed [m]: the nearest points of far things are lost in rounding."""

_GROUND_HALF = 50.0


class Subsystem(NamedTuple):
    """One kinematic tree: the placed model it belongs to, tree index, DOFs, actuated DOFs and bodies."""

    name: str
    tree: int
    dofs: np.ndarray
    actuated: np.ndarray
    bodies: np.ndarray


class Scene:
    """What stands there. Add models, pose them, then give the scene to a :class:`interplay.Simulation`."""

    def __init__(self, gravity: float = 9.81, ground: bool = True):
        """Start with an empty ground (z = 0) under gravity [m/s²]."""
        self.gravity = number("gravity", gravity, 0, 100, "m/s²")
        self._ground = bool(ground)
        self._placed: dict[str, tuple[Model, np.ndarray, np.ndarray]] = {}
        self._roots: dict[str, str] = {}
        self._postures: dict[str, dict[str, float]] = {}
        self._frictions: dict[str, float] = {}
        self._model: mujoco.MjModel | None = None
        self._xml = ""
        self.assets: dict[str, bytes] = {}
        """Meshes and textures that the scene's XML names."""
        self._qpos: np.ndarray | None = None
        self._posed: dict[str, np.ndarray] = {}
        self._rest: Kinematics | None = None
        self._subsystems: tuple[mujoco.MjModel, list[Subsystem]] | None = None

    # -- composition ---------------------------------------------------------------------------------------------------

    def add(
        self,
        model: Model,
        name: str,
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
        quat: Sequence[float] | None = None,
        posture: Mapping[str, float] | None = None,
        friction: float | None = None,
    ) -> Scene:
        """Place a model under a name.

        Args:
            model: any model; the same one may be placed often.
            name: its prefix in the scene: ``alice`` gives ``alice/left_sole``.
            pos: (x, y) or (x, y, z) [m] of the spot it stands on; z = 0 is the ground.
            yaw: heading [rad] about z; models face +x.
            quat: orientation (w, x, y, z) instead of ``yaw``.
            posture: joint values [rad, m] that differ from the model's own posture.
            friction: Coulomb's coefficient of whatever touches it in the simulated world, where that is not 0.8. What a plan
                counts on is that of its contacts.
        """
        if not isinstance(model, Model):
            raise InputError(f"scene.add: expected a model such as ip.Humanoid(), got {model!r}")
        if not isinstance(name, str) or not name or not name.replace("_", "").isalnum():
            raise InputError(f"scene.add: a name needs letters, digits or _, got {name!r}")
        if name in self._placed or name in (GROUND, "world"):
            raise InputError(f"scene.add: the name {name!r} is taken")
        place = np.zeros(3)
        given = vector(f"position of {name!r}", pos, (2, 3))
        if np.abs(given).max() > FARTHEST:
            raise InputError(f"position of {name!r}: expected a place within {FARTHEST:g} m, got {given.tolist()}")
        place[: given.size] = given
        place[2] += model.placement_height
        stated = None if friction is None else number(f"friction of {name!r}", friction, 0, ROUGHEST)
        angle = number(f"yaw of {name!r}", yaw, unit="rad")
        turn = quaternion(f"quat of {name!r}", quat) if quat is not None else about_z(angle)
        spec = model.build()
        joints, known = dict(model.posture), [joint.name for joint in spec.joints]
        ranges = {j.name: j.range for j in spec.joints}
        for joint, value in (posture or {}).items():
            if joint not in known:
                raise unknown_name(f"joint of {name!r}", joint, known)
            low, high = ranges[joint]
            limits = (low, high) if low < high else ()
            joints[joint] = number(f"posture of {name}/{joint}", value, *limits)
        if self._qpos is not None:  # what was posed so far stays
            self._posed = {self.model.joint(j).name: self._joint_values(j).copy() for j in range(self.model.njnt)}
        self._placed[name] = (model, place, turn)
        if stated is not None:
            self._frictions[name] = stated
        self._roots[name] = spec.worldbody.first_body().name
        self._postures[name] = joints
        self._model = self._qpos = None
        return self

    def _compile(self) -> mujoco.MjModel:
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.nuser_jnt = 1
        spec.option.gravity = [0, 0, -self.gravity]
        spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-9, 200
        # A NaN must raise, not silently start the scene anew.
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        _stage(spec, self._ground)
        tint, first = 0, {}
        self.assets = {k: v for model, _, _ in self._placed.values() for k, v in model.assets.items()}
        spec.assets = self.assets
        for name, (model, place, turn) in self._placed.items():
            model = copy.copy(model)
            if model.kind == "character" and getattr(model, "color", 0) is None:
                model.color = _tint(tint)  # type: ignore[attr-defined]
                tint += 1
            child, twin = model.build(), first.setdefault(id(self._placed[name][0]), name)
            if twin != name:  # placed again, it draws the meshes of the first one: they are most of a scene's size
                for mesh in child.meshes:
                    child.delete(mesh)
            body = spec.worldbody.add_frame(pos=place.tolist(), quat=turn.tolist()).attach_body(
                child.worldbody.first_body(), f"{name}/", ""
            )
            if model.floating and not body.joints:
                body.add_freejoint(name=f"{name}/free")
            if twin != name:
                for geom in body.find_all("geom"):
                    geom.meshname = geom.meshname.replace(f"{name}/", f"{twin}/", 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                spec.compile()
            self._xml = spec.to_xml()
            del spec
            return mujoco.MjModel.from_xml_string(self._xml, self.assets)
        except (ValueError, UserWarning) as error:
            raise SceneError(f"the scene does not compile: {error}") from None

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model: the one that ``save`` writes."""
        if self._model is None:
            if not self._placed:
                raise SceneError("the scene is empty: add a model first")
            self._model = self._compile()
            self._check_supported(self._model)
        return self._model

    @staticmethod
    def _check_supported(m: mujoco.MjModel) -> None:
        """Refuse what is in none of the terms of the equation of motion."""
        if m.nv == 0:
            raise SceneError("nothing in the scene can move: add a character, an object or a mechanism")
        if m.neq or m.ntendon or (m.dof_frictionloss > 0).any():
            raise SceneError(
                "equality constraints, tendons and frictionloss are not part of the equation of motion: remove them from the model"
            )

    @property
    def xml(self) -> str:
        """The scene as MJCF: the text the model is compiled from."""
        _ = self.model
        return self._xml

    def save(self, path: str | Path) -> Path:
        """Write the scene as MJCF, its meshes beside it, and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.xml)
        for name, content in self.assets.items():
            (path.parent / name).write_bytes(content)
        return path

    # -- names ---------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of the placed models, in the order of placing."""
        return list(self._placed)

    def placed(self, name: str) -> Model:
        """Return the model that was placed under a name."""
        return pick("model", name, self._placed)[0]

    def kind(self, name: str) -> str:
        """Return the kind of a placed model: character, object, mechanism or environment."""
        return pick("model", name, self._placed)[0].kind

    @property
    def frictions(self) -> Mapping[str, float]:
        """Friction of the models for which it is stated, by their names."""
        return self._frictions

    def body(self, name: str) -> int:
        """Return the id of a body; a model's own name stands for its root body."""
        if name in self._placed:
            name = f"{name}/{self._roots[name]}"
        return self._id(mujoco.mjtObj.mjOBJ_BODY, "body", name)

    def site(self, name: str) -> int:
        """Return the id of a contact surface or other site."""
        return self._id(mujoco.mjtObj.mjOBJ_SITE, "surface", name)

    def joint(self, name: str) -> int:
        """Return the id of a joint."""
        return self._id(mujoco.mjtObj.mjOBJ_JOINT, "joint", name)

    def geom(self, name: str) -> int:
        """Return the id of a geom."""
        return self._id(mujoco.mjtObj.mjOBJ_GEOM, "shape", name)

    def _id(self, kind: mujoco.mjtObj, what: str, name: str) -> int:
        m = self.model
        found = mujoco.mj_name2id(m, kind, name) if isinstance(name, str) else -1
        if found < 0:
            count = {
                mujoco.mjtObj.mjOBJ_BODY: m.nbody,
                mujoco.mjtObj.mjOBJ_SITE: m.nsite,
                mujoco.mjtObj.mjOBJ_JOINT: m.njnt,
                mujoco.mjtObj.mjOBJ_GEOM: m.ngeom,
            }[kind]
            raise unknown_name(what, name, [mujoco.mj_id2name(m, kind, k) or "" for k in range(count)])
        return found

    @property
    def subsystems(self) -> list[Subsystem]:
        """The kinematic trees of the scene, with the placed model each belongs to."""
        m = self.model
        if self._subsystems is not None and self._subsystems[0] is m:
            return self._subsystems[1]
        powered = set(m.jnt_dofadr[m.actuator_trnid[m.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]].tolist())
        out = []
        for tree in range(m.ntree):
            dofs = np.arange(m.tree_dofadr[tree], m.tree_dofadr[tree] + m.tree_dofnum[tree])
            bodies = np.arange(m.tree_bodyadr[tree], m.tree_bodyadr[tree] + m.tree_bodynum[tree])
            name = m.body(int(bodies[0])).name.split("/")[0]
            out.append(Subsystem(name, tree, dofs, np.array([d for d in dofs.tolist() if d in powered], int), bodies))
        self._subsystems = m, out
        return out

    def trees(self, name: str) -> list[int]:
        """Return the kinematic trees of a placed model."""
        pick("model", name, self._placed)
        found = [s.tree for s in self.subsystems if s.name == name]
        if not found:
            raise InputError(f"{name!r} has no moving part: expected a character, an object or a mechanism")
        return found

    # -- initial state -------------------------------------------------------------------------------------------------

    @property
    def qpos(self) -> np.ndarray:
        """Initial configuration (nq,): placed, postured, posed."""
        q = self._qpos
        if q is None:
            self._qpos = q = self._in(self._postures)
            for name, values in self._posed.items():
                self._joint_values(self.joint(name))[:] = values
        return q.copy()

    def _in(self, postures: Mapping[str, Mapping[str, float]]) -> np.ndarray:
        """Return the configuration (nq,) in which all stand as they were placed, in some postures."""
        m = self.model
        q = m.qpos0.copy()
        for name, joints in postures.items():
            for joint, value in joints.items():
                q[m.jnt_qposadr[self.joint(f"{name}/{joint}")]] = value
        return q

    def _joint_values(self, joint: int) -> np.ndarray:
        """Return the part of the initial configuration that belongs to a joint, to read or write."""
        m, q = self.model, self._qpos
        start = int(m.jnt_qposadr[joint])
        width = {int(mujoco.mjtJoint.mjJNT_FREE): 7, int(mujoco.mjtJoint.mjJNT_BALL): 4}.get(int(m.jnt_type[joint]), 1)
        return q[start : start + width] if q is not None else np.zeros(0)

    def snapshot(self) -> Scene:
        """Return a copy with a model of its own, as a simulation keeps it: changing a mass there changes no other."""
        model, qpos = copy.copy(self.model), self.qpos
        twin = copy.copy(self)
        twin._model, twin._qpos = model, qpos
        return twin

    def simulated(self, timestep: float) -> Scene:
        """Return a copy for MuJoCo's own contact physics, with its settings, at steps of so many seconds: same bodies, same states."""
        spec = mujoco.MjSpec.from_string(self.xml, assets=self.assets)
        own = self._in({name: model.posture for name, (model, _, _) in self._placed.items()})
        furnish(spec, self.model, own, self.kind, self._frictions, timestep)
        twin = copy.copy(self)
        spec.compile()
        twin._xml = spec.to_xml()
        twin._model, twin._qpos = mujoco.MjModel.from_xml_string(twin._xml, self.assets), self.qpos
        return twin

    def pose(self, name: str, joints: Mapping[str, float]) -> Scene:
        """Set joint values [rad, m] of a placed model's initial posture."""
        pick("model", name, self._placed)
        q, m = self.qpos, self.model
        for joint, value in joints.items():
            index = self.joint(f"{name}/{joint}")
            value = number(f"posture of {name}/{joint}", value)
            if m.jnt_limited[index]:
                value = number(f"posture of {name}/{joint}", value, *m.jnt_range[index])
            q[m.jnt_qposadr[index]] = value
        self._qpos = q
        return self

    def move(self, name: str, pos: Sequence[float], quat: Sequence[float] | None = None) -> Scene:
        """Put the root frame of a floating model at a position [m] (and orientation wxyz) in the initial state."""
        q, m = self.qpos, self.model
        joint = int(m.body_jntadr[self.body(name)])
        if joint < 0 or m.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            raise InputError(f"{name!r} is not floating: expected a character or an object")
        adr = int(m.jnt_qposadr[joint])
        q[adr : adr + 3] = vector(f"position of {name!r}", pos, 3)
        if quat is not None:
            q[adr + 3 : adr + 7] = quaternion(f"quat of {name!r}", quat)
        self._qpos = q
        return self

    def pose_like(self, name: str, other: Scene, source: str) -> Scene:
        """Take over the initial posture of a model of another scene, root frame included, relative to where each was placed."""
        theirs, q_other, m = other.model, other.qpos, self.model
        (_, p_from, turn_from), (_, p_to, turn_to) = (
            pick("model", source, other._placed),
            pick("model", name, self._placed),
        )
        joints, free = {}, int(mujoco.mjtJoint.mjJNT_FREE)
        for joint in range(theirs.njnt):
            full = theirs.joint(joint).name
            adr = int(theirs.jnt_qposadr[joint])
            if full.split("/")[0] != source:
                continue
            if theirs.jnt_type[joint] == free:
                turn, back, offset, quat = np.empty(4), np.empty(4), np.empty(3), np.empty(4)
                mujoco.mju_negQuat(back, turn_from)
                mujoco.mju_mulQuat(turn, turn_to, back)
                mujoco.mju_rotVecQuat(offset, q_other[adr : adr + 3] - p_from, turn)
                mujoco.mju_mulQuat(quat, turn, q_other[adr + 3 : adr + 7])
                self.move(name, (p_to + offset).tolist(), quat.tolist())
            elif m.jnt_type[self.joint(f"{name}/{full.split('/', 1)[1]}")] == theirs.jnt_type[joint]:
                joints[full.split("/", 1)[1]] = float(q_other[adr])
        return self.pose(name, joints)

    def reach(
        self,
        surface: str,
        target: str | Sequence[float],
        *more: tuple[str, str | Sequence[float]],
        keep: Sequence[str] | None = None,
        balance: bool = True,
    ) -> Scene:
        """Pose by inverse kinematics so that a surface meets another one, or its centre a point (3), with an axis (6).

        ``scene.reach("alice/right_grip", "door/knob_grip")`` moves alice alone: her other soles stay where they touch, her
        centre of mass stays above them (``balance``), her posture changes as little as it can. Patches meet face to face,
        grips along their axes. ``more`` pairs are met at the same time; ``keep`` names surfaces that must not move (by
        default her soles).
        """
        self._qpos = solve_reach(self, [(surface, target), *more], keep, balance)
        return self

    def kinematics(self) -> Kinematics:
        """Return new terms of this scene at its initial state, at rest."""
        terms = Kinematics(self.model)
        terms.update(self.qpos, np.zeros(self.model.nv))
        return terms

    @property
    def rest(self) -> Kinematics:
        """Terms of this scene at its initial state, at rest; shared by all who read them, so to be read at once and not moved."""
        q = self.qpos
        if self._rest is None or self._rest.model is not self.model:
            self._rest = Kinematics(self.model)
        elif np.array_equal(self._rest.qpos, q):
            return self._rest
        self._rest.update(q, np.zeros(self.model.nv))
        return self._rest


def _tint(index: int) -> np.ndarray:
    """Return the colour of the k-th character: hues spread by the golden angle, calm and distinct."""
    return np.array(colorsys.hls_to_rgb((0.59 + 0.38197 * index) % 1.0, 0.56, 0.42))


def _stage(spec: mujoco.MjSpec, ground: bool) -> None:
    """Add sky, light and ground."""
    spec.visual.headlight.ambient = [0.42, 0.42, 0.42]
    spec.visual.headlight.diffuse = [0.38, 0.38, 0.38]
    spec.visual.headlight.specular = [0.1, 0.1, 0.1]
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1920, 1080
    spec.visual.quality.shadowsize = 4096
    spec.visual.map.fogstart, spec.visual.map.fogend = 12, 40
    sky = spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        width=256,
        height=256,
    )
    sky.rgb1, sky.rgb2 = [0.90, 0.93, 0.97], [0.66, 0.74, 0.84]
    tiles = spec.add_texture(
        name="tiles",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        width=256,
        height=256,
    )
    tiles.rgb1, tiles.rgb2 = [0.84, 0.86, 0.88], [0.80, 0.82, 0.845]
    floor = spec.add_material(name="floor", texrepeat=[1, 1], texuniform=True, reflectance=0.0)
    textures = list(floor.textures)
    textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    floor.textures = textures
    spec.worldbody.add_light(
        name="key",
        pos=[2, -3, 6],
        dir=[-0.35, 0.45, -1],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.45, 0.45, 0.43],
        castshadow=True,
    )
    if ground:
        spec.worldbody.add_geom(
            name=GROUND, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[_GROUND_HALF, _GROUND_HALF, 0.1], material="floor"
        )
        patch(spec.worldbody, GROUND, (0, 0, 0), (0, 0, 1), (_GROUND_HALF, _GROUND_HALF))
