"""The user's hand: pulls, pushes and adjusted gains, and that live input replayed gives the same motion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.export import export
from interplay.motion.pushes import CHARACTER, MOST_FORCE, MOST_IMPULSE, STIFFNESS, THING, hand_push
from interplay.motion.targets import read_targets, targets_text
from interplay.runs.run import run
from plain import machine


def floating(dt=0.005, **options):
    """Return a box that nothing holds, without gravity."""
    return ip.Simulation(ip.Scene(gravity=0.0).add(ip.Box(**options), "box", pos=(0, 0, 1)), dt)


def shove(sim, body, local, impulse):
    """Push as the user's hand does."""
    force, seconds = hand_push(sim.scene.model, sim.scene.body(body), impulse, sim.dt)
    sim.live.push(body, force, seconds, local=local, given_way=True)


def momentum(sim):
    return sim.terms.momentum(0)[0][:3].copy()


@pytest.mark.parametrize("dt", [0.005, 0.03, 1 / 30, 0.15])
def test_an_impulse_changes_the_momentum_by_itself(dt):
    sim, impulse = floating(dt, mass=20.0), np.array([3.0, -4.0, 5.0])
    shove(sim, "box", (0.1, 0.05, 0.0), impulse)
    sim.run(max(0.3, 2 * dt))
    assert_allclose(momentum(sim), impulse, atol=1e-9)
    assert np.abs(sim.state.qvel[3:]).max() > 1e-3  # off its centre, it turns


@pytest.mark.parametrize(("mass", "most"), [(200.0, MOST_IMPULSE), (2.0, 2.0 * THING.push)])
def test_impulses_are_bounded(mass, most):
    sim = floating(mass=mass)
    shove(sim, "box", (0, 0, 0), (0, 1e300, 0))
    sim.run(0.2)
    assert_allclose(momentum(sim), (0, most, 0), atol=1e-9)
    force, seconds = sim.live.inputs[0].value[3:6], sim.live.inputs[0].value[6]
    assert_allclose(force * seconds, (0, most, 0))


def test_the_spring_pulls_by_its_law():
    """At rest k·stretch, up to the most; damping 2√(km) against the motion of the held point."""
    sim = floating(mass=30.0)
    p = sim.terms.xpos[sim.scene.body("box")].copy()
    for stretch in (0.01, 0.1, 0.3, 10.0):
        sim.live.pull("box", (0, 0, 0), p + [0, stretch, 0])
        point, force = sim.live.held.force(sim.terms, sim.dt)
        assert_allclose(point, p)
        assert_allclose(force, (0, min(STIFFNESS * stretch, MOST_FORCE), 0), atol=1e-9)
    sim.live.pull("box", (0, 0, 0), p + [0.1, 0, 0])
    sim._state = sim.state.with_(qvel=np.array([0.0, 0.2, 0, 0, 0, 0]))
    assert_allclose(
        sim.live.held.force(sim.terms, sim.dt)[1], (100.0, -2 * np.sqrt(STIFFNESS * 30.0) * 0.2, 0), atol=1e-6
    )


@pytest.mark.parametrize("dt", [0.005, 1 / 30])
@pytest.mark.parametrize("mass", [0.2, 5.0])
def test_what_is_pulled_arrives_without_swinging(dt, mass):
    sim = floating(dt, mass=mass)
    goal = sim.terms.xpos[sim.scene.body("box")] + [0.2, 0.1, 0.0]
    sim.live.pull("box", (0, 0, 0), goal)
    way = []
    for _ in range(round(3.0 / dt)):
        sim.step()
        way.append(sim.terms.xpos[sim.scene.body("box")] - goal)
    assert np.linalg.norm(way[-1]) < 1e-4
    assert max(w[0] for w in way) < 0.01
    sim.live.let_go()
    before = momentum(sim)
    sim.run(0.1)
    assert_allclose(momentum(sim), before, atol=1e-12)


