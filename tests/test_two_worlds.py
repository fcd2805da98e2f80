"""The same scenario where plans are what happens, and where only their torques are used: what is asked is done as well."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from interplay.catalogue import scenario
from interplay.cli import app
from interplay.runs.compare_worlds import compare_worlds


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
