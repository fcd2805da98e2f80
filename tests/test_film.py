"""Films, stills and tables: what is written reads back, cameras stand where they were asked to, and bad input is named."""

import csv
import json
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from PIL import Image

import interplay as ip
from interplay.errors import InputError, InterplayError
from interplay.io.export import export
from interplay.io.formats.base import whole_file
from interplay.io.formats.palette import reduced
from interplay.io.formats.pictures import Pictures
from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.runs.run import run
from interplay.view import look
from interplay.view.camera import Camera, axes_of
from interplay.view.painting import GraphicsError, painter
from interplay.view.shade import soft_shade

TINY = {"size": "64x48", "fps": 10, "seconds": 0.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stand")
    run("stand", folder, seconds=1.2, dt=0.02)
    return folder


@pytest.fixture(scope="module")
def recording(folder):
    return Recording(folder)


@pytest.fixture(scope="module")
def opengl():
    try:
        with painter(ip.Scene().add(ip.Ball(0.1), "ball").model, 16, 16):
            pass
    except GraphicsError as error:
        pytest.skip(str(error))


# -- what is written ---------------------------------------------------------------------------------------------------


def test_an_mp4_reads_back(folder, tmp_path, opengl):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    done = []
    export(folder, tmp_path / "film.mp4", progress=done.append, **TINY)
    frames = ffmpeg.read_frames(str(tmp_path / "film.mp4"))
    meta = next(frames)
    assert meta["source_size"] == (64, 48)
    assert meta["fps"] == 10
    assert meta["duration"] == pytest.approx(0.5, abs=0.01)
    pictures = [np.frombuffer(frame, np.uint8).reshape(48, 64, 3).astype(float) for frame in frames]
    assert len(pictures) == 5
    export(folder, tmp_path / "still.png", frames=1, captions=False, size="64x48")
    still = np.asarray(Image.open(tmp_path / "still.png").convert("RGB"), float)
    assert np.abs(pictures[0] - still).mean() < 4  # the same picture, in the same colours
    assert done == sorted(done)
    assert done[-1] > 0.7
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["film.mp4", "still.png"]


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_what_plays_by_itself_reads_back(ending, folder, tmp_path, opengl):
    export(folder, tmp_path / f"film.{ending}", **{**TINY, "fps": 8})
    film = Image.open(tmp_path / f"film.{ending}")
    assert film.size == (64, 48)
    lengths = []
    for k in range(film.n_frames):
        film.seek(k)
        film.load()
        lengths.append(film.info["duration"])
    assert sum(lengths) == pytest.approx(500, abs=5)
    assert film.n_frames == 4
    assert film.info["loop"] == 0


def test_a_webp_is_as_small_as_it_must_be(folder, tmp_path, opengl):
    export(folder, tmp_path / "large.webp", **TINY)
    large = (tmp_path / "large.webp").stat().st_size
    export(folder, tmp_path / "small.webp", megabytes=0.8e-6 * large, **TINY)
    assert (tmp_path / "small.webp").stat().st_size <= 0.8 * large
    with pytest.raises(InputError, match="are the least of 5 frames"):
        export(folder, tmp_path / "none.webp", megabytes=1e-5, **TINY)
    assert not (tmp_path / "none.webp").exists()


def test_a_strip_and_a_still_have_the_size_asked_for(folder, tmp_path, opengl):
    export(folder, tmp_path / "strip.png", frames=3, columns=2, size="40x30")
    assert Image.open(tmp_path / "strip.png").size == (80, 60)
    export(folder, tmp_path / "still.png", frames=1, begin=0.6, size="40x30")
    assert Image.open(tmp_path / "still.png").size == (40, 30)


def test_nothing_half_written_is_left(tmp_path):
    (tmp_path / "film.mp4").write_text("before")

    def fail():
        with whole_file(tmp_path / "film.mp4") as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_text() == "before"


def test_a_table_holds_the_recording(folder, recording, tmp_path):
    export(folder, tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        header, *rows = csv.reader(file)
    m = recording.model
    free = next(m.joint(j).name for j in range(m.njnt) if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE)
    hinge = next(m.joint(j).name for j in range(m.njnt) if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE)
    assert header[:2] == ["time [s]", "phase"]
    assert header[2:9] == [f"{free} {part}" for part in ("x [m]", "y [m]", "z [m]", "qw", "qx", "qy", "qz")]
    assert f"{hinge} [rad]" in header
    assert [row[1] for row in rows] == recording.phases
    numbers = np.array([[float(v) for v in (row[0], *row[2:])] for row in rows])
    np.testing.assert_array_equal(numbers[:, 0], recording["time"])
    np.testing.assert_array_equal(numbers[:, 1:], recording["qpos"])
    assert numbers.shape[1] + 1 == len(header)

    export(folder, tmp_path / "fine.csv", fps=125)
    with open(tmp_path / "fine.csv", newline="") as file:
        times = [float(row[0]) for row in csv.reader(file) if row[1] != "phase"]
    np.testing.assert_allclose(np.diff(times), 1 / 125)


@pytest.mark.parametrize("name", ["events.json", "stand.events.json"])
def test_events_are_plain_data(name, folder, recording, tmp_path):
    export(folder, tmp_path / name, fps=20)
    events = json.loads((tmp_path / name).read_text())
    assert [phase["name"] for phase in events["phases"]] == list(dict.fromkeys(recording.phases))
    assert sorted(event["event"] for event in events["feet"]) == ["down", "down"]
    weight = 9.81 * recording.model.body_subtreemass[1]
    carried = sum(contact["force"][0][2] for contact in events["contacts"])
    assert carried == pytest.approx(weight, rel=0.2)


# -- moments and cameras -----------------------------------------------------------------------------------------------


def test_between_steps_is_halfway_on_the_manifold(recording):
    moments, time, q = Moments(recording), recording["time"], recording["qpos"]
    np.testing.assert_array_equal(moments.qpos(float(time[20])), q[20])
    np.testing.assert_array_equal(moments.qpos(99.0), q[-1])
    half = moments.qpos(float(time[20] + time[21]) / 2)
    one, two = np.empty(recording.model.nv), np.empty(recording.model.nv)
    mujoco.mj_differentiatePos(recording.model, one, 1.0, q[20], half)
    mujoco.mj_differentiatePos(recording.model, two, 1.0, half, q[21])
    np.testing.assert_allclose(one, two, atol=1e-9)
    assert np.linalg.norm(half[3:7]) == pytest.approx(1.0, abs=1e-12)


def _shot(recording, share=0, **options):
    times = np.linspace(0, 1, 11).tolist()
    return Pictures(**options).shots(Moments(recording), times, (48, 64))[round(10 * share)]


def test_cameras_look_as_asked(recording):
    own = recording.camera
    np.testing.assert_allclose(axes_of(_shot(recording, camera="front"))[0][:2], [-np.cos(np.radians(8)), 0], atol=1e-9)
    assert axes_of(_shot(recording, camera="side"))[0][1] == pytest.approx(np.cos(np.radians(8)))
    assert axes_of(_shot(recording, camera="top"))[0][2] < -0.999
    turned = axes_of(_shot(recording, azimuth=30, elevation=-20))[0]
    expected = np.cos(np.radians(20)) * np.cos(np.radians(30)), np.cos(np.radians(20)) / 2, -np.sin(np.radians(20))
    np.testing.assert_allclose(turned, expected, atol=1e-9)
    one, two = _shot(recording), _shot(recording, distance=2 * own.distance)
    np.testing.assert_allclose(two.position - two.look_at, 2 * (one.position - one.look_at))
    orbit = [_shot(recording, k / 10, camera="orbit") for k in range(11)]
    angles = np.unwrap([np.arctan2(*axes_of(shot)[0][1::-1]) for shot in orbit])
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / 11)


def test_a_camera_that_follows_is_calm():
    """Of a walk it keeps the way, not the sway: at 30 frames a second it moves evenly."""
    model = ip.Scene().add(ip.Ball(0.1), "ball").model

    class Walk:
        camera, header = Camera(), {"dt": 1 / 60}

        def __init__(self):
            self.model = model

    class Swaying(Moments):
        def __init__(self):
            self.recording = Walk()

        def qpos(self, time):
            return np.array([time, 0.05 * np.sin(2 * np.pi * 1.5 * time), 0.1, 1, 0, 0, 0])

    times = (np.arange(150) / 30).tolist()
    shots = Pictures(follow="ball", distance=3.0).shots(Swaying(), times, (64, 48))
    way = np.array([shot.look_at[:2] for shot in shots])[45:-45]
    assert np.abs(way[:, 1]).max() < 0.002
    np.testing.assert_allclose(np.diff(way[:, 0]) * 30, 1.0, atol=0.01)
    np.testing.assert_allclose(way[:, 0], times[45:-45], atol=0.01)


def test_a_wide_picture_is_taken_from_closer_and_shows_all(recording):
    moments, times = Moments(recording), [0.0, 0.5, 1.0]
    far = Pictures(camera=Camera(lookat=(0, 0, 0.9), distance=4.0))
    tall, wide = (far.shots(moments, times, size)[0] for size in ((48, 64), (128, 72)))
    assert np.linalg.norm(wide.position - wide.look_at) < np.linalg.norm(tall.position - tall.look_at)
    d = mujoco.MjData(recording.model)
    d.qpos[:] = moments.qpos(0.0)
    mujoco.mj_kinematics(recording.model, d)
    forward, right, up = axes_of(wide)
    offset = d.xpos[1:] - wide.position
    half = np.tan(wide.fov / 2)
    assert np.abs((offset @ up) / (offset @ forward)).max() < half
    assert np.abs((offset @ right) / (offset @ forward)).max() < half * 128 / 72


# -- the look ----------------------------------------------------------------------------------------------------------


def test_bodies_stand_on_soft_shade(opengl):
    """Below a ball on the ground it is dark, and the darkness has no edge; without shadows there is none."""
    model = ip.Scene().add(ip.Ball(0.1), "ball").model
    camera, qpos = Camera(lookat=(0, 0, 0), distance=1.2, azimuth=56, elevation=-35), np.array([0, 0, 0.1, 1, 0, 0, 0])
    with painter(model, 160, 120) as artist:
        shaded = artist.frame(qpos, camera).astype(int).sum(axis=2)
    with painter(model, 160, 120, shadows=False) as artist:
        plain = artist.frame(qpos, camera).astype(int).sum(axis=2)
    with painter(model, 160, 120, shadows=False) as artist:
        empty = artist.frame(np.array([0, 0, -9.0, 1, 0, 0, 0]), camera).astype(int).sum(axis=2)
    ground = plain == empty
    taken = np.where(ground, plain - shaded, 0)
    assert taken.min() >= 0
    assert taken.max() > 60
    beside = ground[:, 1:] & ground[:, :-1]
    assert np.abs(np.diff(taken, axis=1))[beside].max() < 0.35 * taken.max()


def test_a_shade_is_softer_the_higher_its_body_is():
    def edge(height):
        heights = np.full((200, 200), np.inf, np.float32)
        heights[50:150, 50:150] = height
        return np.abs(np.diff(soft_shade(heights, 0.01, look.SHADED[0])[100])).max()

    assert edge(0.0) > 2 * edge(0.4) > 4 * edge(1.5)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["big", "640", "640x", "8x8", "64x99999", "-64x48", ""])
