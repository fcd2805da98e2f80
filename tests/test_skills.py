"""Skills that bid, and the supervisor: who is pushed over gets up again."""

from __future__ import annotations

import json

import numpy as np
import pytest

import interplay as ip
from interplay.catalogue import scenario
from interplay.models.motors import torque_limits
from interplay.skills.key_poses import KeyPoses, read, spelled
from interplay.skills.sensing import Senses


def stunt(direction=0.0, impulse=100.0, **options):
    return scenario("stunt")({"direction": direction, "least": impulse, "most": impulse, **options}).simulation()


def up_again(sim, seconds=20.0):
    """Step until she stands again after a fall; return the skills that were active."""
    while sim.time < seconds:
        sim.step()
        done = [entry.chosen for entry in sim.behaviour.log]
        if "fall" in done and done[-1] == "balance":
            break
    return [entry.chosen for entry in sim.behaviour.log]


@pytest.mark.parametrize("direction", [0, 100, 190, -60])
def test_who_is_pushed_over_gets_up_again(direction):
    sim = stunt(direction)
    m = sim.scene.model
    limit = np.nan_to_num(torque_limits(m), nan=0.0)
    strongest = []
    sim.observers.append(lambda state, outcome, seconds: strongest.append((np.abs(outcome.tau) - limit).max()))
    done = up_again(sim)
    assert done[0] == "balance"
    assert done[1] == "fall"
    assert done[-3:] == ["prone_to_squat", "rise", "balance"]
    assert not sim.fallen
    assert max(strongest) < 1e-9
    for _ in range(200):
        sim.step()
    assert sim.behaviour.label == "balance"
    assert sim.com("ann")[0][2] > 0.9


@pytest.mark.parametrize(
    ("direction", "most", "least"),
    [
        (0, "left_shoulder_flexion", "left_shoulder_abduction"),
        (90, "left_shoulder_abduction", "right_shoulder_abduction"),
        (-90, "right_shoulder_abduction", "left_shoulder_abduction"),
        (180, "left_shoulder_abduction", "left_shoulder_flexion"),
    ],
)
def test_hands_go_to_where_she_falls(direction, most, least):
    sim = stunt(direction, 110)
    while sim.behaviour.label != "fall":
        sim.step()
    while sim.behaviour.label == "fall" and sim.time - sim.behaviour.log[-1].time < 0.3:
        sim.step()
    m, servo = sim.scene.model, sim.outcome.plan.servo
    asked = dict(zip(servo.dofs.tolist(), servo.position.tolist(), strict=True))
    there = {name: asked[int(m.joint(f"ann/{name}").dofadr[0])] for name in (most, least)}
    assert there[most] > there[least] + 0.5


def test_whole_run_is_recorded_with_its_laws(tmp_path):
    ip.run("stunt", tmp_path / "out", parameters={"direction": 200, "least": 100, "most": 100})
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["finished"]  # by itself: she stands, and nobody will push her any more
    assert 8 < report["sim_seconds"] < 30
    assert {"balance", "fall", "roll_over", "prone_to_squat", "rise"} <= set(report["states_visited"])
    assert report["certificate"]["penetration_mm"] < 15
    assert report["certificate"]["torque_ratio"] <= 1 + 1e-9
    assert report["certificate"]["impulse_residual"] < 0.1


@pytest.mark.parametrize("skill", ["balance", "fall", "roll_over", "prone_to_squat", "rise"])
def test_a_resumed_run_is_the_uninterrupted_one(skill):
    sim, other = stunt(190), stunt(190)
    while sim.time < 1.5 or sim.behaviour.label != skill:
        sim.step()
        assert sim.time < 20.0, "she did not fall"
    for _ in range(50 - sim.steps % 50):  # plans are made afresh there
        sim.step()
    assert sim.behaviour.label == skill
    kept = json.loads(json.dumps(sim.checkpoint()))
    for _ in range(120):
        sim.step()
    other.restore(kept)
    for _ in range(120):
        other.step()
    assert other.behaviour.label == sim.behaviour.label
    assert (other.state.qpos == sim.state.qpos).all()


