"""The clips that come with Interplay: what each one shows, that what it was made by still makes it, that others can follow it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import interplay as ip
from interplay.catalogue import check, scenario
from interplay.motion.clip_file import SHIPPED, shipped_clips

TOOL = Path(__file__).parents[1] / "tools" / "make_clips.py"
PERFORMED = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
GAITS = {
    "walk_slow": 0.8,
    "walk": 1.3,
    "walk_fast": 1.8,
    "run_slow": 2.0,
    "run": 3.0,
    "run_fast": 4.0,
    "child_walk": 0.9,
}
"""How fast each is [m/s]."""
TURNS = {"turn_and_pivot": -45.0}
"""By how much who turns has turned in the end, left is positive [deg]."""


def body_paths(name, *bodies):
    """Return where bodies are (T, 3) over a clip, on the body it was made with."""
    clip = ip.Clip.load(name)
    scene = ip.Scene().add(ip.Humanoid(joints=34), "she")
    terms, out = scene.kinematics(), []
    for q in clip.configurations(scene):
        terms.place(q)
        out.append([ip.Frame(scene, f"she/{body}").pose(terms)[0].copy() for body in bodies])
    return clip.time, *np.moveaxis(np.array(out), 1, 0)


def tool():
    spec = importlib.util.spec_from_file_location("make_clips", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_has_the_scenario_it_was_made_by_or_is_a_gait():
    assert shipped_clips() == sorted([*PERFORMED, *GAITS, *TURNS])
    assert {"wave", "reach", "squat", "turn_and_look", "boxing_guard", "dodge_left", "duck"} <= set(shipped_clips())


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "duck")) for n in PERFORMED])
def test_its_scenario_performs_it(name):
    again, kept = tool().performed(SHIPPED / f"{name}.yaml"), ip.Clip.load(name)
    assert again.motions["she"].joints == kept.motions["she"].joints
    np.testing.assert_allclose(again.motions["she"].angles, kept.motions["she"].angles, atol=2e-3)
    assert again.touches == kept.touches


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GAITS, *TURNS])
def test_its_composition_makes_it(name):
    pytest.importorskip("casadi")
    again, kept = tool().composed(name), ip.Clip.load(name)
    assert again.motions["she"].joints == kept.motions["she"].joints
    assert again.duration == pytest.approx(kept.duration, rel=0.02)
    frames = min(len(again.time), len(kept.time))
    off = np.abs(again.motions["she"].angles[:frames] - kept.motions["she"].angles[:frames])
    assert off.mean() < np.radians(1.0)


@pytest.mark.parametrize("name", TURNS)
def test_turns_head_where_they_are_said_to_and_feet_stand_where_they_touch(name):
    time, left, right = body_paths(name, "left_foot", "right_foot")
    clip = ip.Clip.load(name)
    heading = np.unwrap(Rotation.from_quat(clip.motions["she"].root[:, [4, 5, 6, 3]]).as_euler("ZYX")[:, 0])
    assert np.degrees(heading[-1] - heading[0]) == pytest.approx(TURNS[name], abs=8.0)
    assert np.degrees(heading.max() - heading[0]) > 35.0  # first to the left
    for touch in clip.touches:
        if touch.first.endswith("_sole") and touch.end - touch.begin > 0.1:
            path = left if "left" in touch.first else right
            stands = (time > touch.begin + 0.03) & (time < touch.end - 0.03)
            assert np.ptp(path[stands, :2], axis=0).max() < 0.06  # it rolls over its edges


@pytest.mark.parametrize("name", GAITS)
def test_gaits_are_as_fast_as_they_are_called_and_their_feet_stand_where_they_touch(name):
    clip = ip.Clip.load(name)
    root = clip.motions["she"].root
    assert (root[-1, 0] - root[0, 0]) / clip.duration == pytest.approx(GAITS[name], rel=0.05)
    assert abs(root[-1, 1] - root[0, 1]) < 0.03
    child = name == "child_walk"
    scene = ip.Scene().add(ip.Humanoid.child(1.15, 21.0) if child else ip.Humanoid(1.74, 68), "she")
    terms, soles = scene.kinematics(), {"she/left_sole": [], "she/right_sole": []}
    for q in clip.configurations(scene):
        terms.place(q)
        for sole, places in soles.items():
            places.append(ip.Frame(scene, sole).pose(terms)[0].copy())
    for sole in soles:
        flat = clip.touching(sole)
        assert flat.any()
        places, still = np.array(soles[sole]), flat[1:] & flat[:-1]
        assert np.abs(np.diff(places, axis=0)[still]).max() < 2e-3
        assert np.abs(places[flat, 2]).max() < 5e-3
    left, right = (
        sum(clip.touching(f"she/{side}_{part}") for part in ("heel", "sole", "toes")) for side in ("left", "right")
    )
    flies = ((left == 0) & (right == 0))[:-1].any()  # at the end of the clip all that touches ends
    assert flies == name.startswith("run")


@pytest.mark.parametrize("name", PERFORMED)
def test_feet_stay_where_they_are(name):
    _, left, right = body_paths(name, "left_sole", "right_sole")
    for foot in (left, right):
        assert np.abs(foot - foot[0]).max() < 1e-3
        assert np.abs(foot[:, 2]).max() < 2e-3
    assert {t.first for t in ip.Clip.load(name).touches} == {"she/left_sole", "she/right_sole"}


def test_they_show_what_they_are_called():
    time, hand, head = body_paths("wave", "right_palm", "head")
    waving = (time > 1.0) & (time < 2.2)
    assert (hand[waving, 2] > head[waving, 2] - 0.15).all()
    assert (np.diff(np.sign(np.diff(hand[waving, 1]))) != 0).sum() >= 4  # to and fro
    _, hand = body_paths("reach", "right_palm")
    assert np.linalg.norm(hand - [0.74, -0.2, 1.32], axis=1).min() < 0.05
    _, pelvis = body_paths("squat", "pelvis")
    assert pelvis[0, 2] - pelvis[:, 2].min() > 0.35
    for name, way in (("dodge_left", 1), ("dodge_right", -1)):
        time, head = body_paths(name, "head")
        aside = way * (head[:, 1] - head[0, 1])
        assert aside.max() > 0.2
        assert time[np.argmax(aside > 0.15)] < 0.6  # quick
        assert abs(aside[-1]) < 0.05
    _, head = body_paths("duck", "head")
    assert head[0, 2] - head[:, 2].min() > 0.22


STANDING = """
models:
  ann: {humanoid: {height: 1.65}}
