"""Bodies nobody here had tried: they stand, or are placed, after ``interplay sidecar`` without an edit; remedies and messages."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

import interplay as ip
from interplay.cli import main
from interplay.models.files import read_model
from interplay.models.fit import held_together, points_in, shapes_of
from interplay.models.guess import guess_sidecar
from interplay.models.remedies import NeedsRemedy
from interplay.models.sidecar import Remedies
from interplay.scenarios.stand import Stand

SOLES = ("alice/left_sole", "alice/right_sole")

slow = pytest.mark.slow
"""Bodies that are almost the ones before them, and take as long."""

STAND = [
    ("g1_29dof_rev_1_0", {"pelvis_frame: pelvis"}),
    pytest.param("g1_29dof_with_hand_rev_1_0", {"pelvis_frame: pelvis"}, marks=slow),
    ("alexander_v1.lowerBodyOnly", {"collision: visual"}),
    ("bolt", {"ball:"}),
    ("romeo", {"smallest_mass: 0.005"}),
    pytest.param("romeo_small", {"inertias: balance"}, marks=slow),
    ("romeo_laas_small", {"inertias: balance", "smallest_mass: 0.005"}),
    ("icub", {"inertias: balance", "facing: [-1, 0, 0]"}),
    pytest.param("icub_reduced", {"inertias: balance", "facing: [-1, 0, 0]"}, marks=slow),
    ("human", {"up: [0, 1, 0]", "smallest_mass: 0.005", "collision: visual"}),
    ("simple_humanoid", {"shapes:", "BODY: [{", "l_ankle: [{"}),
]
PLACED = [
    pytest.param("baxter", {"base: fixed", "base_link.DAE': z_up"}, marks=slow),
    ("alex_nub_hands", {"base: fixed", "nub.obj': thicken", "leftNub: []", "collision: visual"}),
]


def robot(name):
    """The URDF file of a body of example-robot-data; the test is skipped where that is not installed."""
    for folder in sys.path:
        found = sorted(Path(folder).glob(f"cmeel.prefix/share/example-robot-data/robots/*/*/{name}.urdf"))
        if found:
            return found[0]
    pytest.skip("example-robot-data is not installed")


def guessed(file, folder):
    """Write the first sidecar of a file; return its path and its text."""
    path = folder / "side.yaml"
    path.write_text(guess_sidecar(file, beside=folder))
    return path, path.read_text()


def lowest_points(scene, qpos):
    """How high [m] the lowest point of all collision shapes of either foot is above the floor."""
    m, d = scene.model, mujoco.MjData(scene.model)
    d.qpos[:] = qpos
    mujoco.mj_kinematics(m, d)
    feet = [held_together(m, int(m.site_bodyid[scene.site(sole)])) for sole in SOLES]
    return np.array([min(points_in(m, d, g, 0)[:, 2].min() for g in shapes_of(m, foot)) for foot in feet])


def stands(sidecar, steps):
    """Let a body stand: no row gives way, it stays up, and its soles stay within 3 mm of the floor."""
    sim = Stand({}, ip.BodyFile(sidecar)).simulation()
    start = sim.com("alice")[0]
    assert np.abs(lowest_points(sim.scene, sim.state.qpos)).max() < 0.003
    assert not any(sim.step().fallback for _ in range(steps))
    assert np.abs(lowest_points(sim.scene, sim.state.qpos)).max() < 0.003
    assert abs(sim.com("alice")[0][2] - start[2]) < 0.05 * start[2]
    return sim


@pytest.mark.parametrize(("name", "entries"), STAND)
def test_a_robot_stands(name, entries, tmp_path):
    path, text = guessed(robot(name), tmp_path)
    assert not [entry for entry in entries if entry not in text]
    stands(path, 100)


@pytest.mark.parametrize(("name", "entries"), PLACED)
def test_a_robot_without_legs_is_placed(name, entries, tmp_path):
    """It is fixed with its lowest shape on the floor, and moves its arms beside others."""
    path, text = guessed(robot(name), tmp_path)
    assert not [entry for entry in entries if entry not in text]
    scene = ip.Scene().add(ip.BodyFile(path), "robot")
    m, d = scene.model, mujoco.MjData(scene.model)
    d.qpos[:] = scene.qpos
    mujoco.mj_kinematics(m, d)
    solid = shapes_of(m, list(range(1, m.nbody)))
    assert abs(min(points_in(m, d, g, 0)[:, 2].min() for g in solid)) < 0.003
    assert not (m.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any()
    sim = ip.Simulation(scene)
    sim.objectives += [ip.Posture("robot")]
    assert not any(sim.step().fallback for _ in range(10))
    with pytest.raises(ip.InputError, match=r"stand: .*'left_sole' and 'right_sole'"):
        Stand({}, ip.BodyFile(path)).build()


# -- traits of files, one by one ---------------------------------------------------------------------------------------

LEG = """<body name="{s}_thigh" pos="0 {y} -0.1"><inertial pos="0 0 -0.2" mass="4" diaginertia="0.06 0.06 0.01"/>
<joint name="{s}_hip_z" axis="0 0 1" range="-1 1"/><joint name="{s}_hip_x" axis="1 0 0" range="-1 1"/>
<joint name="{s}_hip_y" axis="0 1 0" range="-1.5 1.5"/><geom type="capsule" fromto="0 0 -0.05 0 0 -0.35" size="0.05"/>
<body name="{s}_shin" pos="0 0 -0.4"><inertial pos="0 0 -0.2" mass="3" diaginertia="0.04 0.04 0.005"/>
<joint name="{s}_knee" axis="0 1 0" range="-0.1 2.2"/><geom type="capsule" fromto="0 0 -0.05 0 0 -0.3" size="0.04"/>
<body name="{s}_pivot" pos="0 0 -0.4"><inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
<joint name="{s}_ankle_y" axis="0 1 0" range="-1 1"/><geom type="box" size="0.02 0.01 0.02"/>
<body name="{s}_foot"><inertial pos="0.03 0 -0.03" mass="0.8" diaginertia="0.001 0.003 0.003"/>{roll}{shoe}
</body></body></body></body>"""
ROLL = '<joint name="{s}_ankle_x" axis="1 0 0" range="-0.5 0.5"/>'
BOX = '<geom type="box" pos="0.03 0 -0.04" size="0.1 0.04 0.01"/>'
STUDS = "".join(f'<geom size="0.001" pos="{x} {y} -0.049"/>' for x in (-0.06, 0.13) for y in (-0.03, 0.03))


def biped(root="<freejoint/>", roll=ROLL, shoe=BOX, trunk='diaginertia="0.4 0.4 0.2"'):
    """MJCF of a body with knees; what joins it to the world, its ankles and its soles are as given."""
    legs = "".join(LEG.format(s=s, y=y, roll=roll.format(s=s), shoe=shoe) for s, y in (("left", 0.1), ("right", -0.1)))
    return (
        f'<mujoco><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 1">{root}'
        f'<inertial pos="0 0 0.2" mass="25" {trunk}/><geom type="box" pos="0 0 0.2" size="0.1 0.15 0.25"/>{legs}</body></worldbody></mujoco>'
    )


SLIDES = "".join(
    f'<joint name="root_{kind}{k}" type="{kind}" axis="{axis}"/>'
    for kind in ("slide", "hinge")
    for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
)


def write(folder, text, name="biped.xml"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("model", "entries"),
    [
        (biped(), {"body: left_foot, box", "pos: [0.03, 0, -0.05]", "size: [0.1, 0.04]"}),
        (biped(root=SLIDES, shoe=STUDS), {"base: free", "root_hinge2", "pos: [0.035, 0, -0.05]"}),
        (biped(roll=""), {"body: left_pivot, ball"}),
        (biped(trunk='diaginertia="0.1 0.1 0.5"'), {"inertias: balance  # guess: body 'trunk' has impossible"}),
        (biped(shoe=BOX.replace("/>", ' contype="0" conaffinity="0"/>')), {"collision: visual"}),
    ],
    ids=["boxes", "slides and studs", "no ankle roll", "inertia", "only seen"],
)
def test_a_file_with_one_trait_stands(model, entries, tmp_path):
    path, text = guessed(write(tmp_path, model), tmp_path)
    assert not [entry for entry in entries if entry not in text]
    sim = stands(path, 100)
    if "root_" in model:
        assert sim.scene.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
        assert "root_slide0" not in {sim.scene.model.joint(j).name for j in range(sim.scene.model.njnt)}


def test_a_remedy_is_what_the_message_says(tmp_path):
    """Without an entry the file is refused with the very line that is its remedy; with it, nothing else is changed."""
    file = write(tmp_path, biped(trunk='diaginertia="0.1 0.1 0.5"'))
    with pytest.raises(NeedsRemedy, match=r"biped\.xml: body 'trunk' .* the remedy .*'inertias: balance'") as caught:
        read_model(file)
    balanced = read_model(file, Remedies(**{caught.value.entry: caught.value.value})).model
    np.testing.assert_allclose(np.sort(balanced.body("trunk").inertia), [0.25, 0.25, 0.5], rtol=0.01)  # a thin disc
    plain = read_model(write(tmp_path, biped())).model
    others = [b for b in range(1, plain.nbody) if plain.body(b).name != "trunk"]
    np.testing.assert_allclose(balanced.body_inertia[others], plain.body_inertia[others])
    massless = biped().replace('mass="0.1" diaginertia="1e-4 1e-4 1e-4"', 'mass="0" diaginertia="0 0 0"')
    file = write(
        tmp_path, massless.replace('<geom type="box" size="0.02 0.01 0.02"/>', "").replace("<geom", "<geom mass='0'")
    )
    with pytest.raises(
        NeedsRemedy, match=r"2 bodies \(left_pivot, right_pivot\) have joints but no mass.*smallest_mass"
    ):
        read_model(file)
    assert read_model(file, Remedies(smallest_mass=0.01)).model.body("left_pivot").mass == pytest.approx(0.01)


ONE_MESH = """<robot name="r"><link name="trunk"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link></robot>"""

DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">0 0 0 10 0 0 0 20 0 0 0 30</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><polylist count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<vcount>3 3 3 3</vcount><p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>1 0 0</translate><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def extent(model):
    d = mujoco.MjData(model)
    mujoco.mj_kinematics(model, d)
    points = points_in(model, d, 0, 0)
    return points.min(0), points.max(0)


def test_meshes_are_read_thickened_or_left_out(tmp_path):
    write(tmp_path, trimesh.creation.box((0.2, 0.4, 0.6)).export(file_type="stl_ascii"), "text.stl")
    low, high = extent(read_model(write(tmp_path, ONE_MESH.format(mesh="text.stl"), "r.urdf")).model)
    np.testing.assert_allclose([low, high], [[-0.1, -0.2, -0.3], [0.1, 0.2, 0.3]], atol=1e-6)
    write(tmp_path, DAE, "wedge.dae")
    low, high = extent(read_model(write(tmp_path, ONE_MESH.format(mesh="wedge.dae"), "r.urdf")).model)
    np.testing.assert_allclose([low, high], [[0.01, -0.3, 0], [0.11, 0, 0.2]], atol=1e-6)
    low, high = extent(read_model(tmp_path / "r.urdf", Remedies(meshes={"wedge.dae": "z_up"})).model)
    np.testing.assert_allclose([low, high], [[0.01, 0, 0], [0.11, 0.2, 0.3]], atol=1e-6)

    sheet = trimesh.creation.box((0.2, 0.4, 0.0))
    (tmp_path / "Sheet.STL").write_bytes(sheet.export(file_type="stl"))
    file = write(tmp_path, ONE_MESH.format(mesh="Sheet.STL"), "r.urdf")
    with pytest.raises(NeedsRemedy, match=r"r\.urdf: mesh 'Sheet\.STL'.*'meshes: \{Sheet\.STL: thicken\}'") as caught:
        read_model(file)
    low, high = extent(read_model(file, Remedies(**{caught.value.entry: caught.value.value})).model)
    np.testing.assert_allclose(high - low, [0.2, 0.4, 0.002], atol=1e-6)
    found = read_model(file, Remedies(meshes={"Sheet.STL": "drop"}))
    assert found.model.ngeom == 0
    assert found.dropped == ["collision mesh Sheet.STL"]
    with pytest.raises(ip.InputError, match=r"unknown mesh 'sheet\.stl'; did you mean 'Sheet\.STL'"):
        read_model(file, Remedies(meshes={"sheet.stl": "drop"}))
    with pytest.raises(ip.InputError, match=r"r\.urdf: shapes: unknown body 'trnk'; did you mean 'trunk'"):
        read_model(file, Remedies(meshes={"Sheet.STL": "drop"}, shapes={"trnk": []}))


@pytest.mark.parametrize(
    "damaged", ["<COLLADA/>", DAE.replace("#v", "#w"), DAE.replace("0 0 0 10", "0 x 0 10"), "<", ""]
)
def test_a_damaged_mesh_is_named(damaged, tmp_path):
    write(tmp_path, damaged, "wedge.dae")
    with pytest.raises(ip.InputError, match=r"r\.urdf: mesh 'wedge\.dae' is damaged"):
        read_model(write(tmp_path, ONE_MESH.format(mesh="wedge.dae"), "r.urdf"))


def test_packages_are_an_option_and_an_entry(tmp_path, monkeypatch, capsys):
    """Where a package is not found the message says both; what is given to the command stands in the sidecar."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/hull.stl").write_bytes(trimesh.creation.box((0.2, 0.2, 0.4)).export(file_type="stl"))
    file = write(tmp_path, ONE_MESH.format(mesh="package://kit/hull.stl"), "r.urdf")
    with pytest.raises(ip.InputError, match=r"package 'kit' .* '--package kit=FOLDER'"):
        guess_sidecar(file)
    text = guess_sidecar(file, packages={"kit": str(tmp_path / "elsewhere")})
    assert "packages:\n  kit: elsewhere\n" in text
    legless = text.replace("base: fixed", "base: free")  # nothing of it moves otherwise
    monkeypatch.setattr(sys, "argv", ["interplay", "sidecar", str(file), "--package", f"kit={tmp_path / 'elsewhere'}"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert "no legs" in capsys.readouterr().out
    assert (tmp_path / "r.yaml").read_text() == text
    write(tmp_path, legless, "r.yaml")
    assert ip.Scene().add(ip.BodyFile(tmp_path / "r.yaml"), "a").model.nmesh == 1


def sidecar(left="left_foot", height=-0.05, size=0.09, more=""):
    """A sidecar written by hand for the biped with boxes as shoes."""
    soles = "".join(
        f"  {s}_sole: {{body: {b}, box: {{pos: [0.03, 0, {height}], size: [{size}, 0.035]}}}}\n"
        for s, b in (("left", left), ("right", "right_foot"))
    )
    return f"model: biped.xml\nroot: trunk\ntorque: 100\nsurfaces:\n{soles}{more}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            sidecar(height=-0.02),
            r"in its posture the body 'left_foot' reaches 30\.0 mm below the soles; expected at most 3 mm",
        ),
        (sidecar(height=-0.06), r"surfaces\.left_sole: it lies 10\.0 mm before the collision shape of 'left_foot'"),
        (sidecar(size=0.11), r"surfaces\.left_sole: it lies 10\.0 mm before the collision shape of 'left_foot'"),
        (sidecar(left="left_pivot"), r"left_sole: it lies 100\.0 mm .* 'left_pivot'.*it would fit 'left_foot'"),
        (
            sidecar(
                more="  left_palm: {body: trunk, box: {pos: [0.2, 0, 0.2], size: [0.02, 0.02], normal: [1, 0, 0]}}\n"
            ),
            r"left_palm: .* 100\.0 mm",
        ),
        (sidecar(more="grips:\n  left_grip: {body: trunk, pos: [0, 0.3, 0.2]}\n"), r"grips\.left_grip: .* 134\.0 mm"),
        (
            sidecar(more="bodies: {trunk: left_foot}\n"),
            r"another body 'trunk'; give that one a name too, as in 'trunk_frame: trunk'",
        ),
        (sidecar(more="up: [1, 0, 0]\n"), r"facing: expected a horizontal direction, got \[1\.0, 0\.0, 0\.0\]"),
        (sidecar(more="shapes: {left_foot: []}\n"), r"left_sole: body 'left_foot' has no collision shape"),
    ],
)
def test_what_does_not_fit_is_said_with_figures(text, message, tmp_path):
    write(tmp_path, biped())
    with pytest.raises(ip.InputError, match=r"side\.yaml: .*" + message):
        ip.BodyFile(write(tmp_path, text, "side.yaml"))