def test_a_point_that_cannot_move_is_pulled_in_vain():
    sim = ip.Simulation(ip.Scene().add(ip.Door(), "door"))
    hinge = sim.scene.joint("door/hinge")
    body = int(sim.scene.model.jnt_bodyid[hinge])
    sim.live.pull(sim.scene.model.body(body).name, sim.scene.model.jnt_pos[hinge], (1.0, 2.0, 3.0))
    sim.run(0.2)
    assert_allclose(sim.state.qpos, sim.scene.qpos, atol=1e-6)


def test_a_character_gives_way_as_by_springs_and_comes_back():
    """Her centre of mass is drawn by k x = f/m; no step has to give anything up; let go, she comes back."""
    sim = scenario("stand")().simulation()
    sim.behaviour = ip.Machine([machine(sim).phases["follow"]])
    sim.run(1.5)
    home, (com, _) = sim.live.controls["com"].value, sim.com("alice")
    assert_allclose(com, home, atol=0.005)
    chest = sim.terms.xpos[sim.scene.body("alice/chest")].copy()
    sim.live.pull("alice/chest", (0, 0, 0), chest + [0.0, 0.8, 0.0])
    gave_up = sum(sim.step().fallback for _ in range(500))
    force = sim.live.held.force(sim.terms, sim.dt)[1]
    mass = sim.terms.body_mass.sum()
    assert_allclose(np.linalg.norm(force), CHARACTER.pull * 9.81 * mass, rtol=0.05)
    stiffness = machine(sim).objectives[0].stiffness
    assert_allclose(sim.com("alice")[0][1] - home[1], force[1] / mass / stiffness, rtol=0.15)
    assert gave_up == 0
    sim.live.let_go()
    sim.run(3.0)
    assert_allclose(sim.com("alice")[0], home, atol=0.005)


@pytest.mark.parametrize("name", ["stand", "box", "king"])
def test_nobody_falls_however_they_are_pulled_and_pushed(name):
    sim = scenario(name)({"carried": True} if name == "king" else {}).simulation(0.02)
    m, rng = sim.scene.model, np.random.default_rng(3)
    bodies = [m.body(b).name for b in range(m.nbody) if m.body_treeid[b] >= 0]
    cast = [n for n in sim.scene.names if sim.scene.kind(n) == "character"]
    sim.run(1.0)
    heights, moved = [sim.com(n)[0][2] for n in cast], []
    for k in range(6):
        body = str(rng.choice(bodies))
        way = rng.normal(size=3)
        before = sim.terms.xpos[sim.scene.body(body)].copy()
        if k % 3:
            sim.live.pull(body, (0, 0, 0), before + 0.6 * way / np.linalg.norm(way))
        else:
            shove(sim, body, (0, 0, 0), 1e3 * way)
        sim.run(0.6)
        moved.append(np.linalg.norm(sim.terms.xpos[sim.scene.body(body)] - before))
        sim.live.let_go()
        sim.run(0.4)
    for n, height in zip(cast, heights, strict=True):
        assert abs(sim.com(n)[0][2] - height) < 0.15 * height
    assert max(moved) > 0.03


def test_labels_say_what_objectives_are_about():
    labels = [
        (ip.Com("a", "b", axes="xy"), "Com a+b xy"),
        (ip.Point("king/right_palm"), "Point king/right_palm"),
        (ip.Posture("front", "rear"), "Posture front+rear"),
        (ip.Orientation("front/chest"), "Orientation front/chest"),
        (ip.RelativePose("a", "b"), "RelativePose a in b"),
        (ip.ComOver("a", over=("b/top",)), "ComOver a over b/top xy"),
        (ip.JointAngle("door/hinge", 0.0), "JointAngle door/hinge"),
        (ip.Com("a", name="  my own "), "my own"),
    ]
    for objective, label in labels:
        assert objective.label == label


