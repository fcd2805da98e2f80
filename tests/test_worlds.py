"""The seam between plan and outcome: no hidden input on one side, no assumption about the plan on the other."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.control.integrated import IntegratedController
from interplay.worlds.response import HELD


@pytest.mark.parametrize(("name", "dt", "seconds"), [("door", 0.005, 5.0), ("box", 0.01, 6.0), ("king", 0.01, 4.0)])
def test_torques_lead_to_what_was_planned(name, dt, seconds):
    """Exact contact under the plan's torques gives the accelerations and contact forces of the plan, in every phase."""
    sim, rigid = scenario(name)().simulation(dt), None
    planned, seen = [], set()
    while sim.time < seconds:
        state, drift = sim.state, sim.contacts.drift().max()
        outcome = sim.step()
        if drift > HELD:
            continue  # exact contact takes that for a slide, and lets it be
        if sim.behaviour.label in seen and sim.steps % 40:
            continue
        if any(state.time < c.made_at + c.fade_in for c in outcome.touching.contacts):
            continue  # what is just being made is let in softly by the program, and stopped at once by exact contact
        seen.add(sim.behaviour.label)
        rigid = rigid or ip.simulation.WORLDS["rigid"](sim.scene, dt)
        found = rigid.advance(state, outcome.plan, sim.controller.at(state), sim.time)
        scale = 1.0 + np.abs(outcome.qacc).max()
        planned.append(np.abs(found.qacc - outcome.qacc).max() / scale)
        assert_allclose(found.qfrc_contact, outcome.qfrc_contact, atol=0.02 * (1.0 + np.abs(outcome.tau).max()))
        assert_allclose(found.tau, outcome.tau, atol=1e-6)
    assert len(seen) > 3
    assert np.median(planned) < 2e-5
    assert max(planned) < 0.03  # where a sole presses with its very edge, exact contact leaves it free to tip


@pytest.mark.parametrize("name", ["box", "sword", "king"])
def test_a_plan_depends_on_state_and_demands_alone(name):
    """A controller that has gone through a whole motion and one that was just made find the same plan."""
    sim = scenario(name)().simulation(0.01)
    worst = 0.0
    while sim.time < 4.0:
        sim.step()
        if sim.steps % 50 == 0:
            sim.follow()  # contacts and objectives of the step to come
            cold = IntegratedController(sim.scene, sim.dt).solve(sim.state, sim.demands)
            warm = sim.controller.solve(sim.state, sim.demands)
            worst = max(worst, float(np.abs(cold.qacc - warm.qacc).max()))
            assert cold.memory.checkpoint()["limits"] == warm.memory.checkpoint()["limits"]
    assert worst < 1e-9


def test_what_the_hint_of_coming_contacts_changes_is_time_alone():
    sim = scenario("box")().simulation(0.01)
    for _ in range(200):
        sim.step()
    sim.follow()
    assert sim.demands.coming is not None
    with_hint, without = (
        IntegratedController(sim.scene, sim.dt).solve(sim.state, demands)
        for demands in (sim.demands, sim.demands._replace(coming=None))
    )
    assert np.array_equal(with_hint.qacc, without.qacc)


def test_independent_plans_are_no_motion():
    scene = ip.Scene().add(ip.Humanoid(), "alice")
    with pytest.raises(ip.InputError, match="rigid"):
        ip.Simulation(scene, world="direct", controller="independent")
    assert ip.Simulation(scene, controller="independent").world.name == "rigid"
    assert ip.Simulation(scene).world.name == "direct"


def test_a_run_in_the_rigid_world_is_that_of_the_direct_one():
    direct, rigid = (scenario("stand")().simulation(0.01, world=world) for world in ("direct", "rigid"))
    for _ in range(300):
        assert not direct.step().fallback
        rigid.step()
    assert_allclose(rigid.state.qpos, direct.state.qpos, atol=1e-3)


class Nodding:
    """A behaviour of a few lines: the head nods for a second, then it is done."""

    label, labels, coming, attended, waiting_since, failure = "nod", ("nod",), (), (), None, None

    def __init__(self, name):
        self.done, self.asked = False, [ip.Gaze(f"{name}/head", (2.0, 0.0, 0.5), weight=1.0)]

    @property
    def in_force(self):
        return [("nod", self.objectives)]

    @property
    def objectives(self):
        return [] if self.done else self.asked

    def update(self, sim):
        self.done = sim.time >= 1.0 - 1e-9

    def coming_contacts(self, sim):
        return None

    def checkpoint(self):
        return {"done": self.done}

    def restore(self, sim, data):
        self.done = data["done"]


def pair():
    scene = ip.Scene().add(ip.Humanoid(1.7), "ann").add(ip.Humanoid(1.8), "ben", pos=(0, 1.5))
    sim = ip.Simulation(scene, 0.01)
    for name in ("ann", "ben"):
        for side in ("left", "right"):
            sim.contacts.add(f"{name}/{side}_sole", ip.GROUND)
        sim.objectives += [ip.Posture(name), ip.Com(name)]
    stay = ip.blocks.hold("stay", 0.5, balance=("ben",))
    sim.behaviour = ip.Together({"ann": Nodding("ann"), "ben": ip.Machine([stay, ip.blocks.hold("more", 1.0)])})
    return sim


def test_each_character_has_a_behaviour_of_its_own():
    sim = pair()
    sim.step()
    assert sim.behaviour.label == "ann: nod, ben: stay"
    assert sim.behaviour.labels == ("nod", "stay", "more")
    assert len(sim.behaviour.objectives) == 2
    sim.live.adjust("Gaze ann/head", weight=3.0, phase="nod")
    assert sim.behaviour.parts["ann"].asked[0].weight == 3.0
    sim.run(0.6)
    half = json.loads(json.dumps(sim.checkpoint()))
    sim.run(1.0)
    assert sim.behaviour.done
    twin = pair()
    twin.restore(half)
    assert twin.behaviour.label == "ann: nod, ben: more"
    twin.run(1.0)
    assert twin.behaviour.done
    assert_allclose(twin.state.qpos, sim.state.qpos, atol=1e-8)


def test_a_state_can_be_set():
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(), "ann"))
    q = sim.state.qpos.copy()
    elbow = sim.scene.model.jnt_qposadr[sim.scene.joint("ann/left_elbow_flexion")]
    q[elbow] += 0.4
    q[3:7] *= 3.0  # a quaternion of any length
    sim.set_state(q)
    assert sim.state.qpos[elbow] == q[elbow]
    assert np.linalg.norm(sim.state.qpos[3:7]) == pytest.approx(1.0)
    assert not sim.state.qvel.any()
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.step()
    away = q.copy()
    away[0] += 0.5
    before = sim.state
    with pytest.raises(ip.InputError, match="left_sole"):
        sim.set_state(away)
    assert sim.state is before
    for bad in (q[:-1], np.full_like(q, np.nan)):
        with pytest.raises(ip.InputError, match="qpos"):
            sim.set_state(bad)
