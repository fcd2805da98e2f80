"""What the author of a scenario file is told while it does not work yet, and an example that does."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app
from interplay.errors import unknown_name
from interplay.maths.rotations import rotation

EXAMPLES = Path(__file__).parents[1] / "examples"
STANDING = """
models:
  alice: {humanoid: {height: 1.65, mass: 58, sex: female}}
  box: {box: {size: [0.3, 0.3, 0.3], mass: 5}, at: [0.5, 0, 0]}
contacts:
  - {touch: {alice/left_sole: ground, alice/right_sole: ground}, friction: 1}
  - [box/bottom, ground]
background: [{posture: alice, weight: 0.2}]
"""


def cli(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def told(tmp_path, phases):
    """Run someone who stands before a box through some phases and return what it failed for."""
    path = tmp_path / "play.yaml"
    path.write_text(STANDING + phases)
    assert cli("run", path, "--out", tmp_path / "out").exit_code == 1
    return json.loads((tmp_path / "out" / "report.json").read_text())["failure"]


def test_only_names_of_the_model_in_question_are_offered():
    names = ["ben/back", "ben/left_palm", "box/front", "box/left", "box/rear"]
    assert "Available: box/front, box/left, box/rear." in str(unknown_name("surface", "box/back", names))
    assert "did you mean 'ben/left_palm'?" in str(unknown_name("surface", "bin/left_palm", names))


def test_a_phase_that_does_not_end_says_what_is_missing(tmp_path):
    failure = told(
        tmp_path,
        """
phases:
  - hold: wait
    balance: alice
    seconds: 0.1
    timeout: 0.3
    until: [{met: {alice/left_palm: box/left}}, {met: {box/bottom: ground}}, {joint: alice/left_elbow_flexion, at: 2}]
""",
    )
    assert "phase 'wait' (play.yaml:11) did not end within 0.3 s" in failure
    assert "'alice/left_palm' and 'box/left' are" in failure
    assert "° from facing each other" in failure
    assert "'alice/left_elbow_flexion' is at" in failure
    assert "'box/bottom'" not in failure  # that one holds


def test_who_falls_is_named(tmp_path):
    failure = told(
        tmp_path, "phases:\n  - {phase: lean, objectives: [{com: alice, by: [0.6, 0, 0], weight: 100}], seconds: 5}\n"
    )
    assert "phase 'lean'" in failure
    assert "alice falls" in failure


def test_names_of_a_file_that_only_has_models(tmp_path):
    path = tmp_path / "play.yaml"
    path.write_text(STANDING + "phases: nonsense\n")
    answer = cli("check", path, "--names")
    assert answer.exit_code == 0, answer.output
    box = answer.output[answer.output.index("box/") :]
    assert "surfaces: left, right, front, rear, top, bottom" in box
    assert "joints" not in box
    assert "left_elbow_flexion" in answer.output


def test_a_hand_meets_a_side_of_a_turned_box_where_and_pointing_as_told():
    scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Box((0.6, 0.3, 0.3)), "box", pos=(0.5, 0, 0.9), yaw=0.3)
    terms = scene.kinematics()
    by, fingers = np.array([0.1, 0.03, 0.05]), np.array([0.2, 0.1, 1.0])
    meet = ip.Meet("alice/left_palm", "box/left", terms, 0.0, 1.0, by=by, pointing=fingers)
    meet.attach(scene)
    goal, side = meet.goal(terms), scene.site("box/left")
    axes, normal = rotation(goal[3:]), terms.site_xmat[side].reshape(3, 3)[:, 2]
    assert np.allclose(axes[:, 2], -normal)
    assert np.allclose(goal[:3], terms.site_xpos[side] + by - normal * (normal @ by))
    along = fingers - normal * (normal @ fingers)
    assert np.allclose(axes[:, 0], along / np.linalg.norm(along))


@pytest.mark.parametrize(
    ("surface", "target", "options", "words"),
    [
        ("alice/left_palm", [0.3, 0, 1], {"by": [0.1, 0, 0]}, "by: expected a surface"),
        ("alice/left_palm", "box/left", {"pointing": [0, 1, 0]}, "pointing: expected a direction along"),
        ("alice/left_grip", "alice/right_grip", {"by": [0.1, 0, 0]}, "grips meet in their middle"),
    ],
)
def test_where_and_pointing_are_refused_where_they_mean_nothing(surface, target, options, words):
    scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Box((0.3, 0.3, 0.3)), "box", pos=(0.5, 0))
    with pytest.raises(ip.InputError, match=words):
        ip.Meet(surface, target, scene.kinematics(), 0.0, 1.0, **options)


def test_the_box_is_handed_over(tmp_path):
    path = EXAMPLES / "hand_over.yaml"
    assert cli("check", path).exit_code == 0
    answer = cli("run", path, "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["finished"]
    assert report["fallbacks"] == 0
    proof = report["certificate"]
    assert proof["penetration_mm"] < 1
    assert proof["contact_drift_mm"] < 0.5
    assert proof["friction_violation"] < 1e-6
    assert proof["eom_residual"] < 1e-8


def test_a_damped_slider_rolls_to_rest_where_its_momentum_is_spent():
    push, seconds, damping = 300.0, 0.1, 200.0
    sim = ip.Simulation(ip.Scene().add(ip.Slider(0.3, 20.0, damping=damping), "crate"), 0.005)
    sim.live.push("crate/block", [push, 0, 0], seconds)
    sim.run(1.5)
    assert abs(float(sim.state.qvel[0])) < 1e-3
    assert float(sim.state.qpos[0]) == pytest.approx(push * seconds / damping, rel=0.01)  # ∫ m v̇ = ∫ f − d ∫ v
