"""What phases wait for, and what they say while they do."""

import numpy as np
import pytest

import interplay as ip
from interplay.motion.conditions import missing


def box(height):
    sim = ip.Simulation(ip.Scene().add(ip.Box((0.2, 0.2, 0.2)), "box", pos=(0, 0, height)))
    return sim, ip.conditions.met("box/bottom", ip.GROUND)


@pytest.mark.parametrize(("height", "words"), [(0.03, "are 3.0 cm apart"), (-0.02, "are 2.0 cm inside each other")])
def test_gaps_are_signed(height, words):
    sim, touching = box(height)
    assert not touching(sim)
    assert words in missing(touching, sim)


def test_what_touches_waits_for_nothing():
    sim, touching = box(0.0)
    assert touching(sim)
    assert missing(touching, sim) == ""


def test_joints_at_the_end_of_their_range_are_named():
    scene = ip.Scene().add(ip.Humanoid(), "ann")
    m = scene.model
    low, high = m.jnt_range[scene.joint("ann/left_elbow_flexion")]
    scene.pose("ann", {"left_elbow_flexion": high - 0.004})
    scene.add(ip.Wall(), "wall", pos=(2.0, 0))
    sim = ip.Simulation(scene)
    held = missing(ip.conditions.met("ann/left_palm", "wall/front"), sim)
    assert "apart" in held or "inside" in held
    assert f"at the end of their range: ann/left_elbow_flexion ({high - 0.004:.2f} of [{low:.2f}, {high:.2f}])" in held
    assert "right_elbow" not in held
    assert "left_elbow" not in missing(ip.conditions.met("ann/right_palm", "wall/front"), sim)


def test_shapes_that_are_kept_apart_are_named():
    scene = ip.Scene().add(ip.Box(), "a", pos=(0, 0)).add(ip.Box(), "b", pos=(0.302, 0))
    size = np.array(scene.model.geom_size[scene.geom("a/hull")])
    scene.move("b", (2 * size[0] + 0.012, 0, size[2]))
    sim = ip.Simulation(scene)
    sim.collisions.add("a", "b", security=0.01)
    for thing in "ab":
        sim.contacts.add(f"{thing}/bottom", ip.GROUND)
    sim.step()
    held = missing(ip.conditions.met("a/top", "b/bottom"), sim)
    assert "kept apart: a/hull – b/hull (1.2 cm)" in held


def test_motors_at_their_limit_and_what_gave_way_are_named():
    sim = ip.Simulation(ip.Scene().add(ip.Door(), "door"))
    sim.step()
    from interplay.control.plan import Conflict

    sim.outcome = sim.outcome._replace(conflicts=(Conflict("torque", "ann/left_knee_flexion", 1.0, "N·m"),))
    held = missing(ip.conditions.joint_at("door/hinge", 1.0), sim)
    assert held.startswith("'door/hinge' is at 0.000")
    assert "gave way: torque ann/left_knee_flexion" in held
