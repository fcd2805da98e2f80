"""The performer of the stage: time, touch, the past, recordings; and the process it runs in."""

import math
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import deque

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.recording import Recording
from interplay.motion.targets import read_targets
from interplay.runs.run import run
from interplay.stage.link import Link
from interplay.stage.live import LiveAct
from interplay.stage.messages import (
    Adjust,
    Close,
    Download,
    LetGo,
    Loop,
    Moment,
    Notice,
    Open,
    Opening,
    Pause,
    Play,
    Pull,
    Push,
    Reset,
    Save,
    Seek,
    SetControl,
    SetFriction,
    Speed,
    StepOnce,
    Throw,
)
from interplay.stage.performer import Playbill, playbill
from interplay.stage.tape import FRAMES, Tape
from plain import machine
from stage_tools import House

NAN, INF = math.nan, math.inf


def following(dt=0.01):
    """Return a stage with a standing character that follows the user from the start."""
    house = House("stand", dt=dt)
    house.sim.behaviour = ip.Machine([machine(house.sim).phases["follow"]])
    house.performer.act = LiveAct("stand", house.performer.act.scenario, house.sim)
    return house


def test_opening_says_what_is_on_stage():
    house = House("king", dt=0.02, parameters={"carried": True})
    notice, opening = house.said
    assert notice == Notice("info", "setting up king …")
    assert isinstance(opening, Opening)
    assert opening.dt == 0.02
    assert opening.models == ("front", "rear", "litter", "king")
    assert opening.phases == ("hold", "reach")
    assert opening.parameters["carried"] is True
    assert [c.name for c in opening.controls] == ["reach"]
    assert (opening.recorded, opening.duration) == (False, None)
    pickle.dumps(opening)
    assert house.frame.time == 0.0
    assert house.frame.coming == ("hold", "reach")
    assert not house.frame.playing


def test_frames_hold_what_the_simulation_is():
    house = House("king", dt=0.02, parameters={"carried": True}).do(Play()).wait(0.7)
    house.do(Pull("king/chest", (0, 0, 0.1), (0.2, 0.3, 1.3)))
    house.wait(0.3).do(Pause()).wait(0.1)
    sim, f = house.sim, house.frame
    assert_allclose(f.time, sim.time)
    assert_allclose(f.qpos, sim.state.qpos)
    assert (f.phase, f.coming) == ("reach", ())
    for name, com in zip(("front", "rear", "litter", "king"), f.com, strict=True):
        assert_allclose(com, sim.com(name)[0], atol=1e-12)
    at = {pair: k for k, pair in enumerate(f.contacts)}
    sole = at["front/left_sole", "ground"]
    assert f.grounded[sole]
    assert_allclose(f.contact_pose[sole, 2], 0.0, atol=1e-4)
    assert_allclose(f.contact_normal[sole], sim.force("front/left_sole")[2])
    assert_allclose(f.contact_force[sole, 2], f.contact_normal[sole], rtol=1e-6)
    grip = at["front/left_grip", "litter/front_left_grip"]
    assert not f.contact_size[grip].any()
    assert_allclose(f.contact_normal[grip], np.linalg.norm(f.contact_force[grip]))
    # All outer forces but the hand's: what changes the momentum of everything, less its weight.
    mass = sim.terms.body_mass.sum()
    acceleration = sim.outcome.qacc
    rate = sum(sim.terms.momentum(t)[1][:3] @ acceleration[sim.terms.tree_dofs(t)] for t in range(4))
    felt = f.contact_force[f.grounded].sum(axis=0) + f.pull.force - [0, 0, 9.81 * mass]
    assert_allclose(felt, rate, atol=0.05 * 9.81 * mass)
    labels = [o.label for o in f.objectives]
    assert "Point king/right_palm" in labels
    reach = f.objectives[labels.index("Point king/right_palm")]
    assert_allclose(reach.error, np.linalg.norm(reach.now - reach.goal))
    assert_allclose(reach.goal, f.controls["reach"])
    assert 0.05 < f.body_load.max() <= 1.0
    assert f.body_load.shape == (sim.scene.model.nbody,)
    assert f.pull.body == "king/chest"
    assert 1.0 < np.linalg.norm(f.pull.force) <= 400.0 + 1e-9


