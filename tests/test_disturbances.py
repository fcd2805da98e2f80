"""What disturbs a simulated world: moving platforms, changing friction, thrown balls."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.io.certificate import certify
from interplay.io.recording import Recording
from interplay.motion.targets import read_targets
from interplay.scenario import stands
from test_simulated import standing

JOINTS = ("x", "y", "roll", "pitch")
SOLES = ("ann/left_sole", "ann/right_sole")


def aboard(dt=0.01, world="simulated", **drives):
    """Return a simulation of someone who stands on a platform, whose joints follow references; the others are held."""
    platform = ip.MovingPlatform()
    scene = ip.Scene().add(platform, "platform").add(ip.Humanoid(1.74, 68), "ann", pos=(0, 0, platform.height))
    sim = ip.Simulation(scene, dt=dt, world=world)
    stands(sim, "ann", "platform/top", steps=False)
    for joint in JOINTS:
        sim.live.drive(f"platform/{joint}", drives.get(joint, 0.0))
    return sim


def value(sim, joint):
    return float(sim.state.qpos[sim.scene.model.joint(f"platform/{joint}").qposadr[0]])


@pytest.mark.parametrize(
    ("world", "dt", "within"), [("direct", 0.005, 3e-4), ("simulated", 0.01, 3e-4), ("simulated", 0.033, 3e-3)]
)
@pytest.mark.parametrize(("joint", "size", "hertz"), [("x", 0.1, 0.5), ("roll", np.radians(10), 0.25)])
def test_a_platform_follows_with_someone_on_it(world, dt, within, joint, size, hertz):
    def wave(t):
        return size * np.sin(2 * np.pi * hertz * t)

    sim = aboard(dt, world, **{joint: wave})
    errors, values, fallbacks = [], [], 0
    while sim.time < 2.0 / hertz:
        fallbacks += sim.step().fallback
        values.append(value(sim, joint))
        errors.append({j: value(sim, j) - (wave(sim.time) if j == joint else 0.0) for j in JOINTS})
    assert not sim.failure
    assert fallbacks == 0
    assert np.ptp(values) == pytest.approx(2 * size, rel=0.05)  # she does not hold it up
    late = errors[int(0.25 / hertz / dt) :]  # a sine begins with a jolt
    assert max(abs(e) for moment in late for e in moment.values()) < within


@pytest.mark.parametrize("world", ["direct", "simulated"])
def test_she_stands_on_a_still_platform(world):
    sim = aboard(world=world)
    sim.run(4.0)
    before = sim.com("ann")[0]
    sim.run(1.0)
    assert_allclose(sim.com("ann")[0], before, atol=1e-3)
    assert max(abs(value(sim, joint)) for joint in JOINTS) < 1e-4
    assert sim.force(SOLES[0])[2] + sim.force(SOLES[1])[2] == pytest.approx(9.81 * 68, rel=2e-3)


def test_a_driven_run_resumes_as_it_was():
    def begun():
        shift = ip.Control("shift", "scalar", [0.0], [-0.5], [0.5])
        sim = aboard(x=shift, pitch=lambda t: 0.1 * np.sin(t))
        sim.live.add_control(shift)
        sim.live.targets = [ip.Target(0.1, "shift", np.array([0.15])), ip.Target(0.6, "shift", np.array([-0.05]))]
        return sim

    whole = begun()
    whole.run(0.5)
    kept = json.loads(json.dumps(whole.checkpoint()))
    whole.run(0.5)
    resumed = begun()
    resumed.restore(kept)
    resumed.run(0.5)
    assert_array_equal(resumed.state.qpos, whole.state.qpos)
    assert abs(value(resumed, "x")) > 0.01


def tilting(**placing):
    """Return a simulation of a box on a platform that tilts by 0.04 rad/s."""
    platform = ip.MovingPlatform(travel=(0, 0, 0), tilt=(0, 0.8))
    scene = ip.Scene().add(platform, "platform", **placing)
    sim = ip.Simulation(scene.add(ip.Box(), "box", pos=(0, 0, platform.height)), dt=0.01, world="simulated")
    sim.live.drive("platform/pitch", lambda t: 0.04 * t)
    return sim


def slides_at(sim):
    """Return the slope at which the box begins to slide."""
    box, deck, places = sim.scene.body("box"), sim.scene.body("platform/deck"), []
    while sim.time < 15.0:
        sim.step()
        terms = sim.terms
        places.append(terms.xmat[deck].reshape(3, 3).T @ (terms.xpos[box] - terms.xpos[deck]))
        if sim.time > 0.5 and np.linalg.norm(places[-1] - places[-2]) > 0.01 * sim.dt:
            break
    return np.tan(value(sim, "pitch"))


def test_a_box_slides_where_friction_says_so():
    stated, live = tilting(friction=0.5), tilting()
    live.live.set_friction("platform", 0.3)
    assert slides_at(stated) == pytest.approx(0.5, rel=0.05)
    assert slides_at(live) == pytest.approx(0.3, rel=0.05)
    live.live.set_friction("box", 0.05)  # of two, the more slippery one counts
    live.step()
    assert live.world._data.contact.friction[:, 0] == pytest.approx(0.05)


def test_friction_is_live_input_like_any_other(tmp_path):
    sim = tilting(friction=0.5)
    sim.live.set_friction("platform", 0.2)
    sim.live.set_friction("ground", 0.1)
    assert [(t.control, t.value.tolist()) for t in sim.live.inputs] == [
        ("friction platform", [0.2]),
        ("friction ground", [0.1]),
    ]
    again = tilting(friction=0.5)
    again.restore(json.loads(json.dumps(sim.checkpoint())))
    assert again.scene.model.geom("platform/hull").friction[0] == 0.2
    again.restore(tilting(friction=0.5).checkpoint())
    assert again.scene.model.geom("platform/hull").friction[0] == 0.5
    (tmp_path / "ice.csv").write_text("0, friction platform, 0.05")
    again.live.targets = read_targets(tmp_path / "ice.csv", again)
    again.step()
    assert again.scene.model.geom("platform/hull").friction[0] == 0.05
    with pytest.raises(ip.InputError, match="simulated"):
        aboard(world="direct").live.set_friction("platform", 0.3)


def test_feet_feel_the_friction_of_what_they_stand_on():
    sim = aboard(pitch=lambda t: min(0.1 * t, 0.15))
    sim.live.set_friction("platform", 0.1)
    sim.on_fall = "continue"
    sim.run(3.0)
    assert sim.fallen  # 0.15 is steeper


def pelted(mass=0.6, dt=0.01, balls=1):
    """Return a simulation of someone who stands beside some balls."""
    sim = standing(dt, balls=[ip.Ball(0.11, mass)] * balls)
    sim.on_fall = "continue"
    sim.run(0.3)
    return sim


def throw(sim, speed, ball="ball_0"):
    """Throw a ball at her chest from a metre before it."""
    chest = sim.terms.xipos[sim.scene.body("ann/chest")]
    sim.live.throw(ball, chest + [1.0, 0, 0], (-speed, 0, 0))


@pytest.mark.parametrize("dt", [0.01, 0.033])
def test_the_momentum_of_a_hit(dt):
    """What a thrown ball loses, touches gave it; and what it gave her and the ground gave both is what changed of all."""
    sim = pelted(dt=dt)
    throw(sim, 8.0)
    ball, masses = sim.scene.body("ball_0"), {"ball_0": 0.6, "ann": 68.0}

    def momenta():
        return np.array([masses[name] * sim.com(name)[1] for name in masses])

    before, given = momenta(), np.zeros((2, 3))
    while sim.time < 0.7:
        touches = sim.step().touches
        given -= dt * 9.81 * np.outer(list(masses.values()), [0, 0, 1])
        for (one, two), force in zip(touches.bodies, touches.force, strict=True):
            for body, sign in ((one, 1.0), (two, -1.0)):
                if body:
                    given[int(body != ball)] += dt * sign * force
    change = momenta() - before
    assert change[0, 0] > 4.8  # it bounced back
    assert_allclose(given[0], change[0], atol=0.02 * np.linalg.norm(change[0]))
    assert_allclose(given[1], change[1], atol=0.02 * np.linalg.norm(change[0]))
    assert not sim.fallen


def test_a_heavy_ball_ends_in_a_fall():
    sim = pelted(mass=20.0)
    throw(sim, 20.0)
    deepest = 0.0
    while sim.time < 2.5:
        sim.step()
        deepest = max(deepest, -float(sim.world._data.contact.dist.min(initial=0.0)))
    assert "ann" in sim.fallen
    assert np.isfinite(sim.state.qvel).all()
    assert deepest < 0.05  # where it hit her; nobody is below the ground
    assert sim.terms.xipos[1:, 2].min() > -0.01


def test_balls_that_lie_around_are_nobodys_business():
    sim = pelted(balls=4)
    sim.step()
    assert not sim.outcome.conflicts
    assert sim.outcome.resting  # they lie on the ground
    assert not sim.falls.stumbles(sim, ip.InterplayError("'ann/left_sole' cannot be put down"))  # nobody was disturbed
    assert all(pair.tree1 in (-1, 0) and pair.tree2 in (-1, 0) for pair in sim.collisions.pairs)


def test_throws_are_recorded_repeated_and_resumed(tmp_path):
    sim = pelted(balls=2)
    sim.scene.save(tmp_path / "scene.xml")
    recorder = ip.Recorder(tmp_path / "recording", sim, {"scenario": "pelted"})
    sim.observers.append(recorder)
    throw(sim, 6.0)
    sim.run(0.2)
    kept = json.loads(json.dumps(sim.checkpoint()))
    throw(sim, 5.0, "ball_1")
    sim.run(0.3)
    recorder.close()
    recording = Recording(tmp_path / "recording")
    assert [t.control for t in recording.inputs] == ["throw ball_0", "throw ball_1"]
    found = certify(recording)
    assert found.laws["impulse_residual"] < 0.02
    # The same from a file.
    (tmp_path / "balls.csv").write_text(
        "".join(f"{t.time}, {t.control}, {', '.join(map(repr, t.value.tolist()))}\n" for t in recording.inputs)
    )
    again = pelted(balls=2)
    again.live.targets = read_targets(tmp_path / "balls.csv", again)
    again.run(0.5)
    assert_array_equal(again.state.qpos, sim.state.qpos)
    # And from the middle.
    resumed = pelted(balls=2)
    resumed.live.targets = [t for t in again.live.inputs if t.time > 0.4]
    resumed.restore(kept)
    resumed.run(0.3)
    assert_array_equal(resumed.state.qpos, sim.state.qpos)


def test_what_cannot_be_thrown():
    sim = pelted()
    for wrong, words in (
        (lambda: sim.live.throw("ann", (0, 0, 1), (0, 0, 0)), "free thing"),
        (lambda: sim.live.throw("ball_9", (0, 0, 1), (0, 0, 0)), "ball_0"),
        (lambda: sim.live.throw("ball_0", (0, 0, np.nan), (0, 0, 0)), "position"),
        (lambda: sim.live.throw("ball_0", (0, 0, 1), (1e3, 0, 0)), "velocity"),
        (lambda: standing(world="direct", balls=[ip.Ball()]).live.throw("ball_0", (0, 0, 1), (0, 0, 0)), "simulated"),
    ):
        with pytest.raises(ip.InputError, match=words):
            wrong()
