"""Fingers in the views: closed around what a grip holds while it does, relaxed otherwise, and never in the simulation's model."""

import copy

import mujoco
import numpy as np
import pytest

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.export import export
from interplay.io.grips import SECONDS, Grips, recorded_grips
from interplay.io.recording import Recording
from interplay.models.distance import geom_distance
from interplay.models.fingers import RELAXED, hand_of, segments
from interplay.models.hand import FINGERS
from interplay.runs.run import run
from interplay.stage.live import LiveAct
from interplay.stage.messages import Pace
from interplay.stage.moment import Status
from interplay.view.fingers import Fingers, Grip, Hold, Place

RUNS = {"funambulist": 0.3, "sword": 0.3, "king": 3.5, "door": None, "valve": None, "lever": None, "box": None}
"""Scenarios in which hands hold something, and for how long they are run [s]; None: to their end."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs a scenario once and gives its recording, with what hands hold in it."""
    done = {}

    def get(name):
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            run(name, folder, seconds=RUNS[name])
            recording = Recording(folder)
            done[name] = recording, recorded_grips(recording)
        return done[name]

    return get


class Drawn:
    """A model as a view draws it."""

    def __init__(self, model):
        self.m = copy.copy(model)
        self.d, self.fingers = mujoco.MjData(self.m), Fingers(self.m)

    def at(self, qpos, grips):
        self.fingers.show(grips)
        self.d.qpos[:] = qpos
        mujoco.mj_kinematics(self.m, self.d)

    def segments(self, hand):
        """Return the geoms of a hand's segments by finger."""
        stem = hand.removesuffix("_hand")
        return {finger: [self.m.geom(f"{stem}_{finger}_{k}").id for k in (1, 2, 3)] for finger in FINGERS}

    def gap(self, geom, body):
        """Return how far a segment is from what is seen and solid of a body [m]."""
        m, d = self.m, self.d
        points = d.geom_xpos[geom] + np.outer(
            np.linspace(-1, 1, 21), m.geom_size[geom, 1] * d.geom_xmat[geom].reshape(3, 3)[:, 2]
        )
        solid = [g for g in range(m.ngeom) if m.geom_bodyid[g] == body and m.geom_contype[g]]
        return min(geom_distance(m, d, g, points).min() for g in solid) - m.geom_size[geom, 0]

    def is_relaxed(self, hand):
        poses = segments(hand_of(self.m, self.m.body(hand).id), RELAXED)
        return all(
            np.allclose(self.m.geom_pos[g], pose.pos, atol=1e-9)
            for finger, geoms in self.segments(hand).items()
            for g, pose in zip(geoms, poses[finger], strict=True)
        )