contacts:
  - {touch: {ann/left_sole: ground, ann/right_sole: ground}}
background:
  - {posture: ann, weight: 0.02}
  - {com: ann, axes: xy, weight: 60}
phases:
  - phase: follow
    objectives:
      - {track: ann, clip: CLIP, begin: 0.1, joints: JOINTS, weights: {elbow: 2}, name: her upper body}
    seconds: 2
"""


@pytest.fixture
def write(tmp_path):
    def of(clip="wave", joints="upper"):
        path = tmp_path / "follow.yaml"
        path.write_text(STANDING.replace("CLIP", clip).replace("JOINTS", joints))
        return path

    return of


def test_a_file_lets_somebody_follow(write):
    sim = scenario(write())().simulation()
    sim.run(1.5)
    tracked = next(o for o in sim.behaviour.objectives if o.label == "her upper body")
    assert np.abs(tracked.error(sim.terms, sim.time)).max() < np.radians(2.0)
    palm, head = (ip.Frame(sim.scene, f"ann/{body}").pose(sim.terms)[0] for body in ("right_palm", "head"))
    assert palm[2] > head[2] - 0.15


def test_a_clip_of_ones_own_lies_beside_the_file(write, tmp_path):
    ip.Clip.load("wave").mirrored().save(tmp_path / "mine" / "left.clip")
    path = write("mine/left.clip", "all")
    assert check(path) == []


@pytest.mark.parametrize(
    ("clip", "joints", "message"),
    [
        ("wafe", "upper", "unknown clip 'wafe'; did you mean 'wave'"),
        ("none.clip", "upper", "no such file"),
        ("../wave.clip", "upper", "in its folder or below"),
        ("wave", "right_elbo", "did you mean 'right_elbow_flexion'"),
    ],
)
def test_mistakes_are_told_with_their_line(write, clip, joints, message):
    (problem,) = check(write(clip, joints))
    assert message in problem.message
    assert problem.line == 12
