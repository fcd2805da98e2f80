"""Ctrl-C at any time leaves a motion that plays, honestly marked, or a clear word; never half a file, never a traceback."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay import cli_compose
from interplay.cli import app

pytest.importorskip("casadi")

from interplay.spacetime import actions, performing
from interplay.spacetime.body import Body
from interplay.spacetime.gaits import guess, half_cycle, paced
from interplay.spacetime.interrupting import Unfinished, asked, listening, unheard
from interplay.spacetime.problem import Problem, Role, find
from interplay.spacetime.styles import style


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_asks_and_the_second_does_what_it_would_have_done():
    heard = []
    with listening(lambda: heard.append("heard")):
        with listening(lambda: heard.append("within another one nobody else is told")):
            interrupt()
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert heard == ["heard"]
    assert not asked()
    with unheard():
        interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def left(folder):
    """Return the report of what an interrupt left, which plays."""
    recording = ip.Recording(folder)
    assert np.isfinite(recording["qpos"]).all()
    assert ip.Clip.load(folder).duration > 0.3
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("moment", ["loading", "a gait", "the whole"])
def test_whenever_it_comes_there_is_a_motion(moment, monkeypatch, tmp_path):
    """While it loads, at the first iteration of a gait, and before the whole is solved, of gaits as they are guessed."""
    if moment == "loading":
        load = cli_compose._kind
        monkeypatch.setattr(cli_compose, "_kind", lambda name: (interrupt(), load(name))[1])
    if moment == "a gait":
        gait = actions.gait

        def told(body, kind, speed, progress, **given):
            def show(iteration, *rest):
                progress(iteration, *rest)
                if iteration == 1:
                    interrupt()

            return gait(body, kind, speed, show, **given)

        monkeypatch.setattr(actions, "gait", told)
    if moment == "the whole":
        monkeypatch.setattr(actions.Gaits, "__init__", lambda self, body, *_: gaits(self, body))

        def gaits(self, body):
            self.body, self.progress, self.crude, self._found = body, None, True, {}

        from interplay.spacetime.problem import Stage

        blocks = Stage.blocks
        monkeypatch.setattr(Stage, "blocks", lambda self: (interrupt(), blocks(self))[1])
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["compose", "walk_to_run", "--out", str(out)])
    assert done.exit_code == 130, done.output
    assert "not solved (interrupted)" in done.output.replace("\n", " ")
    report = left(out)
    assert not report["solved"]
    assert report["solver"][-1]["status"] == "interrupted"


def test_what_is_written_is_written_whole(monkeypatch, tmp_path):
    """An interrupt while files are written changes nothing."""
    write = performing.write_recording
    monkeypatch.setattr(
        performing, "write_recording", lambda *args, **given: (interrupt(), write(*args, **given), interrupt())
    )
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["compose", "walk", "--set", "steps=2", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert left(out)["solved"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["walk", "walk_to_run", "hand_in_hand", "tackled"])
def test_a_command_that_is_interrupted_at_any_moment(name, tmp_path):
    rng = random.Random(name)
    for k in range(6):
        out, wait = tmp_path / str(k), rng.uniform(0.3, 30.0)
        process = subprocess.Popen(
            [sys.executable, "-m", "interplay", "compose", name, "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        said = "\n".join(process.communicate(timeout=300))
        assert "Traceback" not in said, (wait, said)
        assert process.returncode in (0, 130), (wait, said)
        if out.exists():
            left(out)
        else:
            assert "interrupted" in said, (wait, said)


def test_what_takes_long_to_say_of_a_motion_is_given_up_and_the_motion_is_kept():
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68.0), "ann"), "ann")
    phases = paced(body, "walk", 1.3)
    role = Role(body, phases, style(body, "walk", speed=1.3), guess(body, phases, 1.3))

    def said(_):
        raise Unfinished

    with listening():
        interrupt()
        found = find(Problem({"ann": role}, [half_cycle("ann", 1.3)]), meshes=1)
        performed = performing.perform("walk", found, between=said)
    assert performed.between == {}
    assert np.isfinite(performed.clip().motions["ann"].root).all()