def test_pairs_inside_their_zone_are_shown_with_their_distance():
    house = House("sword").do(Play()).wait(0.5)
    f, sim = house.frame, house.sim
    assert f.pairs
    for (a, b), points, (distance, security) in zip(f.pairs, f.pair_points, f.pair_distance, strict=True):
        pair = next(p for p in sim.collisions.pairs if p.name == f"{a} – {b}")
        assert security == pair.security
        assert distance <= 1.1 * pair.influence + 1e-9
        assert_allclose(abs(distance), np.linalg.norm(points[0] - points[1]), atol=1e-3)


def test_time_runs_at_the_pace_that_is_asked_for():
    house = House(dt=0.01)
    house.wait(0.5)
    assert house.sim.time == 0.0
    house.do(Play()).wait(1.0)
    assert_allclose(house.sim.time, 1.0, atol=0.011)
    assert 28 <= len(house.frames) <= 34
    assert_allclose(house.frame.pace.factor, 1.0, atol=0.05)
    assert sum(len(f.pace.step_ms) for f in house.frames) in range(95, 102)
    house.do(Speed(0.25)).wait(1.0)
    assert_allclose(house.sim.time, 1.25, atol=0.021)
    house.do(Speed(4.0)).wait(0.5)  # more than it may
    assert_allclose(house.sim.time, 2.25, atol=0.041)
    house.do(Pause()).wait(1.0)
    held = house.sim.time
    count = len(house.frames)
    house.wait(1.0)
    assert (house.sim.time, len(house.frames)) == (held, count)
    assert not house.frame.playing
    house.do(StepOnce()).wait(0.1)
    assert_allclose(house.frame.time, held + 0.01)


def test_a_backlog_is_dropped():
    house = House(dt=0.01).do(Play()).wait(0.5)
    house.now += 30.0  # something kept us busy for half a minute
    house.wait(0.5)
    assert house.sim.time < 1.3


def test_going_on_from_the_past_is_the_same_motion_again():
    house = following().do(Play()).wait(0.4)
    home = house.sim.live.controls["com"].value
    house.do(SetControl("com", tuple(home + [0.02, 0.03, -0.1]))).wait(0.3)
    house.do(Pull("alice/chest", (0, 0, 0), (0.1, 0.2, 1.3))).wait(0.5)
    house.do(Adjust("Posture alice", weight=0.5)).wait(0.3)
    first = {round(f.time, 6): f for f in house.frames}
    rows = len(house.performer.act.log)
    assert rows == 3
    house.do(Seek(0.95)).wait(0.1)
    shown = house.frame
    assert not shown.live
    assert not shown.playing
    assert_allclose(shown.time, 0.95, atol=0.03)
    assert shown.span[1] > 1.4
    house.do(SetControl("com", tuple(home)))
    assert "past" in house.notices("warning")[-1]
    house.do(Play())
    assert_allclose(house.sim.time, shown.time, atol=1e-9)
    assert_allclose(house.sim.state.qpos, shown.qpos, atol=1e-9)
    assert len(house.performer.act.log) == 2  # the gains come later
    house.wait(0.15)
    again = house.frame
    assert again.live
    assert again.span[1] < 1.2
    same = min(first.values(), key=lambda f: abs(f.time - again.time))
    while house.sim.time < same.time - 1e-6:
        house.do(StepOnce())
    if abs(house.sim.time - same.time) < 1e-6:
        assert_allclose(house.sim.state.qpos, same.qpos, atol=1e-8)


def test_live_input_can_be_saved_and_replayed(tmp_path):
    house = House(dt=0.01).do(Play()).wait(0.5)
    house.do(Pull("alice/chest", (0, 0, 0), (0.1, 0.2, 1.3))).wait(0.3)
    house.do(LetGo(), Push("alice/head", (0, 0, 0), (0, 3, 0)), Adjust("Com alice xyz", stiffness=30.0)).wait(0.4)
    house.do(SetControl("com", (0.03, 0.02, 0.9)), Pause(), Save(7, "targets"))
    saved = house.said[-1]
    assert isinstance(saved, Download)
    assert (saved.client, saved.name) == (7, "stand-performance.csv")
    (tmp_path / "t.csv").write_bytes(saved.content)
    twin = scenario("stand")().simulation(0.01)
    twin.live.targets = read_targets(tmp_path / "t.csv", twin)
    while twin.time < house.sim.time - 1e-9:
        twin.step()
    assert np.array_equal(twin.state.qpos, house.sim.state.qpos)


