"""Bodies modelled elsewhere: what is read from their files, how they play scenarios, and every kind of damaged file."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.constraints.limits import JointLimits
from interplay.models.files import locate, read_model
from interplay.models.guess import guess_sidecar
from interplay.models.sidecar import read_sidecar
from interplay.runs.run import run
from interplay.scenario import stands

CHARACTERS = Path(__file__).parents[1] / "characters"
PACKAGES = {"gymnasium_humanoid": "gymnasium", "cmu_humanoid": "dm_control", "talos": "cmeel.prefix"}


def character(name):
    """The sidecar of a body from a package; the test is skipped where the package is not installed."""
    path = CHARACTERS / f"{name}.yaml"
    try:
        locate(read_sidecar(path).model, path)
    except ip.InputError as error:
        pytest.skip(str(error))
    return path


# -- bodies nobody here made -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PACKAGES)
def test_the_body_is_the_files(name):
    """Masses, inertias and joint axes are those of the file; only motors, limits and surfaces are ours."""
    path = character(name)
    sidecar = read_sidecar(path)
    found = read_model(locate(sidecar.model, path))
    theirs, ours = found.model, ip.BodyFile(path).build().compile()
    renamed = {old: new for new, old in sidecar.bodies.items()}
    checked = 0
    for body in range(1, theirs.nbody):
        old = theirs.body(body).name
        mine = ours.body(renamed.get(old, old))
        assert_allclose(mine.mass, theirs.body(body).mass, rtol=1e-4, atol=1e-7)
        assert_allclose(mine.inertia, theirs.body(body).inertia, rtol=1e-3, atol=1e-7)
        checked += 1
    assert checked > 10
    for joint in range(theirs.njnt):
        if theirs.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            continue
        mine = ours.joint(theirs.joint(joint).name)
        assert_allclose(mine.axis, theirs.joint(joint).axis, atol=1e-5)
        assert_allclose(mine.range, theirs.joint(joint).range, atol=1e-4)


def test_a_urdf_keeps_its_limits():
    path = character("talos")
    scene = ip.Scene().add(ip.BodyFile(path), "robot")
    limits = JointLimits.of(scene.model)
    dof = scene.model.jnt_dofadr[scene.joint("robot/arm_right_4_joint")]
    assert limits.torque[dof] == pytest.approx(17.86)
    assert limits.speed[dof] == pytest.approx(4.58)
    assert scene.model.jnt_type[scene.model.body_jntadr[scene.body("robot")]] == mujoco.mjtJoint.mjJNT_FREE


def test_the_scene_is_saved_with_its_meshes(tmp_path):
    scene = ip.Scene().add(ip.BodyFile(character("talos")), "robot").add(ip.Humanoid(), "alice", pos=(1, 0))
    m = mujoco.MjModel.from_xml_path(str(scene.save(tmp_path / "scene.xml")))
    assert m.nmesh == scene.model.nmesh
    assert_allclose(m.body_mass, scene.model.body_mass)


@pytest.mark.parametrize("name", PACKAGES)
def test_other_bodies_stand_in_the_simulated_world(name):
    scene = ip.Scene().add(ip.BodyFile(character(name)), "robot")
    sim = ip.Simulation(scene, 0.005, world="simulated")
    stands(sim, "robot", steps=False)
    sim.run(0.5)
    assert not sim.fallen


PLAYS = [
    ("stand", "gymnasium_humanoid", {}),
    ("stand", "cmu_humanoid", {}),
    ("stand", "talos", {}),
    ("door", "cmu_humanoid", {}),
    ("door", "talos", {"aside": 0.05, "distance": 0.5}),
    ("box", "cmu_humanoid", {}),
    ("ring", "talos", {"n": 2, "spacing": 0.85}),
]


def _deepest(pairs):
    """Return how deep [mm] trunk, head and legs are in anything else: the open hands of these bodies fit no handle."""
    arms = re.compile("finger|thumb|wrist|hand|grip|arm")
    others = [p for p in pairs if p["meeting"] == "apart" and not arms.search(p["pair"].replace("handle", ""))]
    models = [(p, [name.split("/")[0] for name in p["pair"].split(" – ")]) for p in others]
    return max((p["depth_mm"] for p, (one, two) in models if one != two), default=0.0)


@pytest.mark.parametrize(("scenario", "name", "parameters"), PLAYS, ids=lambda v: v if isinstance(v, str) else "")
def test_other_bodies_play_scenarios(scenario, name, parameters, tmp_path):
    report = run(scenario, tmp_path, parameters=parameters, character=character(name))
    certificate = report["certificate"]
    assert report["finished"]
    assert report["fallbacks"] == 0
    assert certificate["eom_residual"] < 1e-6
    assert certificate["third_law_residual"] < 1e-8
    assert certificate["contact_drift_mm"] < 0.5
    assert _deepest(report["penetration"]) < 2.0
    assert certificate["torque_ratio"] < 1 + 1e-6
    assert certificate["limit_violation"] < 1e-6
    assert report["character"] == f"{name}.yaml"


@pytest.mark.parametrize("name", PACKAGES)
def test_a_guessed_sidecar_stands(name, tmp_path):
    """What ``interplay sidecar`` writes is a body that stands; every guess is marked."""
    path = character(name)
    file = locate(read_sidecar(path).model, path)
    target = tmp_path / "guess.yaml"
    text = guess_sidecar(file, beside=tmp_path)
    target.write_text(text)
    assert text.count("# guess") > 10
    body = ip.BodyFile(target)
    assert {"left_sole", "right_sole"} <= set(body.sidecar.surfaces)
    assert run("stand", tmp_path / "out", seconds=3.0, character=target)["fallbacks"] == 0


def test_point_feet_balance_by_momentum():
    """Pushed, a body on two points comes back; about the line it stands on only gravity changes its angular momentum."""
    scene = ip.Scene().add(ip.BodyFile(character("gymnasium_humanoid")), "a")
    sim = ip.Simulation(scene)
    soles = ("a/left_sole", "a/right_sole")
    for sole in soles:
        assert sim.contacts.add(sole, ip.GROUND).kind == "point"
    sim.objectives += [ip.Posture("a", weight=0.1), ip.LineBalance("a", *soles), ip.Com("a", axes="yz")]
    sim.live.push("a", (25.0, 0, 0), 0.1)
    size = sim.controller.size()
    sim.step()
    assert sim.controller.size()["vars"] == scene.model.nv + 6
    assert size["vars"] == 0
    start = scene.kinematics().subtree_com[1].copy()
    furthest = 0.0
    for _ in range(1600):
        assert not sim.step().fallback
        furthest = max(furthest, abs(sim.com("a")[0][0] - start[0]))
    position, speed = sim.com("a")
    assert furthest > 0.005
    assert abs(position[0] - start[0]) < 0.01
    assert np.linalg.norm(speed) < 0.02


# -- damaged files -----------------------------------------------------------------------------------------------------

MJCF = """<mujoco model="biped"><compiler angle="radian"/>
<worldbody><geom name="floor" type="plane" size="5 5 1"/>
<body name="hips" pos="0 0 1"><freejoint name="base"/><inertial pos="0 0 0" mass="20" diaginertia="0.4 0.5 0.6"/>
<geom name="trunk" type="capsule" fromto="0 0 0 0 0 0.5" size="0.1"/>
<body name="l_leg" pos="0 0.1 0"><joint name="l_hip" axis="0 1 0" range="-1 1" damping="0.1" armature="0.01"/>
<inertial pos="0 0 -0.4" mass="8" diaginertia="0.3 0.3 0.05"/><geom name="l_shin" type="capsule" fromto="0 0 0 0 0 -0.8" size="0.05"/>
<body name="l_foot" pos="0 0 -0.9"><joint name="l_ankle" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/><geom name="l_shoe" type="box" size="0.1 0.05 0.03"/></body></body>
<body name="r_leg" pos="0 -0.1 0"><joint name="r_hip" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 -0.4" mass="8" diaginertia="0.3 0.3 0.05"/><geom name="r_shin" type="capsule" fromto="0 0 0 0 0 -0.8" size="0.05"/>
<body name="r_foot" pos="0 0 -0.9"><joint name="r_ankle" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/><geom name="r_shoe" type="box" size="0.1 0.05 0.03"/></body></body>
</body></worldbody></mujoco>"""

URDF = """<robot name="biped"><link name="hips">
<inertial><mass value="20"/><inertia ixx="0.4" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.6"/></inertial>
<collision><geometry><box size="0.2 0.2 0.4"/></geometry></collision></link>
<link name="l_foot"><inertial><origin xyz="0 0 -0.4"/><mass value="5"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial>
<collision><origin xyz="0 0 -0.9"/><geometry><box size="0.2 0.1 0.06"/></geometry></collision></link>
<link name="r_foot"><inertial><origin xyz="0 0 -0.4"/><mass value="5"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial>
<collision><origin xyz="0 0 -0.9"/><geometry><box size="0.2 0.1 0.06"/></geometry></collision></link>
<joint name="l_hip" type="revolute"><origin xyz="0 0.1 0"/><parent link="hips"/><child link="l_foot"/><axis xyz="0 1 0"/>
<limit effort="80" lower="-1" upper="1" velocity="5"/></joint>
<joint name="r_hip" type="revolute"><origin xyz="0 -0.1 0"/><parent link="hips"/><child link="r_foot"/><axis xyz="0 1 0"/>
<limit effort="80" lower="-1" upper="1" velocity="5"/></joint>
</robot>"""

SIDECAR = """model: {file}
root: hips
facing: [1, 0, 0]
bodies: {{pelvis: hips}}
surfaces:
  left_sole: {{body: l_foot, box: {{pos: [0, 0, -0.03], size: [0.09, 0.045], normal: [0, 0, -1], along: [1, 0, 0]}}}}
  right_sole: {{body: r_foot, box: {{pos: [0, 0, -0.03], size: [0.09, 0.045]}}}}
