"""What happens to recordings: flipped and lost bytes, full disks, two runs at once, interrupts. Nothing goes without a word."""

import errno
import fcntl
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import interplay as ip
from interplay.io import blocks, writer
from interplay.io.certificate import certify
from interplay.io.export import export
from interplay.io.lock import locked
from interplay.io.recorder import Recorder
from interplay.io.recording import Recording
from interplay.io.report import make_report
from interplay.runs.run import run


@pytest.fixture(scope="module")
def sliding(tmp_path_factory):
    """Five seconds of a box that is pushed over the ground, in five blocks."""
    folder = tmp_path_factory.mktemp("sliding")
    scene = ip.Scene().add(ip.Box(mass=5.0), "box")
    sim = ip.Simulation(scene)
    sim.contacts.add("box/bottom", ip.GROUND)
    scene.save(folder / "scene.xml")
    recorder = Recorder(folder / "recording", sim, {"scenario": "sliding"})
    sim.observers.append(recorder)
    sim.live.push("box", (10.0, 0, 0), 2.5)
    sim.run(5.0)
    recorder.close()
    return folder


@pytest.fixture
def damaged(sliding, tmp_path):
    """Returns the recording with what a function makes of its bytes."""
    (tmp_path / "scene.xml").write_bytes((sliding / "scene.xml").read_bytes())

    def make(change):
        raw = bytearray((sliding / "recording").read_bytes())
        (tmp_path / "recording").write_bytes(change(raw))
        return tmp_path

    return make


def step_blocks(folder):
    """Offsets and sizes of the blocks that hold steps."""
    return blocks.survey(folder / "recording").places[2:]


def flip(*places):
    def change(raw):
        for at in places:
            raw[at] ^= 0xFF
        return raw

    return change


def test_a_flipped_byte_costs_its_own_block_alone(sliding, damaged):
    whole, size = Recording(sliding), (sliding / "recording").stat().st_size
    for at in np.linspace(0, size - 1, 24).astype(int):
        found = Recording(damaged(flip(at)))
        assert found.steps in (1000, 800)
        assert bool(found.missing) == (found.steps == 800)
        kept = np.isin(whole["time"], found["time"])
        for name in ("time", "qpos", "qvel", "qacc", "tau", "wrench"):
            assert_array_equal(found[name], whole[name][kept])


def test_what_is_missing_is_said(sliding, damaged):
    places = step_blocks(sliding)
    folder = damaged(flip(places[1][0] + 5, places[2][0] + 9))
    found = Recording(folder)
    assert [str(gap) for gap in found.missing] == ["1.00 s to 3.00 s (400 steps) is damaged and left out"]
    assert found["time"][199] == pytest.approx(0.995)
    assert found["time"][200] == pytest.approx(3.0)
    assert found.continues == [True, False, True]
    report = make_report(found, False, None)
    assert report["missing"] == [{"begin": pytest.approx(1.0), "end": pytest.approx(3.0), "steps": 400}]
    assert report["certificate"]["eom_residual"] < 1e-9
    with pytest.warns(UserWarning, match=re.escape(str(found.missing[0]))):
        export(folder, folder / "run.npz")
    with np.load(folder / "run.npz") as data:
        assert_array_equal(data["time"], found["time"])
    beginning = Recording(damaged(flip(places[0][0] + 5)))
    assert str(beginning.missing[0]) == "0.00 s to 1.00 s (200 steps) is damaged and left out"