def test_places_are_those_of_the_feature():
    sim = scenario("stand")().simulation()
    sim.run(0.2)
    goal = np.array([0.3, 0.2, 1.0])
    for objective in (
        ip.Point("alice/left_palm", goal),
        ip.Pose("alice/left_palm", ip.pose_value(goal)),
        ip.Com("alice", reference=goal),
        ip.ComOver("alice", over=("alice/left_sole",), axes="xyz", reference=goal),
        ip.RelativePose("alice/left_palm", "alice/chest", ip.pose_value(goal)),
    ):
        sim.objectives = [objective]
        now, there = objective.places(sim.terms, 0.0)
        assert_allclose(np.linalg.norm(now - there), np.linalg.norm(objective.error(sim.terms, 0.0)[:3]), atol=1e-9)
    gaze = ip.Gaze("alice/head", goal)
    sim.objectives = [gaze]
    now, there = gaze.places(sim.terms, 0.0)
    eye = gaze.frame.pose(sim.terms)[0]
    cosine = (now - eye) @ (there - eye) / np.linalg.norm(now - eye) / np.linalg.norm(there - eye)
    assert_allclose(np.arccos(cosine), np.linalg.norm(gaze.error(sim.terms, 0.0)), atol=1e-6)


def test_adjusted_gains_hold_now_and_in_later_phases():
    sim = scenario("stand")().simulation()
    sim.live.adjust("Com alice xyz", weight=7.0, stiffness=16.0)  # no phase has made it yet
    sim.live.adjust("Comm", weight=1.0)
    assert sim.live.adjustments.unused() == ["Com alice xyz", "Comm"]
    sim.run(0.1)
    assert sim.live.adjustments.unused() == ["Comm"]
    first = machine(sim).objectives[0]
    assert (first.weight, first.stiffness, first.damping) == (7.0, 16.0, 8.0)
    sim.live.adjust("Com alice xyz", damping=3.0)
    assert (first.weight, first.stiffness, first.damping) == (7.0, 16.0, 3.0)
    before = sim.checkpoint()
    sim.live.adjust("Posture alice", weight=0.7)
    while machine(sim).phase.name != "sway left":
        sim.step()
    second = machine(sim).objectives[-1]
    assert second is not first
    assert (second.weight, second.stiffness, second.damping) == (7.0, 16.0, 3.0)
    sim.restore(before)
    assert sim.objectives[0].weight == 0.3  # as it was declared
    assert machine(sim).objectives[0].weight == 7.0
    twin = scenario("stand")().simulation()
    twin.restore(before)
    assert machine(twin).objectives[0].damping == 3.0


def test_adjusting_in_one_phase_only():
    sim = scenario("stand")().simulation()
    sim.live.adjust("Com alice xyz", weight=7.0, phase="sway left")
    sim.live.adjust("Com alice xyz", stiffness=9.0)
    weights = {}
    while machine(sim).phase is None or machine(sim).phase.name != "sway right":
        if weights.keys() == {"settle"}:
            assert sim.live.adjustments.unused() == ["Com alice xyz | sway left"]
        sim.step()
        last = machine(sim).objectives[-1]
        weights[machine(sim).phase.name] = (last.weight, last.stiffness)
    assert weights == {"settle": (100.0, 9.0), "sway left": (7.0, 9.0), "sway right": (100.0, 9.0)}
    assert sim.live.adjustments.unused() == []
    assert sim.live.inputs[0].control == "adjust Com alice xyz | sway left"
    twin = scenario("stand")().simulation()
    twin.live.apply(sim.live.inputs[0])
    assert twin.live.adjustments.gains == {("Com alice xyz", "sway left"): (7.0, None, None)}
    with pytest.raises(ip.InputError, match="sway left"):
        sim.live.adjust("Com alice xyz", weight=7.0, phase="sway lft")


def test_both_of_the_same_label_are_adjusted_and_own_dampings_stay():
    sim = floating()
    sim.objectives = [ip.Point("box"), ip.Point("box"), ip.AngularMomentum("box", damping=5.0)]
    sim.live.adjust("Point box", stiffness=100.0)
    sim.live.adjust("AngularMomentum box", stiffness=4.0)
    assert [o.damping for o in sim.objectives] == [20.0, 20.0, 5.0]