def test_a_name_is_given_to_another_body_or_to_none(tmp_path):
    write(tmp_path, biped())
    for more, names in (
        ("bodies: {trunk: left_thigh, trunk_frame: trunk}\n", {"trunk", "trunk_frame"}),
        ("bodies: {left_pivot: null}\n", {"left_pivot_frame", "trunk"}),
    ):
        m = ip.BodyFile(write(tmp_path, sidecar(more=more), "side.yaml")).build().compile()
        assert names <= {m.body(b).name for b in range(m.nbody)}
    assert m.body("trunk").id == 1


def test_an_axis_that_is_up_stands_up(tmp_path):
    """A file whose up is y, and the same one whose up is z, are the same character."""
    write(tmp_path, biped())
    usual = ip.BodyFile(write(tmp_path, sidecar(), "side.yaml"))
    lying = biped().replace(
        '<body name="trunk" pos="0 0 1">', '<body name="trunk" pos="0 1 0" quat="0.5 -0.5 -0.5 -0.5">'
    )
    write(tmp_path, lying)
    turned = ip.BodyFile(write(tmp_path, sidecar(more="up: [0, 1, 0]\nfacing: [0, 0, 1]\n"), "side.yaml"))
    assert turned.height == pytest.approx(usual.height)
    assert turned.placement_height == pytest.approx(usual.placement_height)
