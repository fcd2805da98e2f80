"""Bodies: masses and sizes of the literature, joints as counted, surfaces where they belong, looks that compile."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.models.anthropometry import segments
from interplay.models.motors import torque_limits


@pytest.mark.parametrize("sex", ["male", "female"])
@pytest.mark.parametrize(("height", "mass"), [(1.1, 19), (1.5, 45), (1.74, 75), (2.0, 110)])
def test_mass_and_stature(sex, height, mass):
    scene = ip.Scene().add(ip.Humanoid(height, mass, sex), "h")
    m = scene.model
    assert m.body_mass.sum() == pytest.approx(mass, rel=1e-5)
    scene.pose("h", {j.split("/")[1]: 0.0 for j in (m.joint(k).name for k in range(1, m.njnt))})
    terms = scene.kinematics()
    top = max(
        float(terms.geom_xpos[g][2] + m.geom_aabb[g, 2] + m.geom_aabb[g, 5])
        for g in range(m.ngeom)
        if "head_shape" in m.geom(g).name
    )
    sole = float(terms.site_xpos[scene.site("h/left_sole")][2])
    assert top - sole == pytest.approx(height, rel=0.02)


@pytest.mark.parametrize(("joints", "dofs", "motors"), [(30, 36, 30), (31, 37, 31), (34, 40, 34), ("planar", 16, 13)])
def test_joint_sets(joints, dofs, motors):
    scene = ip.Scene().add(ip.Humanoid(joints=joints), "h")
    assert scene.model.nv == dofs
    assert len(scene.subsystems[0].actuated) == motors
    assert (scene.model.jnt_user[scene.model.jnt_type == 3, 0][-13:] > 0).all()


def test_segments_are_de_levas():
    s = segments(1.741, 100.0, "male")
    assert sum(
        v.mass * (2 if k in ("upper_arm", "forearm", "hand", "thigh", "shank", "foot") else 1) for k, v in s.items()
    ) == pytest.approx(100.0)
    assert s["thigh"].mass == pytest.approx(14.16, rel=2e-3)
    assert s["forearm"].length == pytest.approx(0.2689, rel=1e-6)
    for segment in s.values():  # a rigid body's inertias obey the triangle inequality
        a, b, c = sorted(segment.inertia)
        assert a + b >= c


def test_left_and_right_mirror_each_other():
    scene = ip.Scene().add(
        ip.Humanoid(),
        "h",
        posture={
            f"{s}_{j}": 0.6 for s in ("left", "right") for j in ("hip_abduction", "hip_rotation", "elbow_flexion")
        },
    )
    terms = scene.kinematics()
    for name in ("hand", "foot", "thigh"):
        left, right = (terms.xpos[scene.body(f"h/{s}_{name}")] for s in ("left", "right"))
        assert_allclose(left, right * [1, -1, 1], atol=1e-6)


def test_torque_limits_scale_and_can_be_lifted():
    m = ip.Scene().add(ip.Humanoid(1.74, 75), "h").model
    limits = torque_limits(m)
    assert limits[m.jnt_dofadr[m.joint("h/left_knee_flexion").id]] == pytest.approx(230, rel=1e-4)
    assert np.isnan(limits[:6]).all()
    strong = torque_limits(ip.Scene().add(ip.Humanoid(strength=float("inf")), "h").model)
    assert np.isinf(strong[6:]).all()


@pytest.mark.parametrize("strength", [0.5, 1.0, float("inf")])
def test_passive_tissue_is_not_that_of_motors(strength):
    stretched = ip.Scene().add(ip.Humanoid(1.74, 75, springs=True, strength=strength), "h").model
    ankle = stretched.joint("h/left_ankle_flexion").id
    assert stretched.jnt_stiffnesspoly[ankle, 1] == pytest.approx(130.0)


def test_shoes_give_in_proportion_to_mass():
    """As soles say, 125 kN/m of 75 kg; of bare feet nothing is said."""
    shod, bare = (ip.Scene().add(ip.Humanoid(1.74, 60, shoes=shoes), "h").model for shoes in (True, False))
    assert shod.site_user[shod.site("h/left_sole").id, 0] == pytest.approx(125e3 * 60 / 75, rel=1e-5)
    assert bare.nuser_site == 0


def test_child_and_big_head_come_from_parameters():
    adult, child = ip.Humanoid(1.2), ip.Humanoid.child(1.2)
    assert child.segments["head"].length > 1.15 * adult.segments["head"].length
    assert child.segments["thigh"].length < adult.segments["thigh"].length
    alien = ip.Humanoid(1.5, head_scale=1.8)
    assert alien.segments["head"].mass / alien.mass > 0.2


def test_surfaces_face_outward():
    scene = ip.Scene().add(ip.Humanoid(), "h", posture={})
    terms = scene.kinematics()
    outward = {
        "left_sole": (0, 0, -1),
        "right_sole": (0, 0, -1),
        "back": (-1, 0, 0),
        "buttocks": (0, 0, -1),
        "left_shoulder": (0, 0, 1),
    }
    for name, normal in outward.items():
        assert terms.site_xmat[scene.site(f"h/{name}")].reshape(3, 3)[:, 2] @ normal > 0.97
    left = terms.site_xmat[scene.site("h/left_palm")].reshape(3, 3)[:, 2]
    assert left[1] < -0.8  # the palm looks at the thigh


@pytest.mark.parametrize(
    "model",
    [
        ip.Box(),
        ip.Ball(),
        ip.Barbell(),
        ip.Litter(),
        ip.Sword(),
        ip.Table(),
        ip.Door(),
        ip.Valve(),
        ip.Lever(),
        ip.MovingPlatform(),
        ip.DropLeaf(),
    ],
)
def test_objects_and_mechanisms_stand_and_weigh(model):
    scene = ip.Scene().add(model, "x").add(ip.Platform(), "p", pos=(5, 0))
    m = scene.model
    assert m.nv == (
        6
        if model.floating
        else {"Door": 2, "Valve": 2, "Lever": 1, "MovingPlatform": 4, "DropLeaf": 1}[type(model).__name__]
    )
    assert not scene.subsystems[0].actuated.size
    lowest = min(
        float(scene.kinematics().geom_xpos[g][2]) - float(m.geom_rbound[g])
        for g in range(m.ngeom)
        if m.geom(g).name.startswith("x/")
    )
    assert lowest > -1.0


def test_every_environment_has_its_patches():
    scene = (
        ip.Scene()
        .add(ip.Box(), "x", pos=(9, 9))
        .add(ip.Beam(), "beam")
        .add(ip.Wall(), "wall", pos=(3, 0))
        .add(ip.Stairs(3), "stairs", pos=(6, 0))
    )
    terms = scene.kinematics()
    assert terms.site_xpos[scene.site("beam/top")][2] == pytest.approx(0.4)
    assert terms.site_xmat[scene.site("wall/front")].reshape(3, 3)[0, 2] == pytest.approx(-1)
    assert terms.site_xpos[scene.site("stairs/step_3")][2] == pytest.approx(0.48)


def test_the_same_model_many_times_and_its_saved_scene(tmp_path):
    human, scene = ip.Humanoid(1.7), ip.Scene()
    for k in range(3):
        scene.add(human, f"h{k}", pos=(0, k))
    assert len({tuple(scene.model.geom(f"h{k}/chest_skin").rgba) for k in range(3)}) == 3
    again = mujoco.MjModel.from_xml_path(str(scene.save(tmp_path / "scene.xml")))
    for field in ("body_mass", "body_inertia", "body_pos", "jnt_range", "qpos0", "geom_size"):
        assert np.array_equal(getattr(again, field), getattr(scene.model, field)), field


def test_reach_places_both_feet_and_balances_over_them():
    scene = ip.Scene().add(ip.Humanoid(), "a")
    scene.reach("a/left_sole", [0.3, 0.12, 0, 0, 0, 1], ("a/right_sole", [0.0, -0.12, 0, 0, 0, 1]))
    places = [ip.Frame(scene, f"a/{side}_sole").pose(scene.rest)[0] for side in ("left", "right")]
    assert_allclose(places, [[0.3, 0.12, 0], [0, -0.12, 0]], atol=2e-3)
    assert np.linalg.norm(scene.rest.subtree_com[scene.body("a")][:2] - [0.15, 0]) < 0.03


def test_reach_puts_hands_and_keeps_feet():
    scene = ip.Scene().add(ip.Humanoid(1.65, 58), "alice", pos=(-0.6, -0.2)).add(ip.Door(), "door")
    before = scene.kinematics().site_xpos[scene.site("alice/left_sole")].copy()
    scene.reach("alice/right_grip", "door/knob_grip")
    terms = scene.kinematics()
    assert_allclose(
        terms.site_xpos[scene.site("alice/right_grip")], terms.site_xpos[scene.site("door/knob_grip")], atol=2e-4
    )
    assert_allclose(terms.site_xpos[scene.site("alice/left_sole")], before, atol=1e-4)
    m, q = scene.model, scene.qpos
    for joint in np.flatnonzero(m.jnt_limited):
        assert m.jnt_range[joint, 0] <= q[m.jnt_qposadr[joint]] <= m.jnt_range[joint, 1]
    com = terms.subtree_com[scene.body("alice")]
    assert abs(com[1] - before[1] + 0.08) < 0.15


def test_what_was_posed_stays_when_more_is_added():
    scene = ip.Scene().add(ip.Humanoid(), "bob").pose("bob", {"left_elbow_flexion": 1.1}).move("bob", (0.3, 0.1, 0.9))
    scene.add(ip.Ball(), "ball", pos=(3, 0))
    m = scene.model
    assert scene.qpos[m.jnt_qposadr[scene.joint("bob/left_elbow_flexion")]] == pytest.approx(1.1)
    assert_allclose(scene.qpos[:3], [0.3, 0.1, 0.9])