def test_the_edited_scenario_can_be_saved_and_opened(tmp_path):
    house = House(dt=0.01, parameters={"height": 1.7}).do(Play()).wait(0.1)
    house.do(Adjust("Posture alice", weight=0.6), Save(3, "scenario"))
    saved = house.said[-1]
    assert (saved.client, saved.name) == (3, "stand-edited.yaml")
    path = tmp_path / "mine.yaml"
    path.write_bytes(saved.content)
    again = House(path)
    assert again.said[-1].scenario == "mine.yaml"
    assert again.sim.objectives[0].weight == 0.6
    assert again.said[-1].parameters["height"] == 1.7
    run(str(path), tmp_path / "out", seconds=1.2, dt=0.02)
    path.unlink()  # the recording holds its text
    played = House(tmp_path / "out")
    played.performer.act.wait()
    played.do(Seek(1.1)).wait(0.1)
    assert {o.label: o.weight for o in played.frame.objectives}["Posture alice"] == 0.6
    assert not played.notices("warning", "error")
    house.do(Save(3, "everything"), Save(-1, "targets"))
    assert len(house.notices("warning")) == 2


def test_reset_begins_again_with_the_gains_as_they_are():
    house = following().do(Play()).wait(0.5)
    first = {f.time: f.qpos for f in house.frames}
    house.do(Adjust("Posture alice", weight=0.9)).wait(0.2)
    house.do(Reset()).wait(0.1)
    assert 0.0 < house.sim.time < 0.12
    assert house.sim.objectives[0].weight == 0.9
    assert [t.control for t in house.performer.act.log] == ["adjust Posture alice"]
    house.do(Adjust("Posture alice", weight=0.3), Reset(), Pause(), Play()).wait(0.4)
    assert_allclose(house.frame.qpos, first[house.frame.time], atol=1e-9)


def test_masses_come_back_with_the_past():
    house = House("funambulist", dt=0.02).do(Play()).wait(0.3)
    name = next(iter(house.sim.live.controls))
    before = house.sim.scene.model.body(f"bar/{name}").mass[0]
    house.do(SetControl(name, (before + 3.0,))).wait(0.9)
    assert house.sim.scene.model.body(f"bar/{name}").mass[0] > before + 0.5
    house.do(Seek(0.1), Play())
    assert house.sim.scene.model.body(f"bar/{name}").mass[0] == pytest.approx(before)
    assert not house.notices("warning", "error")


def test_a_scenario_that_fails_stops_and_can_be_reset(monkeypatch):
    house = House(dt=0.01).do(Play()).wait(0.3)
    step = house.sim.step

    def broken():
        if house.sim.time > 0.5:
            raise ip.SolverError("no way")
        return step()

    monkeypatch.setattr(house.sim, "step", broken)
    house.wait(0.5)
    assert house.frame.ended == "no way"
    assert not house.frame.playing
    assert "no way" in house.notices("error")[0]
    house.do(Play()).wait(0.1)
    assert "has ended" in house.notices("warning")[-1]
    house.do(Seek(0.2)).wait(0.1)
    assert not house.frame.live
    monkeypatch.undo()
    house.do(Play()).wait(0.6)
    assert house.frame.ended == ""
    assert house.frame.time > 0.6
    monkeypatch.setattr(house.sim, "step", lambda: 1 / 0)
    house.wait(0.1)
    assert "ZeroDivisionError" in house.notices("error")[-1]
    monkeypatch.undo()
    house.do(Reset(), Play()).wait(0.2)
    assert house.frame.time > 0.1


def test_a_state_that_cannot_be_is_never_shown(monkeypatch):
    house = House(dt=0.01).do(Play()).wait(0.3)
    advance = house.sim.world.advance

    def broken(state, plan, terms, time):
        new = advance(state, plan, terms, time)
        lost = new.state.with_(qpos=np.full_like(new.state.qpos, NAN))
        return new._replace(state=lost) if time > 0.5 else new

    monkeypatch.setattr(house.sim.world, "advance", broken)
    house.wait(0.5)
    assert "expected finite numbers" in house.frame.ended
    assert all(np.isfinite(f.qpos).all() for f in house.frames)
    house.do(Seek(0.4), Play()).wait(0.3)
    assert "expected finite numbers" in house.frame.ended
    assert 0.4 < house.frame.time < 0.51
    monkeypatch.undo()
    house.do(Seek(0.4), Play()).wait(0.3)
    assert house.frame.time > 0.6
    assert not house.frame.ended


