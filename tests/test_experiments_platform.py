"""Experiments of abe2007 on a moving platform: each stands, answers to its controls, and resumes."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.catalogue import scenario
from interplay.runs.run import run

NAMES = ["platform", "sobriety", "wall"]
JOINTS = ("x", "y", "roll", "pitch")


def value(sim, joint):
    return float(sim.state.qpos[sim.scene.model.joint(f"platform/{joint}").qposadr[0]])


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_in_its_own_world_and_draws_itself(name, tmp_path):
    report = run(name, tmp_path, parameters={"seconds": 2.5}, seed=3)
    assert report["failure"] is None
    assert report["finished"]
    assert report["fallbacks"] == 0
    assert ip.Recording(tmp_path).world == "simulated"
    assert (tmp_path / "balance.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_its_controls_move_the_platform(name):
    sim = scenario(name)({"strength": 0}).simulation()
    assert sorted(sim.live.controls) == sorted(JOINTS)
    goals = {joint: 0.4 * float(sim.live.controls[joint].high[0]) for joint in JOINTS}
    sim.run(0.3)
    for joint, goal in goals.items():
        sim.live.set(joint, [goal])
    sim.run(1.5)
    assert not sim.fallen
    for joint, goal in goals.items():
        assert value(sim, joint) == pytest.approx(goal, abs=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_it_resumes(name):
    whole, resumed = (scenario(name)().simulation(seed=5) for _ in range(2))
    whole.run(1.0)
    kept = json.loads(json.dumps(whole.checkpoint()))
    whole.run(0.6)
    resumed.restore(kept)
    resumed.run(0.6)
    assert_array_equal(resumed.state.qpos, whole.state.qpos)


def test_another_seed_moves_it_otherwise():
    one, same, other = (scenario("platform")().simulation(seed=seed) for seed in (1, 1, 2))
    for sim in (one, same, other):
        sim.run(1.5)
    assert [value(one, j) for j in JOINTS] == [value(same, j) for j in JOINTS]
    assert max(abs(value(one, j) - value(other, j)) for j in JOINTS) > 0.005


@pytest.mark.parametrize("friction", [0.8, 0.4])
def test_she_stands_on_the_platform(friction):
    sim = scenario("platform")({"friction": friction}).simulation(seed=2)
    moved = []
    while sim.time < 6.0:
        sim.step()
        assert not sim.fallen
        moved.append([value(sim, joint) for joint in JOINTS])
    assert np.ptp(moved, axis=0).min() > 0.03


def test_a_finger_comes_to_her_nose():
    sim = scenario("sobriety")({"strength": 0.3}).simulation()
    apart = {}
    while sim.time < 4.0:
        sim.step()
        for side in ("left", "right"):
            palm, head = sim.scene.site(f"ann/{side}_palm"), sim.scene.body("ann/head")
            away = float(np.linalg.norm(sim.terms.site_xpos[palm] - sim.terms.xpos[head]))
            apart[side] = min(apart.get(side, np.inf), away)
    assert max(apart.values()) < 0.25
    assert sim.behaviour.visited == ["right 1", "left 1"]


def test_the_hand_on_the_wall_carries():
    sim = scenario("wall")().simulation(seed=1)
    pressed = []
    while sim.time < 4.0:
        sim.step()
        pressed.append(float(np.linalg.norm(sim.force("ann/right_palm"))))
    assert not sim.fallen
    assert min(pressed[20:]) > 5.0  # it never comes off
    assert max(pressed) > 30.0
    assert "ann/right_palm" not in {s for c in scenario("wall")({"hand": False}).simulation().contacts for s in c.label}


def test_after_a_step_she_goes_back_to_her_place_on_the_platform():
    sim = scenario("platform")({"strength": 0}).simulation()
    deck = sim.scene.body("platform/deck")

    def feet():
        return sim.middle("ann/left_sole", "ann/right_sole") - sim.terms.xpos[deck]

    home = feet()
    sim.live.set("x", [-0.1])
    sim.run(1.2)
    sim.live.push("ann/chest", (300, 0, 0), 0.1)
    sim.run(1.0)
    assert not sim.fallen
    assert sim.behaviour.steps > 0
    while sim.behaviour.label != "balance" and sim.time < 12.0:
        sim.step()
    assert value(sim, "x") == pytest.approx(-0.1, abs=2e-3)
    assert_allclose(feet(), home, atol=0.03)
