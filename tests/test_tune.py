"""Tuning of skills: starts, rollouts, the search, its file, and going on with it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app
from interplay.runs.bodies import Body
from interplay.runs.pool import pool
from interplay.runs.rollouts import WHO, Rollout, ground, rolled, skill_of
from interplay.runs.starts import Draw, drawn, nominal, once
from interplay.runs.tune import Numbers, cost, poses_of, tune
from interplay.skills.key_poses import read, written
from interplay.skills.sensing import Senses

ADULT = Body()

BOW = """
name: bow
summary: bows
bid: 5
when: {upright: [0.9, null]}
keys:
  - seconds: 0.1
    pose: {torso_flexion: 0.1, hip_flexion: 0.2, head_yaw: 0}
  - seconds: 0.1
    pose: {torso_flexion: 0.4, hip_flexion: 0.3, head_yaw: 0}
until: {upright: [null, 0.985]}
along: {upright: -1}
"""


@pytest.fixture
def bow(tmp_path):
    (tmp_path / "bow.yaml").write_text(BOW)
    return read(tmp_path / "bow.yaml")


def test_a_start_follows_from_its_seed_and_is_at_rest():
    """She lies where she was put, none of her in the ground, and the skill bids for her."""
    draw = Draw(ADULT, "prone_to_squat", ("prone",), 0.5, 3)
    start, again = drawn(draw), drawn(draw)
    assert (start.qpos == again.qpos).all()
    assert not (start.qpos == drawn(draw._replace(seed=4)).qpos).all()
    place = ground(ADULT)
    sim = place.begin([skill_of("settle")], start.qpos, start.qvel)
    sensed = Senses(sim, WHO).look(sim)
    assert sensed.facing < -0.6
    assert sensed.speed < 0.15
    assert skill_of("prone_to_squat").bid(sensed).value > 0
    assert once(draw._replace(places=("supine",))) is None


def test_places_are_those_that_a_skill_bids_for(bow):
    with pool(1) as many:
        assert list(nominal(many, ADULT, bow)) == ["standing"]
        nowhere = bow.model_copy(update={"when": {"height": (5.0, None)}})
        with pytest.raises(ip.InputError, match="bow: expected a skill that bids for adult"):
            nominal(many, ADULT, nowhere)


def test_a_rollout_does_not_depend_on_those_before_it(bow):
    """What came of it is what comes of a simulation of its own."""
    q = ground(ADULT).sim.scene.qpos
    case = Rollout(ADULT, bow, q, np.zeros(len(q) - 1))
    first = rolled(case)
    lying = drawn(Draw(ADULT, "prone_to_squat", ("prone",), 0.1, 0))
    rolled(Rollout(ADULT, bow, lying.qpos, lying.qvel))
    assert rolled(case) == first
    assert first.said == "succeeded"
    assert first.seconds == pytest.approx(0.2)
    assert 0 < first.effort < 1
    assert -1 < first.along < -0.9
    ground.cache_clear()
    assert rolled(case) == first


def test_who_follows_has_to_reach_and_keep_it():
    start = drawn(Draw(ADULT, "prone_to_squat", ("prone",), 0.1, 1000))
    found = rolled(Rollout(ADULT, "prone_to_squat", start.qpos, start.qvel, ("rise", "balance")))
    assert found.said == "succeeded"
    assert found.after is not None
    assert 0.3 < found.after < 3.0


def test_what_is_tuned_are_joints_that_move_within_their_ranges(bow):
    numbers = Numbers(bow, ADULT)
    assert numbers.places == [(0, "torso_flexion"), (0, "hip_flexion"), (1, "torso_flexion"), (1, "hip_flexion")]
    assert numbers.skill(numbers.first) == bow
    low, high = numbers.bounds
    assert np.degrees([low[0], high[0]]) == pytest.approx([-25, 80], abs=1e-3)
    assert (numbers.skill(high).keys[1].pose["head_yaw"], numbers.skill(high).keys[1].seconds) == (0, 3.0)


def test_success_counts_first(bow):
    q = ground(ADULT).sim.scene.qpos
    found = rolled(Rollout(ADULT, bow, q, np.zeros(len(q) - 1)))
    lazy = found._replace(said="upright is 0.99, not upright ≤ 0.985", short=0.01, effort=0.0, seconds=0.0)
    assert cost([found]) < cost([lazy, found]) < cost([lazy])
    assert cost([lazy]) < cost([lazy._replace(short=0.5)])


def test_a_file_comes_back_as_it_was(tmp_path, bow):
    for poses in (bow, poses_of("roll_over"), poses_of("prone_to_squat")):
        (tmp_path / "again.yaml").write_text(written(poses, "made\nhere"))
        assert read(tmp_path / "again.yaml") == poses
        assert max(map(len, (tmp_path / "again.yaml").read_text().splitlines())) <= 120


def test_tuning_gets_better_and_goes_on_where_it_was(tmp_path, bow, monkeypatch):
    """A bow that is not deep enough becomes one that is; resumed, it is the uninterrupted search."""
    monkeypatch.setattr("interplay.runs.tune.FINALS", 2)
    shallow = bow.model_copy(update={"until": {"upright": (None, 0.965)}})
    (tmp_path / "bow.yaml").write_text(written(shallow))
    options = {"noise": 0.05, "sigma": 0.3, "batch": 1, "fresh": 1, "noises": [0.05], "workers": 1}
    told = []
    found = tune(
        tmp_path / "bow.yaml", tmp_path / "a", evaluations=18, progress=lambda *now: told.append(now), **options
    )
    was, tuned = found.rows
    assert (was["skill"], was["succeeded"], tuned["skill"], tuned["succeeded"]) == ("as it was", 0, "tuned", 1)
    assert told
    assert read(found.file).until == shallow.until
    tune(tmp_path / "bow.yaml", tmp_path / "b", evaluations=9, **{**options, "fresh": 0})
    again = tune(tmp_path / "bow.yaml", tmp_path / "b", evaluations=18, resume=True, **{**options, "fresh": 0})
    assert read(again.file) == read(found.file)
    kept, kept_again = ((tmp_path / x / "tuning.jsonl").read_text() for x in "ab")
    assert kept == kept_again
    with pytest.raises(ip.InputError, match="of another skill, body, or search"):
        tune(tmp_path / "bow.yaml", tmp_path / "b", evaluations=9, resume=True, **{**options, "sigma": 0.2})


def test_for_another_body(tmp_path, bow):
    (tmp_path / "bow.yaml").write_text(BOW)
    said = CliRunner().invoke(
        app,
        ["tune", str(tmp_path / "bow.yaml"), "--set", "height=1.15", "--evaluations", "0", "--fresh", "1", "--at", "0"]
        + ["--workers", "1", "--out", str(tmp_path / "out")],
    )
    assert said.exit_code == 0, said.output
    [row] = json.loads((tmp_path / "out" / "report.json").read_text())["rows"]
    assert (row["body"], row["succeeded"]) == ("height 1.15", 1)
    child = Body.of(None, ["height=1.15"]).model()
    assert child.mass == pytest.approx(16 * 1.15**2)
    assert child.head_scale == 1.3
    assert Body.of(None, ["mass=110"]).model().mass == 110


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tune", "balance"], "expected a skill of key poses, got 'balance'"),
        (["tune", "rol_over"], "did you mean 'roll_over'"),
        (["tune", "roll_over", "--set", "hight=1"], "did you mean 'height'"),
        (["tune", "roll_over", "--set", "height=tall"], "--set height: expected a number, got 'tall'"),
        (["tune", "roll_over", "--set", "height=9"], "Humanoid height"),
        (["tune", "roll_over", "--evaluations", "-1"], "evaluations"),
        (["tune", "roll_over", "--batch", "0"], "batch"),
        (["tune", "roll_over", "--workers", "none"], "workers: expected"),
        (["tune", "nowhere.yaml"], "key poses nowhere.yaml"),
        (["tune", "roll_over", "--character", "no.yaml"], "no.yaml"),
        (["tune", "roll_over", "--resume", "--workers", "1", "--fresh", "0"], "--resume: expected what a run has kept"),
    ],
)
def test_what_cannot_be(tmp_path, arguments, said):
    found = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    text = str(found.exception) if found.exception else found.output
    assert found.exit_code != 0
    assert said in text