def test_only_what_is_offered_can_be_opened(tmp_path):
    house = House(dt=0.01)
    for name in ("stnd", "/etc/passwd", "../stand", str(tmp_path), None, 3, ["stand"]):
        house.do(Open(name))
        assert "unknown scenario" in house.notices("warning")[-1]
    house.do(Open("door", {"opn": 1}))
    assert "did you mean 'open'" in house.notices("warning")[-1]
    house.do(Open("door", {"open": "nan"}), Open("door", [1]), Open("door", {3: 4}))
    assert house.performer.name == "stand"
    house.do(Play()).wait(0.2)
    assert house.frame.time > 0.1
    house.do(Open("box"), Play()).wait(0.1)
    assert house.performer.name == "box"
    assert not house.notices("error")
    with pytest.raises(ip.InputError, match="did you mean 'door'"):
        playbill("dor")


def bad_commands(rng, count):
    """Return commands as a broken viewer might send them."""
    kinds = (Open, Seek, Speed, SetControl, Pull, Push, Throw, SetFriction, Adjust, Save)
    values = [
        NAN, INF, -INF, 1e308, -1e300, 0, -1, 1.5, "", "x", "com", "alice/chest", "alice/ches", "Com alice xyz", "targets",
        None, True, [], {}, (), (NAN, 0, 0), (1e308, 1e308, 1e308), (0, 0), (0.1, 0.2, 0.3), ("a", "b", "c"), [[0, 0, 0]],
        {"a": 1}, b"bytes", object(), np.full(3, NAN), np.zeros((3, 3)), "Posture alice", 10**400, "king/../..", "\x00",
    ]  # fmt: skip
    for _ in range(count):
        kind = rng.choice(kinds)
        # None and strings too: what is not a command at all.
        yield (
            kind(*(rng.choice(values) for _ in kind._fields))
            if rng.random() < 0.95
            else rng.choice([*values, Moment, Notice])
        )


def test_malformed_commands_do_no_harm():
    house = following().do(Play()).wait(0.1)
    rng = random.Random(5)
    for k, command in enumerate(bad_commands(rng, 600)):
        house.do(command)
        if k % 20 == 0:
            house.do(Play()).wait(0.02)
    errors = [text for text in house.notices("error") if "Error" in text]
    assert not errors, errors[:3]
    house.do(Reset(), Speed(1.0), LetGo(), Play()).wait(0.3)
    assert np.isfinite(house.frame.qpos).all()
    assert house.frame.time > 0.2
    assert not house.frame.ended