def test_all_bid_and_say_why():
    sim = stunt(190)
    up_again(sim)
    for entry in sim.behaviour.log:
        assert set(entry.bids) == set(sim.behaviour.skills)
        assert all(0 <= bid.value <= 20 and bid.why for bid in entry.bids.values())
        assert entry.bids[entry.chosen].value == max(bid.value for bid in entry.bids.values())
    down = sim.behaviour.log[2]
    assert down.bids["balance"].value == 0.0
    assert "does not stand" in down.bids["balance"].why


def test_a_command_is_heard_when_it_suits():
    sim = stunt(0, pushes=0)
    for _ in range(20):
        sim.step()
    sim.live.tell("ann", "settle")
    sim.step()
    assert sim.behaviour.label == "settle"
    assert "commanded" in sim.behaviour.log[-1].because
    sim = stunt(0, pushes=0)
    sim.live.targets.append(ip.Target(0.1, "tell ann/roll_over", np.zeros(0)))
    for _ in range(300):
        sim.step()
    assert sim.behaviour.label == "balance"  # who stands does not roll over; the command lapses
    assert any(target.control == "tell ann/roll_over" for target in sim.live.inputs)


def test_what_feet_carry_is_of_what_she_weighs_now():
    sim = stunt(0, pushes=0)
    sim.run(0.5)
    sim.live.set_mass("ann/chest", 30.0)
    sim.run(0.5)
    sensed = Senses(sim, "ann").look(sim)
    assert sim.behaviour.label == "balance"
    assert sensed.carried == pytest.approx(1.0, abs=0.01)
    assert sim.behaviour._senses.look(sim).carried == sensed.carried


@pytest.mark.parametrize(
    ("axis", "degrees", "known"),
    [
        ((0, 1, 0), 0, {"facing": 0, "leaning": 0, "upright": 1, "height": 1, "gap": 0, "flat": 1, "capture": 0}),
        ((0, 1, 0), -90, {"facing": 1, "upright": 0, "flat": 0}),
        ((0, 1, 0), 90, {"facing": -1, "upright": 0, "flat": 0}),
        ((1, 0, 0), 90, {"leaning": 1, "facing": 0, "upright": 0}),
        ((0, 1, 0), 20, {"facing": -np.sin(np.radians(20)), "upright": np.cos(np.radians(20)), "flat": np.cos(np.radians(20))}),
        ((1, 0, 0), 180, {"upright": -1, "flat": -1}),
    ],
)  # fmt: skip
def test_what_is_sensed_of_how_she_lies(axis, degrees, known):
    sim = alone(*ip.repertoire("ann"))
    q, half = sim.state.qpos.copy(), np.radians(degrees) / 2
    first = Senses(sim, "ann").look(sim)
    q[3:7] = np.cos(half), *(np.sin(half) * np.array(axis))
    sim.set_state(q)
    sensed = Senses(sim, "ann").look(sim)
    for name, value in known.items():
        assert sensed.number(name) == pytest.approx(value, abs=0.02), name
    assert sensed.speed == sensed.sinking == sensed.stirring == 0.0
    assert sensed.angles == first.angles
    assert sensed.carried == sensed.elsewhere == 0.0


def test_a_capture_point_before_her_is_ahead():
    sim = alone(*ip.repertoire("ann"))
    v = np.zeros(sim.scene.model.nv)
    v[:3] = 2.0, 1.0, -0.5
    sim.set_state(sim.state.qpos, v)
    sensed = Senses(sim, "ann").look(sim)
    assert sensed.way[0] > sensed.way[1] > 0.2
    assert sensed.capture > 0.4
    assert sensed.sinking == pytest.approx(0.5)
    assert sensed.speed == pytest.approx(np.sqrt(5.25))