def test_a_wrong_size_is_named(size, folder, tmp_path):
    with pytest.raises(InputError, match="expected WIDTHxHEIGHT"):
        export(folder, tmp_path / "film.gif", size=size)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"begin": 9.0}, "before the recording's end at 1.20 s"),
        ({"begin": 0.5, "end": 0.2}, "after the beginning at 0.5 s"),
        ({"end": 0.5, "seconds": 0.5}, "one of the two"),
        ({"fps": 0}, "greater than or equal to 1"),
        ({"seconds": -1}, "greater than 0"),
        ({"camera": "sideways"}, "camera"),
        ({"camera": "follow"}, "--follow alice"),
        ({"follow": "nobody"}, "unknown model or body to follow 'nobody'"),
        ({"sice": "64x48"}, "did you mean 'size'"),
        ({"size": "4096x4096", "fps": 240}, "choose fewer --seconds"),
    ],
)
def test_bad_options_are_named(options, message, folder, tmp_path):
    with pytest.raises(InputError, match=message):
        export(folder, tmp_path / "film.gif", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_mp4_says_what_it_needs(folder, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="even numbers"):
        export(folder, tmp_path / "film.mp4", size="65x48")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InterplayError, match=r"pip install 'interplay\[exchange\]'"):
        export(folder, tmp_path / "film.mp4", **TINY)