grips:
  left_grip: {{body: l_foot, pos: [0, 0, 0], axis: [1, 0, 0]}}
posture: {{l_hip: 0.02, r_hip: 0.02}}
limits: {{l_hip: {{torque: 50, velocity: 5}}}}
torque: 100
velocity: 10
"""


IN_URDF = {"pos: [0, 0, -0.03]": "pos: [0, 0, -0.93]", "pos: [0, 0, 0], axis": "pos: [0, 0, -0.9], axis"}
"""Where the surfaces are in the URDF body: its feet have their frames at the hips."""


def write(folder, model, sidecar=SIDECAR, suffix=".xml"):
    if suffix == ".urdf":
        for here, there in IN_URDF.items():
            sidecar = sidecar.replace(here, there)
    file = folder / f"body{suffix}"
    file.write_bytes(model if isinstance(model, bytes) else model.encode())
    path = folder / "side.yaml"
    text = sidecar.format(file=file.name) if isinstance(sidecar, str) else sidecar
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("model", "suffix"), [(MJCF, ".xml"), (URDF, ".urdf")])
def test_the_undamaged_files_load(model, suffix, tmp_path):
    body = ip.BodyFile(write(tmp_path, model, suffix=suffix))
    assert body.mass > 20
    assert body.placement_height > 0.02
    assert ip.Scene().add(body, "a").model.nv == 6 + (4 if suffix == ".xml" else 2)


def damaged_numbers():
    """Every number of the model files that matters, replaced by what no body can have."""
    for model, suffix, places in (
        (
            MJCF,
            ".xml",
            {
                'mass="20"': ("mass", ("-1", "nan", "inf", "-inf", "abc", "1e400")),
                'mass="8"': ("mass", ("-1", "nan", "inf", "abc", "1e400")),
                'mass="1"': ("mass", ("-1", "nan", "inf", "x")),
                'diaginertia="0.4 0.5 0.6"': (
                    "diaginertia",
                    ("0.1 0.1 0.9", "-0.1 0.5 0.6", "nan 0.5 0.6", "0.4 0.5", "0.4 inf 0.6", "a b c", "0.4 0.5 -0.6"),
                ),
                'diaginertia="0.3 0.3 0.05"': ("diaginertia", ("0.01 0.3 0.05", "0.3 nan 0.05", "0 0 1", "-1 -1 -1")),
                'diaginertia="0.01 0.01 0.01"': ("diaginertia", ("0.01 0.01 0.05", "0.01 0.01 nan", "0.01 -0.01 0.01")),
                'pos="0 0 1"': ("pos", ("nan 0 0", "inf 0 0", "0 0", "a b c")),
                'pos="0 0.1 0"': ("pos", ("0 nan 0", "0 inf 0", "0")),
                'pos="0 0 -0.9"': ("pos", ("0 0 nan", "0 0 -inf", "x y z")),
                'pos="0 0 -0.4"': ("pos", ("0 0 nan", "0 0 inf")),
                'axis="0 1 0"': ("axis", ("0 0 0", "nan 0 0", "0 1", "a")),
                'range="-1 1"': ("range", ("1 -1", "nan 1", "-1 inf", "-1", "a b")),
                'damping="0.1"': ("damping", ("-1", "nan", "inf", "x")),
                'armature="0.01"': ("armature", ("-1", "nan", "inf", "x")),
                'size="0.1 0.05 0.03"': ("size", ("-0.1 0.05 0.03", "nan 0.05 0.03", "0 0 0", "x")),
                'size="0.05"': ("size", ("-0.05", "nan", "0", "x")),
                'fromto="0 0 0 0 0 -0.8"': ("fromto", ("0 0 0 0 0 0", "0 0 0 0 0 nan", "0 0 0")),
                'name="l_hip"': ("name", ("r_hip",)),
                'name="l_leg"': ("name", ("r_leg",)),
                'type="box"': ("type", ("cube", "mesh", "hfield")),
                'angle="radian"': ("angle", ("turns",)),
            },
        ),
        (
            URDF,
            ".urdf",
            {
                'mass value="20"': ("mass value", ("-1", "nan", "inf", "abc", "")),
                'mass value="5"': ("mass value", ("-1", "nan", "0", "abc")),
                'ixx="0.4"': ("ixx", ("-0.4", "nan", "9", "abc")),
                'iyy="0.2"': ("iyy", ("-0.2", "nan", "9")),
                'izz="0.1"': ("izz", ("-0.1", "nan", "9", "inf")),
                'xyz="0 0.1 0"': ("xyz", ("nan 0 0", "0 0", "a b c")),
                'xyz="0 0 -0.4"': ("xyz", ("0 0 nan", "0 0")),
                'xyz="0 1 0"': ("xyz", ("0 0 0", "0 nan 0")),
                'lower="-1"': ("lower", ("nan", "2", "x")),
                'upper="1"': ("upper", ("nan", "-2", "x")),
                'velocity="5"': ("velocity", ("nan", "fast", "inf")),
                'size="0.2 0.2 0.4"': ("size", ("-1 1 1", "nan 1 1", "0 0 0", "1")),
                'link="hips"': ("link", ("nobody",)),
                'child link="l_foot"': ("child link", ("r_foot", "hips", "nobody")),
                'type="revolute"': ("type", ("wobbly",)),
                'link name="l_foot"': ("link name", ("r_foot",)),
                "<box": ("<", ()),
            },
        ),
    ):
        for place, (attribute, values) in places.items():
            for value in values:
                yield model, suffix, place, f'{attribute}="{value}"'
    cuts = [(MJCF, ".xml"), (URDF, ".urdf")]
    for model, suffix in cuts:
        for part in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95):
            yield model[: int(part * len(model))], suffix, "", ""
        for text in ("", "not a model", "<other/>", "<!DOCTYPE x [<!ENTITY a 'b'>]>" + model, "\x00\x01\x02"):
            yield text, suffix, "", ""
    yield MJCF.replace("</mujoco>", "<equality><weld body1='hips' body2='nobody'/></equality></mujoco>"), ".xml", "", ""
    yield MJCF.replace('<geom name="trunk"', "<geom type='mesh' mesh='nothing' name='trunk'"), ".xml", "", ""
    yield MJCF.replace("<worldbody>", "<asset><mesh name='m' file='gone.stl'/></asset><worldbody>"), ".xml", "", ""
    yield (
        MJCF.replace('<joint name="l_ankle" axis="0 1 0" range="-1 1"/>', "<joint type='ball' name='l_ankle'/>"),
        ".xml",
        "",
        "",
    )
    yield URDF.replace('<box size="0.2 0.2 0.4"/>', '<mesh filename="package://nowhere/gone.stl"/>'), ".urdf", "", ""
    yield URDF.replace('<box size="0.2 0.2 0.4"/>', '<mesh filename="gone.stl"/>'), ".urdf", "", ""


DAMAGED = list(damaged_numbers())

BAD_SIDECARS = {
    "model: {file}": ("model: gone.xml", "model: [1]", "", "model: python://nowhere/x.xml", "model: ''"),
    "root: hips": ("root: hip", "root: ", "root: [a]", "root: 3", ""),
    "facing: [1, 0, 0]": ("facing: [0, 0, 1]", "facing: [1, 0]", "facing: north", "facing: [.nan, 0, 0]"),
    "pelvis: hips": ("pelvis: hop", "pelvis: [hips]", "l_leg: hips", "pelvis: 7"),
    "body: l_foot, box": ("body: l_fot, box", "site: nowhere, box", "box", "body: 3, box"),
    "pos: [0, 0, -0.03], size: [0.09, 0.045], normal": (
        "pos: [0, 0], size: [0.09, 0.045], normal",
        "pos: [0, 0, .inf], size: [0.09, 0.045], normal",
        "pos: [0, 0, -0.03], size: [-1, 0.045], normal",
        "pos: [0, 0, -0.03], size: [0, 0], normal",
        "pos: [0, 0, -0.03], normal",
        "pos: [0, 0, -0.03], size: [0.09, 0.045], colour: red, normal",
    ),
    "normal: [0, 0, -1]": ("normal: [0, 0, 0]", "normal: up", "normal: [0, 0]"),
    "along: [1, 0, 0]": ("along: [0, 0, 0]", "along: x"),
    "axis: [1, 0, 0]": ("axis: [0, 0, 0]", "axis: [1]", "radius: -1", "half_length: 0"),
    "left_grip: {{body: l_foot": ("left_grip: {{body: nobody", "left_grip: {{body: l_foot, site: x", "left_grip: {{"),
    "posture: {{l_hip: 0.02": (
        "posture: {{hip: 0.1",
        "posture: {{l_hip: 0.1",
        "posture: {{l_hip: 3",
        "posture: {{l_hip: .nan",
        "posture: {{l_hip: a",
    ),
    "limits: {{l_hip": ("limits: {{nothing", "limits: {{l_hip: 3, r_hip"),
    "torque: 50": ("torque: -1", "torque: 0", "torque: .inf", "torque: x", "range: [1, 0]", "range: [1]"),
    "velocity: 5": ("velocity: -1", "velocity: .nan", "speed: 5"),
    "torque: 100": ("", "torque: -100", "torque: much"),
    "velocity: 10": ("velocity: 0", "passive: maybe", "unknown: 1", "packages: [a]", "velocity: [1]"),
}


@pytest.mark.parametrize("index", range(len(DAMAGED)))
def test_a_damaged_model_file_gets_a_clear_error(index, tmp_path):
    model, suffix, place, instead = DAMAGED[index]
    text = model.replace(place, instead, 1) if place else model
    path = write(tmp_path, text, suffix=suffix)
    with pytest.raises(ip.InputError) as caught:
        ip.BodyFile(path)
    message = str(caught.value)
    assert f"body{suffix}" in message or "side.yaml" in message
    assert len(message) > 20


@pytest.mark.parametrize(
    ("place", "instead"), [(place, instead) for place, texts in BAD_SIDECARS.items() for instead in texts]
)
def test_a_damaged_sidecar_gets_a_clear_error(place, instead, tmp_path):
    assert place in SIDECAR
    with pytest.raises(ip.InputError) as caught:
        ip.BodyFile(write(tmp_path, MJCF, SIDECAR.replace(place, instead, 1)))
    message = str(caught.value)
    assert "side.yaml" in message or "gone.xml" in message or "body.xml" in message
    assert len(message) > 20


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"- 1\n- 2\n",
        b"a: [1, 2",
        b"model: x\n\tbad: tab",
        b"\xff\xfe\x00",
        b"a: &a [1, 1]\nb: &b [*a, *a]\nmodel: *b\n",
        b"!!python/object/apply:os.system ['true']",
        b"x" * 1_100_000,
        b"model: " + b"[" * 5000,
    ],
)
def test_what_is_no_sidecar_is_refused(text, tmp_path):
    (tmp_path / "side.yaml").write_bytes(text)
    with pytest.raises(ip.InputError, match=r"side\.yaml"):
        ip.BodyFile(tmp_path / "side.yaml")


def test_there_are_enough_damaged_files():
    assert len(DAMAGED) + sum(len(v) for v in BAD_SIDECARS.values()) >= 200


# -- files as they come ------------------------------------------------------------------------------------------------


def test_a_root_below_others_keeps_their_defaults(tmp_path):
    inner = MJCF.replace(
        '<compiler angle="radian"/>',
        '<compiler angle="radian"/><default><default class="legs"><joint armature="0.3"/></default></default>',
    )
    inner = inner.replace('<body name="hips"', '<body name="cart" childclass="legs"><body name="hips"').replace(
        '<freejoint name="base"/>', ""
    )
    inner = inner.replace("</body></worldbody>", "</body></body></worldbody>")
    body = ip.BodyFile(write(tmp_path, inner)).build().compile()
    assert body.dof_armature[body.joint("r_hip").dofadr[0]] == pytest.approx(0.3)


def test_joints_between_root_and_world_are_left_out(tmp_path):
    planar = MJCF.replace(
        '<freejoint name="base"/>',
        "<joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>",
    )
    with pytest.raises(ip.InputError, match=r"2 joints \(x, z\).*'base: free'"):
        ip.BodyFile(write(tmp_path, planar))
    body = ip.BodyFile(write(tmp_path, planar, SIDECAR + "base: free\n"))
    assert any("root" in what for what in body.dropped)
    assert ip.Scene().add(body, "a").model.nv == 10
    fixed = ip.BodyFile(write(tmp_path, planar, SIDECAR + "base: fixed\n"))
    assert ip.Scene().add(fixed, "a").model.nv == 4


def test_torque_limits_of_motors_and_servos(tmp_path):
    """A servo's control range is an angle, not a torque; a motor without a range takes the sidecar's limit."""
    motors = "<actuator><position joint='r_hip' kp='75' ctrlrange='-0.5 0.5'/><motor joint='r_ankle' gear='50'/>"
    motors += "<motor joint='l_ankle' gear='50' ctrlrange='-1 1'/></actuator>"
    body = ip.BodyFile(write(tmp_path, MJCF.replace("</worldbody>", "</worldbody>" + motors)))
    scene = ip.Scene().add(body, "a")
    torque, m = JointLimits.of(scene.model).torque, scene.model
    found = {name: torque[m.jnt_dofadr[scene.joint(f"a/{name}")]] for name in ("r_hip", "r_ankle", "l_ankle", "l_hip")}
    assert found == {"r_hip": 100, "r_ankle": 100, "l_ankle": 50, "l_hip": 50}


def test_unnamed_parts_and_exchanged_names(tmp_path):
    nameless = (
        MJCF.replace(' name="r_shoe"', "")
        .replace(' name="l_shoe"', ' name="r_foot_5"')
        .replace('joint name="r_ankle"', "joint")
    )
    swapped = SIDECAR.replace("pelvis: hips", "l_leg: r_leg, r_leg: l_leg")
    scene = ip.Scene().add(ip.BodyFile(write(tmp_path, nameless, swapped)), "a")
    y = scene.kinematics().xpos[[scene.body("a/l_leg"), scene.body("a/r_leg")], 1]
    assert y[0] < 0 < y[1]
    assert all(scene.model.joint(j).name for j in range(scene.model.njnt))


def test_meshes_of_packages_and_of_a_mesh_folder(tmp_path, monkeypatch):
    import trimesh

    for folder in ("shared/meshes", "chars/meshes"):
        (tmp_path / folder).mkdir(parents=True)
        trimesh.creation.box((0.2, 0.2, 0.4)).export(tmp_path / folder / "hull.stl")
    box = '<box size="0.2 0.2 0.4"/>'
    for model in (
        URDF.replace(box, '<mesh filename="package://kit/meshes/hull.stl"/>'),
        URDF.replace(box, '<mesh filename="hull.stl"/>').replace(
            '<robot name="biped">', '<robot name="biped"><mujoco><compiler meshdir="meshes"/></mujoco>'
        ),
    ):
        write(tmp_path / "chars", model, SIDECAR + "packages: {{kit: ../shared}}\n", ".urdf")
        monkeypatch.chdir(tmp_path)
        assert len(ip.BodyFile("chars/side.yaml").assets) == 1


def test_a_robot_whose_meshes_overlap_around_its_joints_stands():
    sim = ip.Simulation(ip.Scene().add(ip.BodyFile(character("talos")), "robot"), 0.01, world="simulated")
    stands(sim, "robot", steps=False)
    sim.run(0.5)
    assert np.abs(sim.state.qvel).max() < 0.1
    bodies = {sim.scene.model.body(int(b)).name for b in sim.touches.bodies.ravel()}
    assert bodies == {"world", "robot/left_foot", "robot/right_foot"}
    # What does not overlap at first collides as ever.
    m = sim.scene.model
    excluded = {int(s) for s in m.exclude_signature}
    hand, thigh = sorted(m.body(f"robot/{part}").id for part in ("left_hand", "left_thigh"))
    assert (hand << 16) + thigh not in excluded