def test_the_command_says_what_it_leaves_out(sliding, damaged):
    folder = damaged(flip(step_blocks(sliding)[3][0]))
    command = [sys.executable, "-m", "interplay", "export", folder, folder / "run.npz"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "3.00 s to 4.00 s (200 steps) is damaged and left out" in done.stderr


@pytest.mark.parametrize(
    "change", [lambda raw, at: raw[:at] + raw[at + 7 :], lambda raw, at: raw[:at] + b"xyz" + raw[at:]]
)
def test_lost_and_added_bytes_cost_no_more(change, sliding, damaged):
    begin, size = step_blocks(sliding)[2]
    found = Recording(damaged(lambda raw: change(raw, begin + size // 2)))
    assert found.steps == 800
    assert found.missing[0].begin == pytest.approx(2.0)


def test_a_recording_without_its_header_is_refused(sliding, damaged):
    first, second = blocks.survey(sliding / "recording").places[:2]
    assert Recording(damaged(flip(first[0]))).complete
    with pytest.raises(ip.InputError, match="header"):
        Recording(damaged(flip(first[0], second[0])))
    with pytest.raises(ip.InputError, match="another version"):
        Recording(damaged(lambda raw: b"INTERPLAY2\n" + bytes(100)))


class FullDisk:
    """A file on a disk with room for some bytes."""

    def __init__(self, room, *arguments, **options):
        self._file, self._room = open(*arguments, **options), room  # noqa: SIM115

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, data):
        if not self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._file.write(data[: self._room])
        self._room -= written
        return written


def test_a_full_disk_ends_a_run_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "open", functools.partial(FullDisk, 120_000), raising=False)
    report = run("stand", tmp_path, seconds=20.0)
    found = Recording(tmp_path)
    assert "No space left on device" in report["failure"]
    assert f"the {found.steps} steps before" in report["failure"]
    assert found.complete
    assert found.steps == report["steps"] >= 200
    monkeypatch.undo()
    assert run("stand", tmp_path, seconds=found.steps * 0.005 + 0.5, resume=True)["steps"] == found.steps + 100


def test_a_disk_that_is_full_from_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "open", functools.partial(FullDisk, 3), raising=False)
    with pytest.raises(ip.InterplayError, match="No space left") as caught:
        run("stand", tmp_path, seconds=1.0)
    assert not isinstance(caught.value, ip.InputError)  # nobody's input is wrong: the command ends with 1


def test_a_folder_belongs_to_one_run(tmp_path):
    run("stand", tmp_path, seconds=0.1)
    before = (tmp_path / "recording").read_bytes()
    for resume in (False, True):
        with locked(tmp_path), pytest.raises(ip.InputError, match="another run is writing"):
            run("stand", tmp_path, seconds=0.2, resume=resume)
    assert (tmp_path / "recording").read_bytes() == before


def test_a_killed_run_leaves_no_lock(tmp_path):
    hold = "import fcntl, os, sys, time; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print(1, flush=True); time.sleep(99)"
    process = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout.readline()
    with pytest.raises(ip.InputError, match="another run"), locked(tmp_path):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    with locked(tmp_path):
        handle = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_where_it_stands_and_how_to_go_on(tmp_path):
    out = tmp_path / "my run"
    command = [sys.executable, "-m", "interplay", "run", "stand", "--out", str(out), "--seconds", "600", "--seed", "5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 120
    while time.time() < deadline and (not (out / "recording").exists() or (out / "recording").stat().st_size < 60_000):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    found, report = Recording(out), json.loads((out / "report.json").read_text())
    assert found.complete
    assert not report["finished"]
    assert report["failure"] == "interrupted"
    assert report["end"] == pytest.approx(found.steps * 0.005)
    assert f"interrupted at {report['end']:g} s" in said
    assert f"interplay run stand --out '{out}' --seconds 600 --resume" in said
    again = run("stand", out, seconds=report["end"] + 0.1, resume=True)
    assert again["steps"] == report["steps"] + 20
    assert certify(Recording(out)).laws["eom_residual"] < 1e-9


def test_what_fails_before_the_first_step_is_said(tmp_path, monkeypatch):
    def broken(*_):
        raise ip.SolverError("no solution")

    monkeypatch.setattr("interplay.control.integrated.IntegratedController.solve", broken)
    with pytest.raises(ip.InterplayError, match="no solution"):
        run("stand", tmp_path, seconds=1.0)
