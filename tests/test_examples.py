"""The examples run as they are, from an empty folder, and nothing passes through anything in them."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import interplay as ip
from interplay.io.recording import Recording
from interplay.io.report import make_report
from interplay.view.painting import GraphicsError, painter

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def opengl():
    model = ip.Scene().add(ip.Ball(0.1), "ball").model
    try:
        with painter(model, 64, 64):
            pass
    except GraphicsError as error:
        pytest.skip(str(error))


def example(name, folder):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_example_opens_the_door(tmp_path):
    """As far as her arm reaches: she does not step."""
    angle = re.search(r"the door stands open by (.*) rad; conflicts: none", example("open_a_door.py", tmp_path))
    assert angle
    assert float(angle[1]) > 0.4


def test_a_walk_is_recorded_and_drawn(tmp_path, opengl):
    example("walk.py", tmp_path)
    report = make_report(Recording(tmp_path / "out/walk"), True, None)
    assert report["certificate"]["penetration_mm"] < 2
    assert report["certificate"]["contact_drift_mm"] < 0.5
    assert (tmp_path / "out/walk/strip.png").stat().st_size > 10_000


def test_hand_in_hand_she_is_held_up():
    """32 N·s forward: alone she falls, held she stands, and the other with her; their hands are still joined."""
    name = str(EXAMPLES / "held_up.py")
    pushed = runpy.run_path(name)["pushed"]
    alone = pushed(32.0, held=False)
    while alone.time < 3.0 and not alone.fallen:
        alone.step()
    assert alone.fallen.keys() == {"c0"}
    together = pushed(32.0, held=True)
    together.run(3.0)
    assert not together.fallen
    assert together.contacts.drift().max() < 0.02


def test_a_tower_of_two_stands_on_a_platform_that_moves():
    """By joint PD she falls off his shoulders within two seconds; by one program she stands, and the soles stay where they are."""
    made = runpy.run_path(str(EXAMPLES / "tower.py"))
    assert made["stands_for"](made["tower"](1.0, 1000, "servos"), 3.0) < 2.0
    sim = made["tower"](1.0, 1000)
    assert made["stands_for"](sim, 4.0) == pytest.approx(4.0)
    deck = [
        float(sim.state.qpos[sim.scene.model.joint(f"platform/{j}").qposadr[0]]) for j in ("x", "y", "roll", "pitch")
    ]
    assert max(map(abs, deck)) > 0.01
    assert sim.contacts.drift().max() < 0.02


def test_frictions_are_compared():
    """On a deck that is slippery enough her feet find no more hold than there is."""
    balanced = runpy.run_path(str(EXAMPLES / "frictions.py"))["balanced"]
    found = balanced(0.15, seed=0, shaken={"strength": 1.4}, seconds=2.5)
    assert found["stands"] == 1.0
    assert 0.0 < found["friction used, 99 %"] < 0.17
    assert 0.1 < found["weight [cm]"] < 5.0
    assert found["ankles [°]"] > found["shoulders [°]"] > 0.0