def test_the_tape_stays_small_and_keeps_its_beginning():
    tape = Tape()
    for k in range(3 * FRAMES):
        tape.add(0.01 * k, b"%d" % k)
    times = tape._frames.times
    assert len(times) <= FRAMES
    assert tape.span == (0.0, 0.01 * (3 * FRAMES - 1))
    assert times == sorted(times)
    assert times[-1] - times[-1000] == pytest.approx(9.99)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run of the door: contacts made and broken, several phases, live input."""
    folder = tmp_path_factory.mktemp("door")
    (folder / "in.csv").write_text(
        "1.0, pull alice/head, 0, 0, 0, -0.4, 0.3, 1.5\n1.4, let go\n1.5, adjust Posture alice, 0.3\n"
    )
    run("door", folder, dt=0.02, targets=folder / "in.csv")
    return folder


def test_a_recording_is_played_as_it_was(recorded):
    house = House(recorded)
    opening = house.said[1]
    record = Recording(recorded)
    assert opening.recorded
    assert opening.duration == record["time"][-1]
    house.performer.act.wait()
    live = scenario("door")().simulation(0.02)
    live.live.targets = read_targets(recorded / "in.csv", live)
    asked = {}
    live.observers.append(
        lambda state, solution, seconds: asked.update(
            {
                state.time: {
                    o.label: np.linalg.norm(o.error(live.controller.at(state), state.time))
                    for o in live.demands.objectives
                }
            }
        )
    )
    live.run(3.0)
    house.do(Play()).wait(3.0)
    frames = [f for f in house.frames if 0.1 < f.time < 2.9]
    assert len(frames) > 70
    index = {t: k for k, t in enumerate(record["time"].tolist())}
    for f in frames:
        k = index[f.time]
        assert np.array_equal(f.qpos, record["qpos"][k])
        assert f.phase == record.phases[k]
        assert {o.label for o in f.objectives} == asked[f.time].keys()
        for o in f.objectives:
            if list(x.label for x in f.objectives).count(o.label) == 1:
                assert_allclose(o.error, asked[f.time][o.label], atol=1e-6)
    held = [f for f in frames if f.pull is not None]
    assert held[0].time == pytest.approx(1.0, abs=0.05)
    assert held[-1].time == pytest.approx(1.4, abs=0.05)
    assert not house.notices("warning", "error")


def test_a_recording_is_scrubbed_and_cannot_be_touched(recorded):
    house = House(recorded)
    house.performer.act.wait()
    record = Recording(recorded)
    end = record["time"][-1]
    for moment in (end, 0.0, 0.5 * end, 1.3, 0.5 * end + 0.02, 2.7):
        house.do(Seek(moment)).wait(0.1)
        k = int(np.abs(record["time"] - moment).argmin())
        assert np.array_equal(house.frame.qpos, record["qpos"][k])
        assert house.frame.phase == record.phases[k]
        assert house.frame.objectives
    house.do(Pull("alice/head", (0, 0, 0), (0, 0, 2)), Save(1, "targets"))
    assert len(house.notices("warning")) == 2
    house.do(Seek(end - 0.3), Play()).wait(0.6)
    assert house.frame.playing
    assert 0.1 < house.frame.time < 0.4  # it has begun again
    house.do(Seek(end)).wait(0.5)
    assert house.frame.time == end  # where the user looks, it stays
    house.do(Loop(False), Seek(end - 0.3), Play()).wait(1.0)
    assert house.frame.ended == "finished"
    assert not house.frame.playing
    house.do(Play()).wait(0.3)  # from the beginning
    assert 0.1 < house.frame.time < 0.4


def test_a_recording_whose_scenario_is_gone_says_what_is_missing(recorded, tmp_path):
    import shutil

    folder = tmp_path / "other"
    shutil.copytree(recorded, folder)
    text = (folder / "scene.xml").read_text()
    (folder / "scene.xml").write_text(text.replace("<mujoco", "<!-- another --><mujoco", 1))
    house = House(folder)
    house.performer.act.wait()
    house.wait(0.3).do(Play()).wait(0.5)
    assert "objectives, collision pairs and controls are not shown" in house.notices("warning")[0]
    assert not house.frame.objectives
    assert house.frame.contacts
    assert house.frame.contact_normal.max() > 50


def test_a_damaged_recording_says_what_is_missing_and_is_played_around_it(recorded, tmp_path):
    import shutil

    from interplay.io import blocks

    folder = tmp_path / "damaged"
    shutil.copytree(recorded, folder)
    raw = bytearray((folder / "recording").read_bytes())
    raw[blocks.survey(folder / "recording").places[2 + 1][0] + 3] ^= 0xFF
    (folder / "recording").write_bytes(raw)
    house = House(folder)
    house.performer.act.wait()
    house.wait(0.1)
    assert "1.00 s to 2.00 s (50 steps) is damaged and left out" in house.notices("warning")[0]
    for moment, objectives in ((0.5, True), (2.5, False), (3.5, True), (0.2, True), (2.98, False), (3.0, True)):
        house.do(Seek(moment)).wait(0.1)
        assert house.frame.time == pytest.approx(moment)
        assert bool(house.frame.objectives) == objectives
    house.do(Seek(0.8), Play()).wait(3.0)  # over the gap
    assert house.frame.time > 3.0
    assert len(house.notices("warning")) == 1


# -- the process -------------------------------------------------------------------------------------------------------


def receive(link, until, seconds=60.0):
    """Return messages until one of them is what is waited for."""
    got, deadline = deque(maxlen=500), time.monotonic() + seconds
    while time.monotonic() < deadline:
        for message in link.receive(0.05):
            got.append(message)
            if until(message):
                return got
    raise AssertionError(f"not received; last: {list(got)[-3:]}")


def moment(seconds):
    return lambda m: isinstance(m, Moment) and m.time >= seconds


@pytest.fixture
def link():
    made = Link(playbill("stand"))
    yield made
    made.close()
    assert not made.alive


def test_a_process_performs_at_real_time_and_obeys(link):
    receive(link, lambda m: isinstance(m, Opening))
    link.send(Play())
    begin = time.monotonic()
    frames = [m for m in receive(link, moment(2.0)) if isinstance(m, Moment)]
    assert time.monotonic() - begin > 1.9
    assert len(frames) > 20
    link.send(Pull("alice/chest", (0, 0, 0), (0.2, 0.2, 1.3)))
    receive(link, lambda m: isinstance(m, Moment) and m.pull is not None)
    link.send(Seek(1.0))
    receive(link, lambda m: isinstance(m, Moment) and not m.live and abs(m.time - 1.0) < 0.1)
    link.send(SetControl("cm", (0, 0, 0)))
    receive(link, lambda m: isinstance(m, Notice) and m.level == "warning")
    link.send(Open("box"))
    receive(link, lambda m: isinstance(m, Opening) and m.scenario == "box")
    link.send(Play())
    receive(link, moment(0.3))


def test_a_viewer_that_does_not_read_costs_nothing(link):
    receive(link, lambda m: isinstance(m, Opening))
    link.send(Play())
    receive(link, moment(0.2))
    begin = time.monotonic()
    time.sleep(3.0)  # about 90 frames, far more than the pipe holds
    link.send(Pause())
    last = receive(link, lambda m: isinstance(m, Moment) and not m.playing)[-1]
    passed = time.monotonic() - begin
    assert last.time > 0.2 + 0.8 * min(passed, 3.0)
    assert last.pace.factor >= 0.0


def test_a_performer_that_dies_is_reported(link):
    receive(link, lambda m: isinstance(m, Opening))
    os.kill(link.pid, signal.SIGKILL)
    got = receive(link, lambda m: isinstance(m, Notice) and m.level == "error")
    assert "unexpectedly" in got[-1].text
    begin = time.monotonic()
    for _ in range(3000):
        link.send(Play())  # nobody hears it
    assert time.monotonic() - begin < 1.0
    assert not link.alive


def test_a_hung_performer_does_not_block_the_viewer(link, monkeypatch):
    monkeypatch.setattr("interplay.stage.link.PATIENCE", 0.5)
    receive(link, lambda m: isinstance(m, Moment))
    os.kill(link.pid, signal.SIGSTOP)
    link.send(Play())
    told = receive(link, lambda m: isinstance(m, Notice) and "done when it does" in m.text)
    assert told[-1].level == "warning"
    begin = time.monotonic()
    for k in range(5000):
        link.send(SetControl(f"no such {k}" + "x" * 200, (0.0, 0.0, 0.0)))
    assert time.monotonic() - begin < 2.0
    assert any("does not answer" in m.text for m in link.receive(0.01) if isinstance(m, Notice))
    os.kill(link.pid, signal.SIGCONT)


VIEWER = """
import sys, time
from interplay.stage.link import Link
from interplay.stage.messages import Opening, Play
from interplay.stage.performer import playbill
if __name__ == "__main__":
    link = Link(playbill("stand"))
    while not any(isinstance(m, Opening) for m in link.receive(0.1)):
        pass
    link.send(Play())
    print(link.pid, flush=True)
    time.sleep(60)
"""


def test_no_orphans(tmp_path):
    """The viewer is killed without a word: the performer ends by itself."""
    (tmp_path / "viewer.py").write_text(VIEWER)
    viewer = subprocess.Popen([sys.executable, str(tmp_path / "viewer.py")], stdout=subprocess.PIPE, text=True)
    pid = int(viewer.stdout.readline())
    viewer.kill()
    viewer.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":  # ended, nobody has asked how
                return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the performer outlived its viewer")


def test_the_bill_is_picklable_and_close_ends(link):
    assert pickle.loads(pickle.dumps(Playbill("stand", {"stand": "stand"}))).first == "stand"
    link.send(Close())
    deadline = time.monotonic() + 30
    while link.alive and time.monotonic() < deadline:
        link.receive(0.05)
    assert not link.alive