def test_few_colours_are_the_nearest():
    picture = Image.fromarray(np.round(255 * look.backdrop(400))[:, None].astype(np.uint8))
    few = picture.quantize(16)
    shown, there = (np.asarray(p.convert("RGB")).astype(int)[:, 0] for p in (reduced(picture, few), picture))
    table = np.reshape(few.getpalette(), (-1, 3))
    nearest = np.linalg.norm(there[:, None] - table, axis=2).min(axis=1)
    np.testing.assert_allclose(np.linalg.norm(shown - there, axis=1), nearest)


def test_pictures_whichever_is_imported_first(folder, opengl, tmp_path):
    order = "import mujoco, sys, interplay.io.export as x; x.export(sys.argv[1], sys.argv[2], frames=1, size='32x32')"
    subprocess.run([sys.executable, "-c", order, folder, tmp_path / "still.png"], check=True)
    assert Image.open(tmp_path / "still.png").size == (32, 32)


def test_the_thickest_circle_decides_how_many_corners_there_are(opengl):
    def corners(radius):
        with painter(ip.Scene().add(ip.Ball(radius), "ball").model, 16, 16) as artist:
            return artist._model.vis.quality.numslices

    for radius in (0.05, 0.2):
        assert radius * (1 - np.cos(np.pi / corners(radius))) < 0.0011
    assert corners(0.05) < corners(0.2) < corners(0.8) <= 64