def test_commands_that_nobody_knows_are_errors(tmp_path):
    sim = stunt(0, pushes=0)
    with pytest.raises(ip.InputError, match="did you mean 'roll_over'"):
        sim.live.tell("ann", "rol_over")
    with pytest.raises(ip.InputError, match="character that listens"):
        sim.live.tell("ben", "balance")
    with pytest.raises(ip.InputError, match="nobody here listens"):
        scenario("stand")({}).simulation().live.tell("alice", "balance")


def test_others_go_on_while_one_lies():
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann").add(ip.Humanoid(1.80, 75), "ben", pos=(0, 2.5))
    sim = ip.Simulation(scene, 0.01, world="simulated")
    skills = {name: ip.Supervisor(name, ip.repertoire(name)) for name in ("ann", "ben")}
    sim.behaviour = ip.Together(skills)
    for _ in range(20):
        sim.step()
    sim.live.push("ann/chest", (800.0, 0.0, 0.0), 0.1)
    for _ in range(250):
        sim.step()
    assert skills["ann"].label not in ("balance", "")
    assert skills["ben"].label == "balance"
    assert len(skills["ben"].log) == 1
    assert sim.com("ben")[0][2] > 0.95


def test_who_is_no_longer_moved_by_skills_is_led_by_the_program():
    sim = stunt(0)
    while sim.behaviour is None or sim.behaviour.label != "fall":
        sim.step()
    kept, sim.behaviour = sim.behaviour, None
    assert not sim.unled
    sim.run(0.01)
    assert sim.outcome.plan.servo is None
    sim.behaviour = ip.Together({"ann": kept})
    sim.run(0.5)
    assert kept.label != ""
    assert not sim.fallen


def test_skills_live_in_the_simulated_world():
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"))
    sim.behaviour = ip.Supervisor("ann", ip.repertoire("ann"))
    with pytest.raises(ip.InputError, match="expected world='simulated'"):
        sim.step()


JOINTS = [
    "torso_flexion",
    "torso_yaw",
    "left_hip_flexion",
    "right_hip_flexion",
    "left_elbow_flexion",
    "right_elbow_flexion",
]


def test_poses_name_both_sides_at_once_and_can_be_mirrored():
    pose = {
        "torso_yaw": 0.3,
        "torso_flexion": 0.1,
        "hip_flexion": 0.5,
        "left_elbow_flexion": 1.0,
        "right_elbow_flexion": 0.2,
    }
    plain, turned = (spelled(pose, JOINTS, mirrored, "test") for mirrored in (False, True))
    assert plain["left_hip_flexion"] == plain["right_hip_flexion"] == 0.5
    assert turned["torso_yaw"] == -0.3
    assert turned["torso_flexion"] == 0.1
    assert (turned["left_elbow_flexion"], turned["right_elbow_flexion"]) == (0.2, 1.0)
    assert spelled(turned, JOINTS, True, "test") == plain
    with pytest.raises(ip.InputError, match="'hip_flexio'; did you mean 'left_hip_flexion'"):
        spelled({"hip_flexio": 1.0}, JOINTS, False, "test")


GOOD = "{name: bow, summary: bows, bid: 5, when: {upright: [0.9, null]}, keys: [{seconds: 0.5, pose: {torso_flexion: 0.5}}]}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("upright", "uprigt", "did you mean 'upright'"),
        ("bid: 5", "bid: 5, mirrored: true, side: leening", "did you mean 'leaning'"),
        ("[0.9, null]", "[0.9, 0.1]", "upright: expected a lower and an upper bound"),
        ("name: bow", "name: ''", "name"),
        ("bid: 5", "bid: 50", "bid"),
        ("seconds: 0.5", "seconds: -1", "seconds"),
        ("0.5}}", ".nan}}", "torso_flexion"),
        ("{name: bow,", "{nam: bow,", "nam"),
        ("keys", "key", "key"),
        (GOOD, "[1, 2", "expected"),
        (GOOD, "7", "int"),
    ],
)
def test_bad_key_poses_are_named(tmp_path, old, new, said):
    path = tmp_path / "bow.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ip.InputError, match=said):
        read(path)


