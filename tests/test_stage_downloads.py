"""Downloads from the stage: the record of what has been played, and its exports, one at a time."""

import errno
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from interplay.io import writer
from interplay.io.clips.bvh import read_bvh
from interplay.io.recording import Recording
from interplay.motion.targets import read_targets
from interplay.runs.run import run
from interplay.stage import downloads, record
from interplay.stage.downloads import Downloads
from interplay.stage.messages import Fetch, Play, Played, Push, Reset, Seek
from stage_tools import House


def fetched(house, folder):
    """Return the answer to a Fetch into a new folder."""
    folder.mkdir()
    house.do(Fetch(7, str(folder)))
    answer = house.said[-1]
    assert isinstance(answer, Played)
    assert answer.order == 7
    return answer


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


# -- the record --------------------------------------------------------------------------------------------------------


def test_what_was_played_is_recorded_as_a_run_is(tmp_path):
    house = House("stand").do(Play()).wait(0.3)
    house.do(Push("alice/chest", (0, 0, 0.1), (5.0, 0, 0))).wait(0.9)
    played = fetched(house, tmp_path / "a")
    assert played.name == f"stand_0-{round(house.sim.time, 1):g}s"
    live = Recording(played.folder)
    assert live.complete
    assert live["time"][-1] == pytest.approx(house.sim.time - house.sim.dt)
    (tmp_path / "in.csv").write_text(house.performer.act.targets())
    assert [t.control for t in live.inputs] == [t.control for t in read_targets(tmp_path / "in.csv", house.sim)]
    run("stand", tmp_path / "run", seconds=house.sim.time, targets=tmp_path / "in.csv")
    again = Recording(tmp_path / "run")
    assert again.phases == live.phases
    assert again.contact_sets == live.contact_sets
    for name in ("time", "qpos", "wrench"):
        np.testing.assert_allclose(live[name], again[name], atol=1e-6)


def test_the_record_follows_the_performance_back_and_on_another_way(tmp_path):
    house = House("stand").do(Play()).wait(1.4)
    first = Recording(fetched(house, tmp_path / "a").folder)
    house.do(Seek(0.7)).wait(0.1)
    assert Recording(fetched(house, tmp_path / "b").folder).steps == first.steps  # looking back takes nothing back
    house.do(Play(), Push("alice/chest", (0, 0, 0.1), (5.0, 0, 0))).wait(0.5)
    other = Recording(fetched(house, tmp_path / "c").folder)
    assert other.complete
    assert other["time"][-1] == pytest.approx(house.sim.time - house.sim.dt)
    apart = np.abs(other["qpos"] - first["qpos"][: other.steps]).max(axis=1)
    same = other["time"] < 0.7
    assert apart[same].max() < 1e-9
    assert apart[-1] > 1e-4
    assert np.abs(np.diff(other["qpos"], axis=0)).max() < 0.05  # one motion, without a jump
    house.do(Reset())
    assert fetched(house, tmp_path / "d").problem == "nothing has been played yet"
    house.do(Play()).wait(0.2)
    assert Recording(fetched(house, tmp_path / "e").folder)["time"][0] == 0.0


def test_a_full_disk_ends_the_record_not_the_performance(tmp_path, monkeypatch):
    house = House("stand").do(Play()).wait(0.6)

    def full(self, data):
        self._file.close()
        raise writer.cannot_write(self.path, OSError(errno.ENOSPC, "No space left on device"))

    with monkeypatch.context() as broken:
        broken.setattr(writer.Writer, "_append", full)
        house.wait(0.5)
    assert any("only the first" in text and "No space left" in text for text in house.notices("warning"))
    assert house.frame.time > 1.0
    assert not house.frame.ended
    assert Recording(fetched(house, tmp_path / "a").folder).steps * house.sim.dt == pytest.approx(0.5)
    house.do(Reset(), Play()).wait(0.7)
    assert Recording(fetched(house, tmp_path / "b").folder).steps * house.sim.dt == pytest.approx(house.sim.time)


def test_a_record_does_not_grow_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "LONGEST", 0.9)
    house = House("stand").do(Play()).wait(1.2)
    assert any("only the first 1 s can be downloaded" in text for text in house.notices("warning"))
    assert fetched(house, tmp_path / "a").name == "stand_0-1s"
    folder = house.performer.act._record._folder
    house.performer.close()
    assert not folder.exists()


def test_where_nothing_can_be_written_one_can_still_play(tmp_path, monkeypatch):
    monkeypatch.setattr(record.tempfile, "mkdtemp", no_room)
    house = House("stand").do(Play()).wait(0.6).do(Seek(0.2), Play()).wait(0.3)
    assert house.frame.time > 0.4
    assert "No space left" in fetched(house, tmp_path / "a").problem
    house.performer.close()


