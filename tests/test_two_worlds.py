"""The same scenario where plans are what happens, and where only their torques are used: what is asked is done as well."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay.catalogue import scenario
from interplay.cli import app
from interplay.runs.compare_worlds import compare_worlds
from interplay.scenario import stands

TALOS = Path(__file__).parents[1] / "characters/talos.yaml"


def test_tracking_is_told_for_each_world_by_its_own_references(tmp_path):
    compare_worlds("valve", tmp_path, seconds=2.0, dt=0.01)
    found = json.loads((tmp_path / "worlds.json").read_text())
    assert {run["failure"] for run in found["runs"].values()} == {None}
    hand = found["errors"]["position of alice/right_grip [m]"]
    assert 0 < hand["direct"]["mean"] < hand["direct"]["95 %"]
    assert hand["simulated"]["mean"] == pytest.approx(hand["direct"]["mean"], rel=0.2)
    assert hand["simulated"]["mean"] != hand["direct"]["mean"]
    assert "| position of alice/right_grip [m] |" in (tmp_path / "worlds.md").read_text()


def test_it_can_be_asked_for_on_the_command_line(tmp_path):
    done = CliRunner().invoke(app, ["compare", "stand", "--worlds", "--seconds", "0.2", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert (tmp_path / "worlds.json").exists()
    assert (tmp_path / "simulated/recording").exists()


def test_a_ring_of_eight_holds_hands_quietly():
    """Grips by springs alone, with nothing of what plans count on, shake it to pieces in half a second."""
    sim = scenario("ring")({"n": 8}).simulation(0.01, world="simulated")
    sim.run(0.6)
    assert np.abs(sim.state.qvel).max() < 0.3
    assert sim.contacts.drift().max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("world", ["direct", "simulated"])
def test_the_king_reaches_farther_with_the_litter_free(world):
    """Nobody tells the carriers to help."""

    def missed(fixed):
        sim = scenario("king")({"carried": True, "fixed": fixed}).simulation(0.01, world=world)
        hand = sim.scene.site("king/right_palm")
        goal = sim.terms.site_xpos[hand] + [0.0, -0.8, 0.0]
        sim.run(1.0)
        sim.live.set("reach", goal)
        sim.run(7.0)
        return float(np.linalg.norm(sim.terms.site_xpos[hand] - goal))

    assert missed(fixed=True) - missed(fixed=False) > 0.1


def test_a_robot_whose_meshes_overlap_around_its_joints_stands():
    pytest.importorskip("cmeel.prefix")
    sim = ip.Simulation(ip.Scene().add(ip.BodyFile(TALOS), "robot"), 0.01, world="simulated")
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
