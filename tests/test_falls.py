"""Falls: whatever is done to a scene, motion stays bounded, energy comes from somewhere, and who falls is named."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import interplay as ip
from interplay.catalogue import scenario
from interplay.cli import app
from interplay.io.recording import Recording
from interplay.runs.bench_report import PAPER
from interplay.runs.run import run
from ordeals import SCENARIOS, Watch, ordeal, steps


@pytest.mark.parametrize(("dt", "force"), [(0.005, 300.0), (0.02, 100.0), (0.02, 300.0)])
def test_pushed_over_at_the_door(dt, force):
    """0.4.0: 1.7e5 rad/s after a second, then a StateError."""
    sim = scenario("door")().simulation(dt)
    watch = Watch(sim)
    steps(sim, 1.0)
    sim.live.push("alice/chest", (force, 0, 0), 0.5)
    steps(sim, 1.8)
    assert sim.fallen.keys() == {"alice"}
    assert "alice falls at" in sim.fallen["alice"]
    assert "in phase 'reach'" in sim.fallen["alice"]
    steps(sim, 0.7)
    watch.check()
    assert sim.com("alice")[0][2] < 0.35  # she lies
    assert np.linalg.norm(sim.com("alice")[1]) < 0.5


@pytest.mark.parametrize("dt", [0.005, 0.02])
def test_a_load_nobody_can_carry(dt):
    """0.4.0: she sinks to −11.7 m without a word."""
    sim = scenario("stand")().simulation(dt)
    watch = Watch(sim)
    steps(sim, 0.5)
    sim.live.set_mass("alice/chest", 300.0)
    with pytest.raises(ip.FallError, match="alice falls"):
        sim.run(4.0)
    sim.on_fall = "continue"
    sim.run(1.0)
    watch.check()


def test_pulled_off_the_beam():
    """0.4.0: she falls to −48 m."""
    sim = scenario("funambulist")().simulation(0.01)
    watch = Watch(sim)
    steps(sim, 2.0)
    sim.live.push("alice/chest", (0, 400.0, 0), 0.5)
    steps(sim, 2.0)
    assert "alice falls" in sim.fallen["alice"]
    watch.check()
    assert sim.com("alice")[0][2] < 0.6


@pytest.mark.parametrize(("name", "dt"), [("funambulist", 0.01), ("king", 1 / 30)])
def test_a_sole_taken_away_in_mid_walk(name, dt):
    sim = scenario(name)().simulation(dt)
    watch = Watch(sim)
    steps(sim, 4.0)
    sole = next(c.first.name for c in sim.contacts if "sole" in c.first.name)
    sim.contacts.remove(sole)
    steps(sim, 2.5)
    watch.check()


def test_things_on_the_ground_stay_there():
    """Nobody declared that they stand: the ground carries them all the same, where the program gives way."""
    scene = ip.Scene().add(ip.Table(mass=20.0), "table").add(ip.Box((0.2, 0.2, 0.2), 5.0), "box", pos=(2, 0, 0.3))
    sim = ip.Simulation(scene, 0.01)
    for k in range(4):
        sim.contacts.add(f"table/foot_{k}", ip.GROUND)
    watch = Watch(sim)
    steps(sim, 1.5)
    watch.check()
    assert watch.lowest > -0.03
    assert abs(sim.com("box")[0][2] - 0.1) < 0.03


def test_a_planned_flight_is_no_fall():
    """She drops from the height of a hand with nothing declared: fast, and yet no fall."""
    scene = ip.Scene().add(ip.Humanoid(), "alice", pos=(0, 0, 1.2))
    sim = ip.Simulation(scene)
    sim.objectives += [ip.Posture("alice")]
    sim.run(0.45)
    assert sim.com("alice")[1][2] < -4.0
    assert not sim.fallen


def test_who_has_fallen_lies_limp_and_the_others_go_on():
    scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Humanoid(), "bob", pos=(0, 2.0))
    sim = ip.Simulation(scene, 0.01, on_fall="continue")
    for name in ("alice", "bob"):
        for side in ("left", "right"):
            sim.contacts.add(f"{name}/{side}_sole", ip.GROUND)
        sim.objectives += [ip.Posture(name), ip.Com(name)]
    watch = Watch(sim)
    sim.live.push("alice/chest", (600.0, 0, 0), 0.4)
    sim.run(3.0)
    watch.check()
    assert sim.fallen.keys() == {"alice"}
    assert sim.com("bob")[0][2] > 0.9
    assert {c.name for c in sim.outcome.conflicts if c.kind == "fall"} == {"alice"}
    again = ip.Simulation(scene, 0.01, on_fall="continue")
    again.objectives += [ip.Posture(n) for n in ("alice", "bob")] + [ip.Com(n) for n in ("alice", "bob")]
    again.restore(json.loads(json.dumps(sim.checkpoint())))
    assert again.fallen == sim.fallen


def test_the_command_line_ends_with_a_fall(tmp_path):
    targets = tmp_path / "push.csv"
    targets.write_text("0.5,push alice/chest,0,0,0.1,500,0,0,0.5\n")
    out = tmp_path / "run"
    answer = CliRunner().invoke(
        app, ["run", "stand", "--out", str(out), "--dt", "0.01", "--targets", str(targets), "--seconds", "4"]
    )
    assert answer.exit_code == 1
    report = json.loads((out / "report.json").read_text())
    assert "alice falls" in report["failure"]
    assert report["falls"].keys() == {"alice"}
    recording = Recording(out)
    assert recording.complete
    assert 0.5 < recording.steps * 0.01 < 3.0  # whole up to and including the fall
    certificate = report["certificate"]
    assert certificate["torque_ratio"] < 1.0 + 1e-6
    assert certificate["eom_residual"] < 1e-6
    assert certificate["friction_violation"] < 1e-3


def test_a_fall_may_be_gone_on_with(tmp_path):
    targets = tmp_path / "push.csv"
    targets.write_text("0.5,push alice/chest,0,0,0.1,500,0,0,0.5\n")
    report = run("stand", tmp_path / "run", dt=0.02, targets=targets, seconds=2.5, on_fall="continue")
    assert report["failure"] is None
    assert report["falls"].keys() == {"alice"}
    assert report["steps"] == 125
    assert report["certificate"]["stopped_force"] > 10.0
    with pytest.raises(ip.InputError, match="on_fall"):
        run("stand", tmp_path / "other", on_fall="stay")


SURVIVED = [
    ("stand", 0.005, "alice/chest", (0, 200.0, 0), 0.1),  # the program gives way on 30 steps, and she stands
    ("stand", 0.02, "alice/pelvis", (300.0, 0, 0), 0.1),
    ("door", 0.02, "alice/pelvis", (0, 200.0, 0), 0.5),
    ("funambulist", 0.005, "alice/chest", (0, 200.0, 0), 0.1),
]
"""Pushes that 0.4.0 survives, at the edge of what it does."""


@pytest.mark.parametrize(("name", "dt", "body", "force", "seconds"), SURVIVED)
def test_pushes_that_were_survived_still_are(name, dt, body, force, seconds):
    sim = scenario(name)().simulation(dt)
    steps(sim, 1.5)
    sim.live.push(body, force, seconds)
    steps(sim, seconds + 1.5)
    assert not sim.fallen


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_takes_its_papers_step_and_twenty_milliseconds(name):
    most = 0.01 if name == "push_cabinet" else 0.02  # forces are controlled, and a foot lands
    for dt in (1e-3 * PAPER.get(name, {"dt_ms": 5.0})["dt_ms"], most, scenario(name).longest_dt):
        sim = scenario(name)().simulation(dt)
        sim.step()
    with pytest.raises(ip.InputError, match=r"is too long for .* expected at most"):
        scenario(name)().simulation(1.01 * scenario(name).longest_dt)


def test_a_step_at_which_an_objective_would_swing_up_is_refused():
    """Semi-implicit integration settles while kΔt² + 2dΔt < 4: with k = 20 and critical damping, below 0.185 s."""
    assert_allclose(ip.Posture("box").longest_dt, 2 * (np.sqrt(2) - 1) / np.sqrt(20.0))
    scene = ip.Scene().add(ip.Slider(force=1e4), "cart")
    for dt, settles in ((0.18, True), (0.19, False)):
        sim = ip.Simulation(scene, dt)
        sim.objectives += [ip.JointAngle("cart/slide", 0.3, stiffness=20.0)]
        if settles:
            sim.run(200 * dt)
            assert_allclose(sim.state.qpos, 0.3, atol=1e-3)
        else:
            with pytest.raises(
                ip.InputError, match=r"0.19 s is too long for 'JointAngle cart/slide'.*less than 0.185 s"
            ):
                sim.step()


@pytest.mark.parametrize("seed", [1, 47, 93, 196, 277, 323, 369, 415, 461, 495])
def test_whatever_happens(seed):
    ordeal(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500))
def test_whatever_happens_five_hundred_times(seed):
    ordeal(seed)
