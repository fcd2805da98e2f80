"""Skills on the stage: who is pushed off her feet gets up, is told what to do, and the panel says who bids what."""

import random

import numpy as np

from interplay.catalogue import scenario
from interplay.motion.targets import read_targets
from interplay.skills.graph import graph
from interplay.stage.messages import Opening, Play, Push, Reset, Tell
from stage_tools import House, Stage, leave, on_tab, press, seat

CALM = {"pushes": "0"}


def test_what_is_done_on_the_stage_is_done_again(tmp_path):
    house = House("stunt", parameters=CALM)
    opening = next(m for m in house.said if isinstance(m, Opening))
    assert {"balance", "fall", "roll_over"} <= set(opening.skills["ann"])
    house.do(Play()).wait(0.3).do(Push("ann/chest", (0, 0, 0.1), (0, 95.0, 0))).wait(1.6)
    (view,) = house.frame.skills
    assert view.who == "ann"
    assert view.active in ("fall", "roll_over", "settle")
    assert {name for name, *_ in view.bids} == set(opening.skills["ann"])
    assert ("balance", "fall", 1) in view.moves
    house.do(Tell("ann", "settle")).wait(0.05)
    assert house.frame.phase == "settle"
    assert not house.notices("error", "warning")
    (tmp_path / "done.csv").write_text(house.performer.act.targets())
    again = scenario("stunt")(CALM).simulation()
    again.live.targets = read_targets(tmp_path / "done.csv", again)
    while again.time < house.sim.time - 1e-9:
        again.step()
    np.testing.assert_array_equal(again.state.qpos, house.sim.state.qpos)
    house.do(Reset())
    assert house.sim.behaviour.log == []


def test_who_steps_is_pushed_as_hard_as_one_likes_and_others_no_harder_than_they_can_stand():
    size = {}
    for name, body in (("stand", "alice/chest"), ("king", "rear/chest")):
        house = House(name).do(Play()).wait(0.2).do(Push(body, (0, 0, 0), (40.0, 0, 0)))
        (push,) = house.sim.live._pushes
        size[name] = float(np.linalg.norm(push.force)) * 0.1
    assert 39.0 < size["stand"] < 41.0
    assert size["king"] < 20.0


def test_bad_commands_do_no_harm():
    house, rng = House("stunt", parameters=CALM).do(Play()), random.Random(3)
    values = ["ann", "ben", "balance", "", None, [], {}, 7, np.nan, object(), "\0", "a/b", b"x", "<script>"]
    for _ in range(200):
        house.do(Tell(rng.choice(values), rng.choice(values)))
    assert not house.notices("error")
    house.wait(0.2)
    assert house.frame.phase == "balance"
    house = House("stand").do(Tell("alice", "balance"))
    assert any("nobody here listens" in text for text in house.notices("warning"))


def test_names_are_text_in_the_graph():
    picture = graph([("<b>", "fall"), ("fall", "fall")], [2, 1], "fall")
    assert "<b>" not in picture
    assert "&lt;b&gt;" in picture
    assert picture.count("<path d='M") == 2 + 1  # two arrows and their tip
    assert graph([], []) == ""


def test_she_is_told_with_the_mouse(open_tab):
    stage = Stage("stunt", parameters=CALM)
    tab = seat(stage, open_tab)
    press(tab, "Play")
    on_tab(tab, "Skills")
    tab.until(lambda: stage.frame.phase == "balance", "her standing")
    tab.page.get_by_role("button", name="settle", exact=True).click()  # what she does is told in the same words
    tab.until(lambda: stage.frame.phase == "settle", "her letting go")
    tab.until(lambda: stage.frame.phase == "prone_to_squat" or stage.frame.phase == "roll_over", "her getting up", 30)
    tab.until(lambda: tab.page.locator("svg text", has_text="settle").count() >= 1, "the graph")
    tab.shot("skills")
    leave(stage, tab)
    stage.close()
