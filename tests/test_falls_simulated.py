"""Falls in the simulated world: pushes and thrown balls over all scenarios; who falls leaves the program, balls come to rest."""

import mujoco
import numpy as np
import pytest

import interplay as ip
from interplay.catalogue import scenario
from interplay.scene.simulator import LONGEST, ROLLING
from ordeals import Watch, simulated_ordeal, steps
from test_disturbances import pelted
from test_simulated import standing


@pytest.mark.parametrize("seed", [2, 7, 8, 10, 14, 16, 17, 24, 29, 39, 45, 57, 123])
def test_whatever_happens(seed):
    simulated_ordeal(seed).check(np.inf)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500))
def test_whatever_happens_five_hundred_times(seed):
    simulated_ordeal(seed).check(np.inf)


def test_the_watch_would_see_energy_from_nowhere():
    """What moves faster by itself is told."""
    sim = standing()
    steps(sim, 0.2)
    watch = Watch(sim)
    watch.last = watch.kinetic, watch.height = watch.kinetic - 5.0, watch.height
    steps(sim, 0.05)
    assert watch.surplus > 1.0


def test_who_has_fallen_leaves_the_program():
    """She and the bar that she held lie on the ground, each in the other's way, and nothing gives way for it."""
    sim = scenario("funambulist")().simulation(0.01, world="simulated")
    sim.on_fall = "continue"
    steps(sim, 0.5)
    sim.live.push("alice/chest", (0, 600.0, 0), 0.3)
    while not sim.fallen:
        sim.step()
    found = [sim.step().plan for _ in range(150)]
    assert {c.kind for plan in found for c in plan.conflicts} == {"fall"}
    assert not found[-1].contacts
    assert sim.com("alice")[0][2] < 0.5


def test_who_would_have_to_slip_too_much_is_thrown_off():
    sim = standing()
    sim.on_fall = "continue"
    steps(sim, 0.2)
    sim.live.push("ann/chest", (2500.0, 500.0, 0), 0.1)
    steps(sim, 0.2)
    assert "it is thrown off ann/" in sim.fallen["ann"]


def test_motors_without_limits_go_limp():
    """A joint that comes to its stop within the step gets nothing, not infinitely much times nothing."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(strength=np.inf), "ann", pos=(0, 0, 1)), 0.01, world="simulated")
    sim.unled.set_limp(("ann",))
    whipped = np.zeros(sim.scene.model.nv)
    whipped[sim.scene.model.joint("ann/left_elbow_flexion").dofadr[0]] = 400.0
    sim.set_state(sim.state.qpos, whipped)
    assert np.isfinite(sim.step().tau).all()


def test_who_stands_goes_on_while_another_lies():
    scene = ip.Scene().add(ip.Humanoid(), "ann").add(ip.Humanoid(), "bob", pos=(0, 1.5))
    sim = ip.Simulation(scene, 0.01, world="simulated", on_fall="continue")
    for name in ("ann", "bob"):
        for side in ("left", "right"):
            sim.contacts.add(f"{name}/{side}_sole", ip.GROUND, friction=0.8)
        sim.objectives += [ip.Posture(name), ip.Com(name, weight=60)]
    sim.live.push("ann/chest", (600.0, 0, 0), 0.4)
    sim.run(2.5)
    assert sim.fallen.keys() == {"ann"}
    assert {c.label[0].split("/")[0] for c in sim.outcome.plan.contacts} == {"bob"}
    names = {name.split("/")[0] for pair in sim.demands.pairs for name in pair.name.split(" – ")}
    assert names == {"ground", "bob"}
    assert sim.com("bob")[0][2] > 0.9


@pytest.mark.parametrize(("radius", "mass"), [(0.05, 0.1), (0.11, 0.6), (0.2, 20.0)])
def test_a_ball_comes_to_rest(radius, mass):
    """It slides until it rolls, at 5/7 of its speed, and is then slowed down by 5/7 of what resists it."""
    sim = ip.Simulation(ip.Scene().add(ip.Ball(radius, mass), "ball"), 0.01, world="simulated")
    steps(sim, 0.2)
    sim.live.throw("ball", (0, 0, radius), (1.0, 0, 0))
    steps(sim, 0.5)
    first = sim.com("ball")[1][0]
    steps(sim, 1.0)
    slower = first - sim.com("ball")[1][0]
    assert first == pytest.approx(5 / 7 - 0.5 * 5 / 7 * ROLLING * 9.81, rel=0.05)
    assert slower == pytest.approx(5 / 7 * ROLLING * 9.81, rel=0.02)
    steps(sim, 3.0)
    assert np.abs(sim.state.qvel).max() < 1e-3


@pytest.mark.parametrize("mass", [0.6, 20.0])
def test_a_ball_is_no_deeper_in_a_chest_than_it_flies_in_a_step(mass):
    """At the step of the simulator in which it meets her it is already inside; contacts stop it then, whatever its mass."""
    deepest, speed = 0.0, 20.0
    for later in (0.0, 0.01, 0.02, 0.03):
        sim = pelted(mass=mass)
        chest = sim.terms.xipos[sim.scene.body("ann/chest")]
        sim.live.throw("ball_0", chest + [0.5 + later, 0, 0], (-speed, 0, 0))
        while sim.time < 0.36:
            sim.step()
            deepest = max(deepest, -float(sim.world._data.contact.dist.min(initial=0.0)))
    assert 0.5 * speed * LONGEST < deepest < speed * LONGEST + 0.002


@pytest.mark.parametrize("name", ["pelted", "alien"])
def test_arms_in_guard_are_not_thrown_out_of_the_chest(name):
    sim = scenario(name)().simulation()
    m = sim.scene.model
    data = mujoco.MjData(m)
    data.qpos[:] = sim.state.qpos
    mujoco.mj_forward(m, data)
    assert data.contact.dist.min() > -1e-3
    sim.step()
    assert np.abs(sim.state.qvel).max() < 0.5