# -- exports -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The folder of a short run."""
    folder = tmp_path_factory.mktemp("short")
    run("stand", folder, seconds=0.1)
    return folder


class Desk:
    """Downloads whose performer is the test."""

    def __init__(self):
        self.asked, self.sent = [], []
        self.downloads = Downloads(self.asked.append, self.sent.append)

    def until(self, true, seconds=60.0):
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "waited in vain"
            self.downloads.turn()
            time.sleep(0.02)

    def see(self, client=1, holds=False):
        return self.downloads.seen_by(client, holds)


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.downloads.close()


def test_motion_films_and_errors_come_through_the_pipe(short, tmp_path, monkeypatch):
    said = []
    pipe = SimpleNamespace(send=said.append)
    monkeypatch.setattr(downloads.os, "nice", lambda _: None)  # not of the tests' own process
    monkeypatch.setattr(downloads.signal, "signal", lambda *_: None)
    downloads.make(pipe, str(short), str(tmp_path / "stand.bvh"))
    assert len(read_bvh(said[-1].path).values) == 3
    downloads.make(pipe, str(short), str(tmp_path / "stand.mp4"))
    assert Path(said[-1].path).read_bytes()[4:8] == b"ftyp"
    assert 0.0 < said[-2] < 1.0  # how far it is
    downloads.make(pipe, str(tmp_path / "gone"), str(tmp_path / "gone.bvh"))
    assert "gone" in said[-1]
    with monkeypatch.context() as broken:
        broken.setattr(downloads, "export", no_room)
        downloads.make(pipe, str(short), str(tmp_path / "stand.bvh"))
    assert said[-1] == "OSError: [Errno 28] No space left on device"
    monkeypatch.setitem(sys.modules, "pygltflib", None)
    downloads.make(pipe, str(short), str(tmp_path / "stand.glb"))
    assert "pip install 'interplay[exchange]'" in said[-1]


def test_one_at_a_time_and_who_asked_may_cancel(desk, short):
    for client in range(1000):
        desk.downloads.ask(client, "mp4")
    assert len(desk.asked) == 1
    assert desk.see(0) == ("what has been played · 0 %", 0.0, False, True)
    desk.downloads.make(Played(0, str(short), "stand"))
    order = desk.downloads._order
    folder, process = order.folder.name, order._process
    assert desk.see(0).may_cancel
    assert desk.see(5) == ("wait: another browser's download · 0 %", 0.0, False, False)
    desk.downloads.cancel(5, holds=False)
    assert desk.see(0).done is not None
    desk.downloads.cancel(5, holds=True)
    assert desk.see(0).text == "cancelled"
    assert not process.is_alive()
    assert not Path(folder).exists()
    desk.downloads.make(Played(0, str(short), "stand"))  # an answer that comes too late
    assert desk.see(0).done is None
    desk.downloads.ask(3, "glb")
    desk.downloads.leave(3)
    assert desk.see(3) == downloads.DownloadView()


def test_what_goes_wrong_is_said(desk, short, monkeypatch):
    for bad in ("exe", "", None, ["glb"], "../glb"):
        desk.downloads.ask(1, bad)
        assert desk.see().failed
        assert not desk.asked
    desk.downloads.ask(1, "glb")
    desk.downloads.make(Played(0, "", "", "nothing has been played yet"))
    assert desk.see() == ("nothing has been played yet", None, True, False)
    desk.downloads.ask(1, "glb")
    desk.downloads.make(Played(1, str(short), "stand"))
    desk.downloads._order._process.kill()
    desk.until(lambda: desk.see().done is None)
    assert desk.see().text == "stand.glb could not be made: its process ended (-9)"
    monkeypatch.setattr(downloads.tempfile, "TemporaryDirectory", no_room)
    desk.downloads.ask(1, "glb")
    assert "No space left" in desk.see().text


def test_several_files_come_in_a_zip_and_the_largest_do_not_come(desk, short, tmp_path, monkeypatch):
    out = tmp_path / "duet.bvh"
    parts = [tmp_path / f"duet_{name}.bvh" for name in ("ann", "bob")]
    for part in parts:
        part.write_text(part.stem)
    monkeypatch.setattr(downloads, "export", lambda *_: parts)
    made = downloads._exported(None, str(short), out)
    with zipfile.ZipFile(made.path) as file:
        assert {name: file.read(name).decode() for name in file.namelist()} == {p.name: p.stem for p in parts}
    monkeypatch.setattr(downloads, "LARGEST", 100)
    desk.downloads.ask(1, "bvh")
    view = desk.downloads._hand_out(desk.downloads._order, made)
    assert view.failed
    assert "too many for a browser" in view.text
    assert not desk.sent