@pytest.mark.parametrize("name", RUNS)
def test_pads_lie_on_what_is_held_and_nothing_pokes_through(name, recorded):
    recording, grips = recorded(name)
    view, time, seen = Drawn(recording.model), recording["time"], 0
    for t in range(0, len(time), 1 + len(time) // 60):
        now = grips.at(float(time[t]))
        view.at(recording["qpos"][t], now)
        for hold, _, closure in now:
            if closure < 1:
                continue
            seen += 1
            for finger, geoms in view.segments(hold.hand).items():
                gaps = [view.gap(g, view.m.body(hold.held).id) for g in geoms]
                assert min(gaps) > -0.001, (hold.hand, time[t], finger, gaps)
                assert max(gaps[1:]) < 0.005, (hold.hand, time[t], finger, gaps)
    assert seen


@pytest.mark.parametrize("name", sorted(RUNS.keys() - {"lever", "sword"}))
def test_fingers_go_around_a_handle_not_through_it(name, recorded):
    """On the way from open to closed, with the hand where it holds; beside a lever's rod or a guard a thumb has no way around."""
    recording, grips = recorded(name)
    view, t = Drawn(recording.model), -1
    for hold, _, closure in grips.at(float(recording["time"][t])):
        if closure < 1:
            continue
        for part in np.linspace(0, 1, 9):
            view.at(recording["qpos"][t], [Grip(hold, 1.0, float(part))])
            for finger, geoms in view.segments(hold.hand).items():
                gaps = [view.gap(g, view.m.body(hold.held).id) for g in geoms]
                assert min(gaps) > -0.002, (hold.hand, part, finger, gaps)


@pytest.mark.parametrize("name", ["door", "lever", "valve"])
def test_fingers_are_closed_when_a_grip_is_made_and_relaxed_when_it_is_gone(name, recorded):
    recording, grips = recorded(name)
    view, time, dt = Drawn(recording.model), recording["time"], recording.header["dt"]
    members = [{c["first"] for c in s} | {c["second"] for c in s} for s in recording.contact_sets]
    surface = next(s for s in sorted(set.union(*members)) if s.endswith("right_grip") and "alice" in s)
    held = np.array([surface in members[k] for k in recording["contact_set"]])
    made = int(np.argmax(held))
    gone = made + int(np.argmin(held[made:]))
    assert 0 < made < gone < len(held)
    closures = {
        t: {grip.hold.hand: grip.closure for grip in grips.at(float(time[t]))}.get("alice/right_hand", 0.0)
        for t in range(len(time))
    }
    assert closures[made] == 1.0
    assert closures[made - round(0.5 * SECONDS / dt)] == pytest.approx(0.5, abs=0.1)
    assert closures[made - round(1.1 * SECONDS / dt)] == 0.0
    assert max(abs(closures[t + 1] - closures[t]) for t in range(len(time) - 1)) < 2.5 * dt / SECONDS
    for t in (0, made - round(4.1 * SECONDS / dt), gone + round(2.1 * SECONDS / dt)):
        view.at(recording["qpos"][t], grips.at(float(time[t])))
        assert view.is_relaxed("alice/right_hand"), time[t]


def test_a_recording_and_its_pictures_leave_the_model_as_it_is(recorded, tmp_path):
    recording, _ = recorded("funambulist")
    before = recording.model.geom_pos.copy(), recording.model.geom_quat.copy()
    export(recording.path.parent, tmp_path / "strip.png", frames=2, width=160, height=120)
    export(recording.path.parent, tmp_path / "page.html")
    fresh = Recording(recording.path)
    for m in (recording.model, fresh.model):
        np.testing.assert_array_equal(m.geom_pos, before[0])
        np.testing.assert_array_equal(m.geom_quat, before[1])


# -- live --------------------------------------------------------------------------------------------------------------


class Noted:
    """A simulation with a hand at a bar, and what is known of its grips."""

    def __init__(self):
        scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Barbell(), "bar", pos=(0.35, 0, 1.1))
        scene.reach("alice/left_grip", "bar/left_grip")
        self.sim, self.grips = ip.Simulation(scene), Grips(scene.model)

    def closure(self, time):
        self.grips.note(time, self.sim.contacts.items)
        return sum(grip.closure for grip in self.grips.at(time))


def test_live_fingers_close_from_when_a_grip_is_made_and_open_with_its_release():
    noted = Noted()
    contacts = noted.sim.contacts
    assert noted.closure(0.0) == 0.0
    contacts.add("alice/left_grip", "bar/left_grip")
    assert noted.closure(1.0) == 0.0
    assert noted.closure(1.0 + SECONDS / 2) == pytest.approx(0.5)
    assert noted.closure(2.0) == 1.0
    contacts.release("alice/left_grip", fade=0.4)  # the simulation's own clock stands at 0
    assert noted.closure(2.1) == 0.0
    assert [grip.opened for grip in noted.grips.at(2.1)] == [1.0]
    contacts.remove("alice/left_grip")
    assert noted.closure(2.2) == 0.0
    assert [grip.opened for grip in noted.grips.at(2.2 + 0.9 * SECONDS)] == [1.0]  # it has not left yet
    assert noted.grips.at(2.2 + 2 * SECONDS) == ()


