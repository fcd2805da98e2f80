"""Interrupted, resumed and taken back: a run goes on to the same bits, in both worlds, in the middle of a step, a lift, a wave."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import interplay as ip
from interplay.catalogue import scenario
from interplay.motion.targets import Target
from interplay.runs.run import run
from interplay.stage.live import LiveAct
from interplay.stage.messages import Pace
from interplay.stage.moment import Status

PUSH = [Target(0.2, "push alice/chest", np.array([0, 0, 0.1, 400.0, 100.0, 0, 0.1, 0, 0, 0, 0]))]


def pushed(world):
    """Return Stand, about to be pushed so hard that she steps."""
    sim = scenario("stand")().simulation(0.01, world=world)
    sim.behaviour = ip.Recovery("alice", sim.behaviour)
    sim.live.targets = list(PUSH)
    return sim


def states(sim, until):
    """Step until a time; return the states, and the checkpoints of where plans are made afresh, as a file holds them."""
    found, kept = [], {}
    while sim.time < until - 1e-9:
        sim.step()
        found.append((sim.state.qpos, sim.state.qvel))
        if sim.steps % sim.afresh == 0:
            kept[sim.steps] = json.dumps(sim.checkpoint())
    return found, kept


def played(name, parameters=None, **options):
    return lambda world: scenario(name)(parameters).simulation(0.01, world=world, **options)


def heavier(world):
    """Return Stand, whose chest weighs more after its phase has begun."""
    sim = scenario("stand")().simulation(0.01, world=world)
    sim.live.targets = [Target(0.2, "mass alice/chest", np.array([40.0]))]
    return sim


CASES = {
    "heavier": (heavier, 0.8, (50,)),
    "stand": (pushed, 2.0, (50, 100, 150)),
    "king": (played("king"), 2.5, (50, 200)),
    "platform": (played("platform", {"strength": 2}, seed=2), 1.5, (100,)),
    "prioritised": (played("box", controller="prioritised"), 0.8, (50,)),
}


@pytest.mark.parametrize("world", ["simulated", "direct"])
@pytest.mark.parametrize("name", CASES)
def test_a_restored_simulation_goes_on_to_the_same_bits(name, world):
    make, until, cuts = CASES[name]
    whole = make(world)
    found, kept = states(whole, until)
    if name == "stand":
        assert whole.behaviour.steps >= 2
    for cut in cuts:
        again = make(world)
        again.restore(json.loads(kept[cut]))
        assert again.steps == cut
        went_on, _ = states(again, until)
        for (q, v), (q_again, v_again) in zip(found[cut:], went_on, strict=True):
            assert_array_equal(q_again, q)
            assert_array_equal(v_again, v)


@pytest.mark.parametrize("world", ["simulated", "direct"])
def test_a_run_that_was_interrupted_twice_between_seconds_is_the_whole_one(world, tmp_path):
    options = {"world": world, "dt": 0.01}
    run("box", tmp_path / "whole", seconds=3.2, **options)
    run("box", tmp_path / "parts", seconds=0.73, **options)
    run("box", tmp_path / "parts", seconds=2.41, resume=True)
    run("box", tmp_path / "parts", seconds=3.2, resume=True)
    whole, parts = ip.Recording(tmp_path / "whole"), ip.Recording(tmp_path / "parts")
    for key in ("time", "qpos", "qvel", "qacc", "tau", "wrench"):
        assert_array_equal(parts[key], whole[key])


def test_the_stage_goes_back_to_the_same_bits():
    stand = scenario("stand")()
    act = LiveAct("stand", stand, stand.simulation(0.01, world="simulated"))
    while act.time < 1.3 - 1e-9:
        act.step()
        act.frame(Status(Pace(np.zeros(0), 1.0), True, True, act.span, 1.0, ""), stability=False)
    before = act.sim.state
    act.seek(0.7)
    assert not act.live
    act.resume()
    assert act.sim.time == pytest.approx(0.7)
    while act.time < 1.3 - 1e-9:
        act.step()
    assert_array_equal(act.sim.state.qpos, before.qpos)
    assert_array_equal(act.sim.state.qvel, before.qvel)
    act.close()
