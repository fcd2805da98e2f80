"""One program per character instead of one over all: what it decides, and what physics makes of it."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.recording import Recording
from interplay.runs.compare import compare
from interplay.runs.run import run


def standing(controller, strength=1.0, **options):
    scene = ip.Scene().add(ip.Humanoid(strength=strength), "alice")
    sim = ip.Simulation(scene, controller=controller, **options)
    for side in ("left", "right"):
        sim.contacts.add(f"alice/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Posture("alice"), ip.Com("alice")]
    return sim


def test_alone_both_controllers_are_one():
    """A character that touches nobody has the same program; its torques lead to the accelerations it planned."""
    one, other = standing("integrated"), standing("independent")
    for sim in (one, other):
        sim.live.push("alice/chest", (15, 10, 0), 0.1)
    for _ in range(40):
        a, b = one.step(), other.step()
        assert not b.fallback
        assert_allclose(b.tau, a.tau, atol=0.02)
    assert_allclose(other.state.qpos, one.state.qpos, atol=1e-5)


def test_torques_are_applied_whatever_follows():
    """A load that the program knows nothing of: the cart is not told to push, and both slide down the slope together."""
    chosen = scenario("push_two_bodies")({"slope": 0.2})
    sim = chosen.simulation(controller="independent")
    for _ in range(40):
        solution = sim.step()
    m, g = 50.0, 9.81 * np.sin(0.2)
    thrust = float(solution.tau[0])
    assert abs(thrust) <= 120.0
    assert_allclose(solution.qacc, thrust / m - g, atol=1e-3)  # Newton's law for both as one
    assert sim.state.qpos[1] < 1e-4  # the integrated program pushes the load up: see test_scenarios


def test_contacts_give_way_as_friction_demands():
    """Without motors worth the name a character sinks: soles press, never pull, within their cones."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(strength=0.02), "alice"), controller="independent")
    for side in ("left", "right"):
        sim.contacts.add(f"alice/{side}_sole", ip.GROUND)
    for _ in range(30):
        solution = sim.step()
        for contact, wrench in zip(sim.contacts, solution.touching.wrenches, strict=True):
            assert (contact.cone() @ wrench).min() > -1e-6
    assert sim.com("alice")[1][2] < -0.05


def test_the_box_is_squeezed_but_not_lifted():
    """Pressing is the hands' own business; the box's weight and its goal are nobody's: the table keeps carrying it."""
    sim = scenario("box")().simulation(0.02, controller="independent")
    while sim.time < 4.0:
        sim.step()
    assert sim.behaviour.phase.name == "take the weight"
    assert sim.force("alice/left_palm")[2] > 30.0
    assert_allclose(sim.force("box/bottom")[2], 4.0 * 9.81, rtol=0.02)


def test_a_run_can_be_resumed(tmp_path):
    """What the hands last felt travels in the state."""
    run("ring", tmp_path / "a", controller="independent", seconds=0.6, dt=0.01, parameters={"n": 2})
    run("ring", tmp_path / "b", controller="independent", seconds=0.3, dt=0.01, parameters={"n": 2})
    run("ring", tmp_path / "b", seconds=0.6, resume=True)
    a, b = (Recording(tmp_path / k) for k in "ab")
    assert b.header["controller"] == "independent"
    assert_array_equal(b["qpos"], a["qpos"])


def test_the_record_is_exact(tmp_path):
    """Laws hold whatever the programs believe."""
    report = run("ring", tmp_path, controller="independent", dt=0.02, seconds=2.0, parameters={"n": 2})
    certificate = report["certificate"]
    assert certificate["eom_residual"] < 1e-9
    assert certificate["third_law_residual"] < 1e-9
    assert certificate["friction_violation"] < 1e-6
    assert certificate["torque_ratio"] <= 1.0 + 1e-9


def test_a_fall_ends_with_a_clear_error():
    sim = standing("independent", strength=0.02)
    with pytest.raises(ip.FallError, match="alice falls"):
        sim.run(3.0)


def block(**options):
    sim = ip.Simulation(ip.Scene().add(ip.Box((0.2, 0.2, 0.1), 5.0), "box"), controller="independent")
    sim.contacts.add("box/bottom", ip.GROUND, **options)
    return sim


def test_a_block_slides_as_coulomb_says():
    """Pushed at its base, beyond friction it accelerates by F/m − μ'g, does not rise, and stops where friction stops it."""
    sim, mu = block(friction=0.5), 0.5 / np.sqrt(2.0)
    sim.live.push("box", (30.0, 0, 0), 0.2, at=(0, 0, 0))
    solutions = [sim.step() for _ in range(40)]
    assert_allclose([s.qacc[0] for s in solutions], 30.0 / 5.0 - mu * 9.81, rtol=1e-3)
    assert_allclose(sim.state.qpos[2], 0.05, atol=1e-5)
    speed, place = sim.state.qvel[0], sim.state.qpos[0]
    sim.run(1.0)
    way = speed**2 / (2 * mu * 9.81) - 0.5 * speed * sim.dt  # velocity first, then place: half a step less
    assert_allclose(sim.state.qpos[0] - place, way, rtol=1e-3)
    assert_allclose(sim.state.qvel, 0.0, atol=1e-6)  # and stays there: it is not drawn back


def test_a_block_holds_within_friction_and_opens_without_pulling():
    sim = block(friction=0.5)
    sim.live.push("box", (10.0, 0, 0), 0.1, at=(0, 0, 0))
    sim.run(0.1)
    assert_allclose(sim.state.qpos[:3], [0, 0, 0.05], atol=1e-6)
    sim.live.push("box", (0, 0, 60.0), 0.1)
    for _ in range(20):
        solution = sim.step()
        assert_allclose(solution.touching.wrenches, 0.0, atol=1e-4)
    assert_allclose(solution.qacc[2], 60.0 / 5.0 - 9.81, rtol=1e-4)
    sim.run(0.6)  # it falls back, and stands again
    assert_allclose(sim.state.qpos[2], 0.05, atol=1e-4)
    assert_allclose(sim.outcome.touching.wrenches[0, 2], 5.0 * 9.81, rtol=1e-3)


def test_compare_judges_both_by_the_same_references(tmp_path):
    tables = compare("box", tmp_path, dt=0.02, seconds=5.4)
    result = json.loads((tmp_path / "compare.json").read_text())
    assert result["runs"].keys() == {"integrated", "independent"}
    error = result["errors"]["position of box [m]"]
    assert error["integrated"]["max"] < 0.05
    assert error["independent"]["max"] > 2 * error["integrated"]["max"]
    hand = result["errors"]["position of alice/left_palm [m]"]  # her own hands are reached alike
    assert_allclose(hand["independent"]["rms"], hand["integrated"]["rms"], rtol=0.05)
    assert len(tables) == 2
    assert "position of box [m]" in (tmp_path / "compare.md").read_text()
    assert Image.open(tmp_path / "compare.png").size[0] > 500


def test_unknown_controllers_are_named():
    with pytest.raises(ip.InputError, match="independent"):
        standing("independant")
