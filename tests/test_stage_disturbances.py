"""Disturbances on the stage: balls are thrown by a click, a platform follows its slider, friction changes; all of it is repeated."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from interplay.catalogue import scenario
from interplay.motion.targets import read_targets
from interplay.stage.hands import Aim, Hands
from interplay.stage.messages import Opening, Play, Reset, SetControl, SetFriction, Throw
from stage_tools import House, Stage, leave, on_tab, press, seat

ABOARD = """\
title: she stands on a platform, and balls lie beside it
dt: 0.01
camera: {lookat: [0, 0, 1.5], distance: 4, azimuth: 180, elevation: -5}
models:
  platform: {moving_platform: {travel: [0.3, 0, 0], tilt: [0, 0.1], height: 0.5}, friction: 0.9}
  ann: {humanoid: {height: 1.74, mass: 68}, at: [0, 0, 0.5]}
  ball_1: {ball: {}, at: [-2, 0]}
  ball_2: {ball: {}, at: [-2, 0.5]}
contacts:
  - {touch: {ann/left_sole: platform/top, ann/right_sole: platform/top}}
controls:
  shift: {slider: 0, low: -0.3, high: 0.3, drives: platform/x}
  tilt: {slider: 0, low: -0.1, high: 0.1, unit: rad, drives: platform/pitch}
background:
  - {posture: ann, weight: 0.3}
  - {com_over: ann, on: [ann/left_sole, ann/right_sole], axes: xyz, weight: 60}
  - {orientation: ann/pelvis, weight: 1}
  - {orientation: ann/chest, weight: 1}
phases:
  - {phase: stand, interactive: true, timeout: null}
"""


@pytest.fixture
def play(tmp_path):
    path = tmp_path / "aboard.yaml"
    path.write_text(ABOARD)
    return path


def test_what_is_done_on_the_stage_is_done_again(play, tmp_path):
    house = House(str(play), world="simulated")
    opening = next(m for m in house.said if isinstance(m, Opening))
    assert opening.balls == ("ball_1", "ball_2")
    assert opening.frictions == {"platform": 0.9}
    house.do(Play(), SetControl("shift", (0.1,)), SetFriction("platform", 0.5)).wait(0.2)
    house.do(Throw("ball_1", 0.4, (1.5, 0, 1.6), (-6.0, 0, 1.0))).wait(0.6)
    assert house.frame.frictions == {"platform": 0.5}
    sim = house.sim
    assert sim.scene.model.body("ball_1/ball").mass[0] == 0.4
    assert not house.notices("error", "warning")
    (tmp_path / "done.csv").write_text(house.performer.act.targets())
    again = scenario(play)().simulation(world="simulated")
    again.live.targets = read_targets(tmp_path / "done.csv", again)
    while again.time < sim.time - 1e-9:
        again.step()
    np.testing.assert_array_equal(again.state.qpos, sim.state.qpos)
    house.do(Reset())
    assert house.frame.frictions == {"platform": 0.9}
    assert sim.scene.model.body("ball_1/ball").mass[0] == 0.6


def test_bad_throws_do_no_harm(play):
    house, rng = House(str(play), world="simulated").do(Play()), random.Random(3)
    values = [
        np.nan, np.inf, 1e308, -1, 0.5, "ball_1", "ann", "platform", None, [], {}, (0, 0, 1), (1e308,) * 3, object(), "\0",
        10**400, b"x",
    ]  # fmt: skip
    for _ in range(300):
        kind = rng.choice((Throw, SetFriction))
        house.do(kind(*(rng.choice(values) for _ in kind._fields)))
    assert not house.notices("error")
    house.wait(0.1)
    assert np.isfinite(house.frame.qpos).all()
    direct = House(str(play)).do(Throw("ball_1", 0.6, (1, 0, 1), (0, 0, 0)), SetFriction("platform", 0.1))
    assert len([text for text in direct.notices("warning") if "simulated" in text]) == 2
    assert not next(m for m in direct.said if isinstance(m, Opening)).balls


def test_a_ball_meets_where_one_clicked(play):
    """From any eye, near or far, above or below."""
    house = House(str(play), world="simulated")
    sent, opening = [], next(m for m in house.said if isinstance(m, Opening))

    hands = Hands(None, opening, SimpleNamespace(model=house.sim.scene.model), None, sent.append)
    goal = np.array([0.1, 0.0, 1.7])
    for eye in ([3.0, 1.0, 2.0], [40.0, 0, 5.0], [0.3, 0.1, 1.7], [1.0, 0, -3.0]):
        hands._throw(Aim(1.0, 8.0), np.array(eye), goal)
        ball, mass, start, velocity = sent[-1]
        assert (ball, mass) == (("ball_1", "ball_2")[(len(sent) - 1) % 2], 1.0)
        assert start[2] > 0
        times = np.linspace(0, 2, 2001)[:, None]
        flight = np.array(start) + times * velocity + 0.5 * times**2 * [0, 0, -9.81]
        assert np.linalg.norm(flight - goal, axis=1).min() < 0.02
        assert np.linalg.norm(velocity) < 12


def test_balls_are_thrown_with_the_mouse(play, open_tab):
    stage = Stage(str(play), world="simulated")
    tab = seat(stage, open_tab)
    press(tab, "Play")
    on_tab(tab, "Touch")
    assert tab.page.get_by_text("Friction of platform").count() == 1
    assert tab.page.get_by_text("tilt [rad]").count() == 1
    tab.page.get_by_text("Throw balls").click()
    tab.until(lambda: stage.director.hands.aim is not None, "an aim")
    stage.camera_rests(tab)
    cast = stage.director._cast
    lowest = []

    def flies():
        address = cast.model.joint("ball_1/free").qposadr[0]
        lowest.append(float(stage.frame.qpos[address + 2]))
        return lowest[-1] > 0.8

    x, y = stage.pixel(tab, cast.data.xpos[cast.model.body("ann/chest").id])
    tab.page.mouse.move(x, y)
    tab.page.wait_for_timeout(400)
    tab.page.mouse.click(x, y)
    tab.until(flies, "a ball in the air", 20)
    assert stage.frame.pull is None  # she is not held
    tab.shot("throw")
    leave(stage, tab)
    stage.close()
