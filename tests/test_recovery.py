"""Recovery steps: who is pushed too far steps, and comes back."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.catalogue import scenario
from interplay.motion.catching import aim, capture
from interplay.motion.footsteps import standing
from interplay.scenario import stands


def someone(world="simulated", dt=0.01, steps=True, **body):
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68, **body), "ann"), dt=dt, world=world, on_fall="continue")
    stands(sim, "ann", steps=steps)
    return sim


def push(sim, impulse, degrees):
    angle = np.radians(degrees)
    sim.live.push("ann/chest", 10 * impulse * np.array([np.cos(angle), np.sin(angle), 0.0]), 0.1)


@pytest.mark.parametrize(
    ("degrees", "foot"), [(0, "either"), (45, "left"), (90, "left"), (180, "either"), (-90, "right"), (-135, "right")]
)
def test_she_catches_herself(degrees, foot):
    """40 N·s, with feet in place a fall: she steps to the side to which she falls, stands again, feet side by side."""
    stiff = someone(steps=False)
    stiff.run(0.2)
    push(stiff, 40.0, degrees)
    while stiff.time < 2.5 and not stiff.fallen:
        stiff.step()
    assert stiff.fallen
    sim, seen = someone(), []
    sim.run(0.2)
    push(sim, 40.0, degrees)
    while sim.time < 8.0:
        sim.step()
        seen.append(sim.behaviour.label)
    assert not sim.fallen
    assert 1 <= sim.behaviour.steps <= 4
    first = next(label for label in seen if label.startswith("step"))
    assert foot == "either" or first == f"step {foot}"
    assert seen[-1] == "stand"
    assert np.linalg.norm(sim.com("ann")[1]) < 0.05
    feet = standing(sim, "ann")
    assert_allclose(feet["left"].place[:2] - feet["right"].place[:2], [0, 0.18], atol=0.04)


def test_a_light_push_needs_no_step():
    sim = someone()
    sim.run(0.2)
    push(sim, 15.0, 0)
    sim.run(2.0)
    assert sim.behaviour.steps == 0
    assert sim.behaviour.label == "stand"


def test_in_the_direct_world_too():
    for degrees in (0, 180):
        sim = someone("direct")
        sim.run(0.2)
        push(sim, 40.0, degrees)
        sim.run(2.5)
        assert sim.behaviour.steps >= 1
        assert not sim.fallen


def test_the_capture_point_is_that_of_a_pendulum():
    sim = someone()
    sim.run(0.1)
    seen = capture(sim, "ann", ip.GROUND)
    place, velocity = sim.com("ann")
    assert seen.rate == pytest.approx(np.sqrt(9.81 / place[2]), rel=1e-3)
    assert_allclose(seen.point, place[:2] + velocity[:2] / seen.rate)
    # ξ(t) = p + (ξ − p) e^{ωt}: twice as long, farther; the foot stays on its own side, and within reach.
    runs = seen._replace(point=seen.point + [0.25, 0.1])
    near, far = (aim(sim, "ann", ip.GROUND, "left", runs, t)[0].place for t in (0.1, 0.3))
    assert far[0] > near[0] + 0.05
    crossing = seen._replace(point=seen.point + [0.0, -0.6])
    beside = aim(sim, "ann", ip.GROUND, "left", crossing, 0.3)[0].place
    assert beside[1] > standing(sim, "ann")["right"].place[1] + 0.1
    away = seen._replace(point=seen.point + [3.0, 0.0])
    assert aim(sim, "ann", ip.GROUND, "left", away, 0.3)[0].place[0] < 0.9


def test_resumed_in_the_middle_of_a_step():
    states = []
    for resumed in (False, False, True):
        sim = someone()
        sim.run(0.2)
        push(sim, 40.0, 30)
        while not (sim.behaviour.label.startswith("step") and sim.time > 0.4):
            sim.step()
        if resumed:
            kept = json.loads(json.dumps(sim.checkpoint()))
            sim = someone()
            sim.restore(kept)
            assert sim.behaviour.label.startswith("step")
        for _ in range(15):
            sim.step()
        states.append(sim.state)
    assert_array_equal(states[1].qpos, states[0].qpos)
    assert_allclose(states[2].qpos, states[0].qpos, atol=1e-5)


def test_what_was_interrupted_goes_on_at_home():
    """Stand, pushed forward while she sways: back in her place within 2 cm, the phases go on."""
    sim = scenario("stand")().simulation(0.01, world="simulated")
    sim.run(1.0)
    home = standing(sim, "alice")
    sim.live.push("alice/chest", (450, 0, 0), 0.1)
    labels = []
    while sim.time < 14.0 and not (labels and sim.behaviour.label == "sway right"):
        sim.step()
        labels.append(sim.behaviour.label)
    assert not sim.fallen
    assert "step left" in labels or "step right" in labels
    assert labels[-1] == "sway right"
    for side, foot in standing(sim, "alice").items():
        assert_allclose(foot.place, home[side].place, atol=0.02)


def test_she_steps_on_ground_that_tilts_and_moves():
    platform = ip.MovingPlatform()
    scene = ip.Scene().add(platform, "deck").add(ip.Humanoid(1.74, 68), "ann", pos=(0, 0, platform.height))
    sim = ip.Simulation(scene, dt=0.01, world="simulated", on_fall="continue")
    for joint, way in (("x", 0.1), ("y", 0.05), ("pitch", 0.1), ("roll", 0.05)):
        sim.live.drive(f"deck/{joint}", lambda t, way=way: way * (1 - np.cos(2.0 * t)) / 2)
    stands(sim, "ann", "deck/top")
    sim.run(1.0)
    push(sim, 35.0, 60)
    sim.run(4.0)
    assert not sim.fallen
    assert sim.behaviour.steps >= 1


@pytest.mark.parametrize(("degrees", "place", "size"), [(180, (-0.47, 0), (0.6, 0.9)), (90, (0, 0.46), (0.9, 0.55))])
def test_a_step_lands_on_what_nobody_knew_of(degrees, place, size):
    """A board of 1.5 cm where the foot comes down: it has landed when it feels that, and she stands on both."""
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann").add(ip.Platform((*size, 0.015)), "board", pos=place)
    sim = ip.Simulation(scene, dt=0.01, world="simulated", on_fall="continue")
    stands(sim, "ann")
    sim.run(0.2)
    push(sim, 40.0, degrees)
    high = 0.0
    while sim.time < 5.0 and not sim.fallen:
        sim.step()
        if sim.behaviour.label == "steady":
            high = max(high, *(foot.place[2] for foot in standing(sim, "ann").values()))
    assert not sim.fallen
    assert 0.012 < high < 0.04  # she did step onto it; a foot may roll


def test_a_foot_that_pivots_under_her_is_no_fall():
    """Out of a lunge she turns on the foot that stays; it lies flat, and she comes back."""
    sim, turned = someone(), 0.0
    sim.run(1.0)
    push(sim, 42.0, 157.5)
    while sim.time < 6.0:
        sim.step()
        turned = max(turned, *np.abs(sim.outcome.plan.drift[:, 5]), 0.0)
    assert not sim.fallen
    assert turned > 0.36
    assert sim.behaviour.label == "stand"