def test_bytes_that_are_no_text_are_no_key_poses(tmp_path):
    path = tmp_path / "bow.yaml"
    path.write_bytes(b"name: b\xff")
    with pytest.raises(ip.InputError, match=r"key poses .*bow\.yaml"):
        read(path)


def alone(*skills):
    """Return a simulation of one who has these skills and no others."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), 0.01, world="simulated")
    sim.behaviour = ip.Supervisor("ann", skills)
    return sim


@pytest.mark.parametrize(
    ("old", "new", "said"), [("[0.9", "[1.1", "upright is"), ("torso_flexion", "torso_flexio", "torso_flexio")]
)
def test_that_no_skill_suits_is_an_error(tmp_path, old, new, said):
    """One that does not suit is not begun, nor does one move her that could not begin."""
    path = tmp_path / "bow.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ip.InputError, match=rf"expected a skill that suits any state.*bow: .*{said}"):
        alone(KeyPoses("ann", read(path))).step()


def test_skills_of_a_supervisor_are_those_of_its_character():
    class Nameless(ip.Skill):
        pass

    with pytest.raises(ip.InputError, match="at least one skill"):
        ip.Supervisor("ann", [])
    with pytest.raises(ip.InputError, match="'balance' is one of 'ben'"):
        ip.Supervisor("ann", ip.repertoire("ben"))
    with pytest.raises(ip.InputError, match="two skills have the name 'balance'"):
        ip.Supervisor("ann", [*ip.repertoire("ann"), *ip.repertoire("ann")])
    for what in (7, Nameless("ann")):
        with pytest.raises(ip.InputError, match="each with a name"):
            ip.Supervisor("ann", [what])
    with pytest.raises(ip.InputError, match="each with a name"):
        ip.repertoire("ann", Nameless)


def test_a_file_of_key_poses_is_a_skill(tmp_path):
    path = tmp_path / "bow.yaml"
    path.write_text(GOOD)
    sim = stunt(0, pushes=0)
    sim.behaviour = ip.Supervisor("ann", ip.repertoire("ann", path))
    for _ in range(20):
        sim.step()
    sim.live.tell("ann", "bow")
    for _ in range(40):
        sim.step()
    assert sim.behaviour.label == "bow"
    m = sim.scene.model
    assert sim.state.qpos[m.joint("ann/torso_flexion").qposadr[0]] > 0.2


def test_a_package_may_offer_skills(tmp_path, monkeypatch):
    path = tmp_path / "bow.yaml"
    path.write_text(GOOD)

    class Wait(ip.Skill):
        name = "wait"

        def bid(self, sensed):
            return ip.Bid(0.5, "there is time")

    class Point:
        def __init__(self, what):
            self._what = what

        def load(self):
            return self._what

    monkeypatch.setattr("interplay.skills.repertoire.entry_points", lambda group: [Point(Wait), Point(path)])
    assert {"wait", "bow", "balance"} <= {skill.name for skill in ip.repertoire("ann")}
    with pytest.raises(ip.InputError, match="two skills have the name 'bow'"):
        ip.repertoire("ann", path, path)
    path.write_text(GOOD.replace("bid: 5", "bid: 4"))
    [own] = [skill for skill in ip.repertoire("ann", path) if skill.name == "bow"]  # takes the place of theirs
    assert own.poses.bid == 4
    monkeypatch.setattr("interplay.skills.repertoire.entry_points", lambda group: [Point(7)])
    with pytest.raises(ip.InputError, match="expected a class of skills"):
        ip.repertoire("ann")
