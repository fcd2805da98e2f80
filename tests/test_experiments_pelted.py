"""Experiments of abe2007 in the simulated world: thrown balls, another body, a table that gives way, and what a reach may weigh."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import interplay as ip
from interplay import scenario as base
from interplay.catalogue import scenario
from interplay.figure import over_soles, pressed
from interplay.io.certificate import certify

NAMES = ("pelted", "alien", "mishap", "reach_weights")


def played(name, seed=0, **parameters):
    return scenario(name)(parameters).simulation(seed=seed)


def until(sim, time):
    while sim.time < time - 1e-9:
        sim.step()
    return sim


@pytest.mark.parametrize("name", NAMES)
def test_each_is_played_in_the_simulated_world_and_resumed(name):
    """Two seconds stand, and end in the same state when they are interrupted in between."""
    sim = played(name)
    assert sim.world.name == "simulated"
    assert sim.dt == 0.01
    until(sim, 1.0)
    kept = json.loads(json.dumps(sim.checkpoint()))
    until(sim, 2.4)
    assert not sim.fallen
    again = played(name)
    again.restore(kept)
    until(again, 2.4)
    assert_array_equal(again.state.qpos, sim.state.qpos)


@pytest.mark.parametrize("name", NAMES)
def test_another_world_may_be_named(name):
    assert scenario(name)().simulation(world="direct").world.name == "direct"


def test_they_end_by_themselves():
    sim = played("pelted", seconds=1.0)
    until(sim, 1.1)
    assert sim.behaviour.done


def test_throws_are_seeded_and_hit(tmp_path):
    """The same seed throws the same balls; what a hit takes from a ball is in the recording, as the force that touched her."""
    assert [t.value.tolist() for t in played("pelted").live.targets] == [
        t.value.tolist() for t in played("pelted").live.targets
    ]
    assert not np.array_equal(played("pelted").live.targets[0].value, played("pelted", seed=1).live.targets[0].value)
    ip.run("pelted", tmp_path, seconds=2.5)
    recording = ip.Recording(tmp_path)
    thrown = [t for t in recording.inputs if t.control.startswith("throw")]
    assert len(thrown) > 1
    ball, begin = thrown[0].control.split()[1], thrown[0].time
    ip.export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as run:
        names, force, time = run["touch_names"], run["touch_force"], run["time"]
    given = np.zeros(3)
    for k, (one, two) in enumerate(names.tolist()):
        for first, second, sign in ((one, two, 1.0), (two, one, -1.0)):
            if first.startswith(f"{ball}/") and second.startswith("alice/"):
                given += sign * 0.01 * force[time > begin, k].sum(axis=0)
    way = thrown[0].value[3:5] / np.linalg.norm(thrown[0].value[3:5])
    mass = float(played("pelted").scene.model.body(f"{ball}/ball").mass[0])
    speed = float(np.linalg.norm(thrown[0].value[3:5]))
    assert -2.2 * mass * speed < given[:2] @ way < -0.3 * mass * speed  # stopped, or thrown back
    assert certify(recording).laws["impulse_residual"] < 0.02


def test_the_user_throws_too_and_she_looks():
    sim = played("pelted", rate=0.05)
    until(sim, 0.3)
    chest = sim.terms.xipos[sim.scene.body("alice/chest")].copy()
    sim.live.throw("ball_7", chest + [1.5, 0, 0.1], (-8.0, 0, 0.5))
    sim.live.set("opponent", (0.5, -2.0, 1.5))
    hit = False
    while sim.time < 1.5:
        bodies = sim.step().touches.bodies
        hit |= any(sim.scene.model.body(b).name.startswith("ball_7") for pair in bodies for b in pair if 0 not in pair)
    assert hit
    assert not sim.fallen
    looks = sim.terms.xmat[sim.scene.body("alice/head")].reshape(3, 3)[:, 0]
    assert looks[1] < -0.3  # to her right


def test_low_stiffness_reacts_more():
    """The same ball moves who follows the clip loosely farther from it than who does so firmly."""
    moved = {}
    for stiffness in ("low", "high"):
        ways = []
        for hit in (False, True):
            sim = played("pelted", rate=0.05, stiffness=stiffness)
            until(sim, 0.3)
            if hit:
                chest = sim.terms.xipos[sim.scene.body("alice/chest")].copy()
                sim.live.throw("ball_7", chest + [0.8, 0.1, 0.1], (-9.0, -1.0, 0))
            joints = [j for j in base.present_posture(sim, "alice") if "torso" in j or "shoulder" in j]
            way = []
            while sim.time < 0.79:
                sim.step()
                now = base.present_posture(sim, "alice")
                way.append([now[j] for j in joints])
            ways.append(np.array(way))
        moved[stiffness] = float(np.linalg.norm(ways[1] - ways[0], axis=1).max())
    assert moved["low"] > 1.3 * moved["high"] > 0.0


def test_an_alien_is_another_body_under_the_same_control():
    alien, alice = (played(name) for name in ("alien", "pelted"))
    shares = []
    for sim in (alien, alice):
        m, body = sim.scene.model, sim.scene.body
        shares.append(m.body_mass[body("alice/head")] / m.body_subtreemass[body("alice")])
    assert shares[0] > 2 * shares[1]
    assert [o.label for o in alien.objectives] == [o.label for o in alice.objectives]


def test_an_alien_on_a_platform_that_the_user_moves():
    sim = played("alien", experiment="platform", sway=0.0)
    sim.live.set("x", [0.05])
    until(sim, 2.5)
    assert sim.state.qpos[sim.scene.model.jnt_qposadr[sim.scene.joint("platform/x")]] == pytest.approx(0.05, abs=2e-3)
    assert not sim.fallen


def test_a_mishap():
    """She presses straight down on the table; it gives way; the foot is led to the ground, and she stands on both."""
    sim = played("mishap", when=1.0)
    while sim.time < 0.95:
        sim.step()
        force = sim.force("alice/right_sole")
    assert force[2] > 50
    assert np.linalg.norm(sim.outcome.plan.contacts[1].friction) == pytest.approx(0.05)
    until(sim, 3.0)
    assert not sim.fallen
    assert sim.behaviour.label == "stand"
    assert sim.force("alice/right_sole")[2] > 100
    assert sim.middle("alice/right_sole")[2] == pytest.approx(0.0, abs=5e-3)


def test_a_mishap_jolts_her_otherwise_for_each_seed():
    """As the table gives way she gets between half of the impulse and all of it, from any side; none if none is wanted."""
    pushes = []
    for seed in range(4):
        [push] = [t for t in played("mishap", seed=seed, jolt=12.0).live.targets if t.control == "push alice/chest"]
        assert push.time == 2.0
        assert push.value[5] == 0.0  # level
        pushes.append(push.value[3:5] * push.value[6])
    sizes = np.linalg.norm(pushes, axis=1)
    assert 6.0 <= sizes.min() < sizes.max() <= 12.0
    assert np.ptp(np.arctan2(*np.transpose(pushes))) > 1.0
    assert not [t for t in played("mishap", jolt=0.0).live.targets if "push" in t.control]


def test_she_watches_the_foot_and_throws_up_her_arms():
    sim = played("mishap", when=1.0, jolt=0.0)
    until(sim, 0.95)
    head = sim.scene.body("alice/head")
    to_the_foot = sim.middle("alice/right_sole") - sim.terms.xpos[head]
    looks = sim.terms.xmat[head].reshape(3, 3) @ [0.97, 0, -0.25]
    assert looks @ to_the_foot / np.linalg.norm(to_the_foot) > 0.8
    assert looks[2] < -0.4
    before = base.present_posture(sim, "alice")["alice/left_shoulder_abduction"]
    until(sim, 1.5)
    assert base.present_posture(sim, "alice")["alice/left_shoulder_abduction"] > before + 0.2


def test_the_user_makes_the_table_give_way():
    sim = played("mishap", when=100.0)
    until(sim, 0.5)
    sim.live.set("table", [2.0])
    until(sim, 1.5)
    assert sim.behaviour.label == "stand"


def test_the_more_a_reach_counts_the_farther_she_leans(tmp_path):
    """Weights of figure 3, and one that outweighs her balance."""
    reach = scenario("reach_weights")()
    leans = [reach.lean(weight) for weight in (0.01, 0.05, 0.15, 15.0)]
    assert all(lean.fell is None for lean in leans[:3])
    assert leans[3].fell is not None
    assert leans[0].lean < leans[1].lean < leans[2].lean
    assert leans[0].left > leans[1].left > leans[2].left


def test_as_if_glued_she_falls():
    """Figure 4: the same objectives, but contacts that plans take for glued."""
    reach = scenario("reach_weights")()
    assert reach.lean(1.5).fell is None
    assert reach.lean(1.5, pinned=True).fell is not None


def test_what_she_reaches_for_is_live():
    sim = played("reach_weights", weight=0.5, ahead=0.5)
    sim.live.set("target", (0.5, 0.3, 1.2))
    until(sim, 3.0)
    assert np.linalg.norm(sim.terms.site_xpos[sim.scene.site("alice/right_palm")] - [0.5, 0.3, 1.2]) < 0.05


def test_figures_tell_what_bodies_bear(tmp_path):
    """Standing still on both feet, these bear her weight, which is over them; nothing bears the foot that has just lost its table."""
    ip.run("mishap", tmp_path, parameters={"when": 1.0, "jolt": 0.0, "seconds": 6.0})
    recording = ip.Recording(tmp_path)
    m = mujoco.MjModel.from_xml_path(str(recording.scene_path))
    left, right = (pressed(recording, {m.body(f"alice/{side}_foot").id})[:, 2] for side in ("left", "right"))
    weight = m.body_subtreemass[m.body("alice/pelvis").rootid[0]] * 9.81
    assert (left + right)[-1] == pytest.approx(weight, rel=0.01)
    assert min(left[-1], right[-1]) > 0.4 * weight
    assert right[np.searchsorted(recording["time"], 1.15)] == 0.0
    middle, least, most = over_soles(recording, m, ["alice/left_sole", "alice/right_sole"])[-1]
    assert np.abs(middle).max() < 0.01
    assert (least < -0.08).all()
    assert (most > 0.08).all()
    assert (tmp_path / "balance.png").stat().st_size > 10_000