def test_a_hand_opens_for_what_is_announced():
    noted = Noted()
    contacts = noted.sim.contacts
    coming = contacts.foresee((), [("alice/left_grip", "bar/left_grip", {})])
    noted.grips.note(0.0, ())
    noted.grips.note(1.0, (), coming)
    (grip,) = noted.grips.at(1.0 + SECONDS)
    assert grip.hold.place is None
    assert (grip.opened, grip.closure) == (1.0, 0.0)
    view = Drawn(noted.sim.scene.model)
    view.fingers.show([grip])
    assert not view.is_relaxed("alice/left_hand")
    contacts.add("alice/left_grip", "bar/left_grip")
    noted.grips.note(2.0, contacts.items, coming)
    announced, held = noted.grips.at(2.0 + SECONDS)
    assert announced.opened == held.opened == held.closure == 1.0
    (held,) = noted.grips.at(2.0 + 2 * SECONDS)
    assert held.hold.place is not None


def test_what_breaks_is_let_go_of_and_what_is_held_from_the_beginning_is_closed():
    noted = Noted()
    noted.sim.contacts.add("alice/left_grip", "bar/left_grip")
    assert noted.closure(0.0) == 1.0
    noted.sim.contacts.remove("alice/left_grip")
    assert noted.closure(3.0) == 1.0
    assert noted.closure(3.0 + SECONDS / 2) == pytest.approx(0.5)
    assert noted.closure(3.0 + SECONDS) == 0.0
    assert noted.closure(1.0) == 0.0  # back in time: all that counts is what is in force
    noted.sim.contacts.add("alice/left_grip", "bar/left_grip")
    assert noted.closure(0.5) == 1.0


def test_a_palm_lies_flat_on_the_ground_wherever_that_is():
    """The ground belongs to the world and has no bounds."""
    view = Drawn(ip.Scene().add(ip.Humanoid(), "alice").model)
    hand = hand_of(view.m, view.m.body("alice/left_hand").id)
    turn, quat = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.empty(4)  # the palm looks down
    mujoco.mju_mat2Quat(quat, turn.T.reshape(-1))
    place = Place(tuple(-turn.T @ [30.0, 20.0, -hand.palm[1]]), tuple(quat))
    view.fingers.show([Grip(Hold("alice/left_hand", "world", False, place), 1.0, 1.0)])
    stem = "alice/left_middle_"
    tip = view.m.geom_pos[view.m.geom(f"{stem}3").id] - view.m.geom_pos[view.m.geom(f"{stem}1").id]
    assert abs(tip[1]) < 0.1 * abs(tip[2])


def test_hands_of_bodies_without_fingers_are_left_alone():
    scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Barbell(), "bar", pos=(0.35, 0, 1.1))
    scene.reach("alice/left_grip", "bar/left_grip")
    sim = ip.Simulation(scene)
    sim.contacts.add("alice/left_grip", "bar/left_grip")
    grips = Grips(scene.model)
    grips.note(0.0, sim.contacts.items)
    (grip,) = grips.at(0.0)
    view = Drawn(scene.model)
    before = view.m.geom_pos.copy()
    view.fingers.show([grip._replace(hold=grip.hold._replace(hand="alice/left_foot"))])
    np.testing.assert_array_equal(view.m.geom_pos, before)


def test_frames_of_the_stage_tell_what_hands_hold_and_leave_the_simulation_alone():
    chosen = scenario("funambulist")()
    act = LiveAct("funambulist", chosen, chosen.simulation())
    m = act.sim.scene.model
    before = m.geom_pos.copy()
    status = Status(Pace(np.zeros(0), 1.0), True, True, (0.0, 0.0), 1.0, "")
    frame = act._maker.live(act.sim, (), status, stability=False)
    assert {grip.hold.hand for grip in frame.grips} == {"alice/left_hand", "alice/right_hand"}
    assert all(grip.closure == 1.0 and grip.hold.held == "bar/bar" for grip in frame.grips)
    view = Drawn(m)
    view.at(frame.qpos, frame.grips)
    assert not view.is_relaxed("alice/left_hand")
    np.testing.assert_array_equal(m.geom_pos, before)