def live(sim, steps):
    """Do everything that can be done by hand, as a person would: between steps."""
    chest = sim.terms.xpos[sim.scene.body("alice/chest")].copy()
    for k in range(steps):
        if k == 20:
            sim.live.pull("alice/chest", (0.01, 0.0, 0.1), chest + [0.0, 0.15, 0.1])
            sim.live.adjust("Com alice xyz", weight=55.5)
        if 30 <= k < 60:
            sim.live.pull("alice/chest", (0.01, 0.0, 0.1), chest + [0.002 * (k - 30), 0.15, 0.1])
        if k == 80:
            sim.live.let_go()
            shove(sim, "alice/head", (0.0, 0.0, 0.1), (4.0, -3.0, 1 / 3))
        if k == 90:
            sim.live.adjust("Posture alice", stiffness=1 / 7 * 100)
            sim.live.set("com", sim.live.controls["com"].value + [0.02, 0.01, -1 / 30])
        sim.step()


def test_live_input_replayed_is_the_same_motion(tmp_path):
    steps = 200
    first = scenario("stand")().simulation(1 / 60)
    first.behaviour = ip.Machine([machine(first).phases["follow"]])
    live(first, steps)
    assert len(first.live.inputs) == 36
    path = tmp_path / "hands.csv"
    path.write_text(targets_text(first.live.inputs))
    second = scenario("stand")().simulation(1 / 60)
    second.behaviour = ip.Machine([machine(second).phases["follow"]])
    second.live.targets = read_targets(path, second)
    assert [t.row() for t in second.live.targets] == [t.row() for t in first.live.inputs]
    for _ in range(steps):
        second.step()
    assert np.array_equal(second.state.qpos, first.state.qpos)
    assert np.array_equal(second.state.qvel, first.state.qvel)
    assert targets_text(second.live.inputs) == targets_text(first.live.inputs)


def test_a_checkpoint_holds_the_hand():
    sims = [scenario("stand")().simulation() for _ in range(2)]
    whole, parts = sims
    for sim in sims:
        sim.run(0.2)
        sim.live.pull("alice/chest", (0, 0, 0), (0.1, 0.1, 1.3))
        shove(sim, "alice/pelvis", (0, 0, 0), (2.0, 0, 0))
        sim.run(0.05)
    fresh = scenario("stand")().simulation()
    fresh.restore(parts.checkpoint())
    for sim in (whole, fresh):
        sim.run(0.3)
    assert_allclose(fresh.state.qpos, whole.state.qpos, atol=1e-9)


def test_recorded_hands_come_back_from_the_recording(tmp_path):
    rows = "0.1, pull alice/chest, 0, 0, 0, 0.1, 0.1, 1.3\n0.2, adjust Com alice xyz, 50,,\n0.2, adjust Com al, 1\n0.3, let go\n"
    (tmp_path / "t.csv").write_text(
        rows + "0.35, push alice/head, 0, 0, 0, 10, 20, 30, 0.1\n0.4, mass alice/left_hand, 0.8\n"
    )
    report = run("stand", tmp_path / "a", seconds=0.8, targets=tmp_path / "t.csv")
    assert report["unused_adjustments"] == ["Com al"]
    export(tmp_path / "a", tmp_path / "again.targets.csv")
    run("stand", tmp_path / "b", seconds=0.8, targets=tmp_path / "again.targets.csv")
    export(tmp_path / "b", tmp_path / "b.targets.csv")
    assert (tmp_path / "again.targets.csv").read_text() == (tmp_path / "b.targets.csv").read_text()
    from interplay.io.recording import Recording

    a, b = Recording(tmp_path / "a"), Recording(tmp_path / "b")
    assert np.array_equal(a["qpos"], b["qpos"])
    assert a["applied"].any()
