"""The command line, as a user calls it."""

import json
import subprocess
import sys

import pytest
from PIL import Image
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app, main
from interplay.runs.summary import grouped


def interplay(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "interplay", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "stand"
    done = interplay("run", "stand", "--out", out, "--seconds", "1", "--set", "height=1.6", "--seed", "4")
    assert done.returncode == 0, done.stderr
    return out


def test_run_writes_what_it_promises(folder):
    assert {p.name for p in folder.iterdir()} == {"recording", "scene.xml", "report.json"}
    report = json.loads((folder / "report.json").read_text())
    assert report["parameters"]["height"] == 1.6
    assert set(report) >= {
        "scenario",
        "parameters",
        "dt",
        "steps",
        "sim_seconds",
        "finished",
        "states_visited",
        "fallbacks",
        "relaxed",
        "timing",
        "size",
        "certificate",
        "conflicts",
    }
    assert set(report["timing"]) == {"median_ms", "p99_ms", "max_ms", "model_ms", "assemble_ms", "solve_ms"}


def test_export_strip_and_page(folder):
    done = interplay("export", folder, folder / "strip.png", "--frames", "3", "--columns", "3")
    if done.returncode == 1 and "OpenGL" in done.stderr:
        pytest.skip("no OpenGL here: film strips cannot be drawn")
    assert done.returncode == 0, done.stderr
    image = Image.open(folder / "strip.png")
    assert image.size == (3 * 360, 400)
    assert len(image.convert("RGB").resize((64, 64)).getcolors(5000)) > 50
    assert interplay("export", folder, folder / "page.html").returncode == 0
    page = (folder / "page.html").read_text()
    assert "<html" in page[:500].lower()
    assert len(page) > 200_000


def test_resume_from_the_command_line(folder):
    done = interplay("run", "stand", "--out", folder, "--seconds", "1.5", "--resume")
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "report.json").read_text())["steps"] == 300


def test_list_shows_what_there_is():
    done = interplay("list")
    assert done.returncode == 0
    for word in ("stand", "box", "door.yaml", "delay", "dodge_left", "wave.yaml"):
        assert word in done.stdout


def test_list_describes_scenarios_with_parameters_and_controls():
    done = CliRunner().invoke(app, ["list", "door", "stand"])
    assert done.exit_code == 0
    for word in ("door", "stand", "knob", "[rad]", "live"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "dor", "--out", "x"), "did you mean 'door'"),
        (("run", "door", "--out", "x", "--seconds", "1e400"), "seconds"),
        (("run", "door", "--out", "x", "--seed", "1" + 400 * "0"), "seed"),
        (("run", "door", "--out", "x", "--set", "mass=1" + 400 * "0"), "mass"),
        (("export", "nowhere", "x.png", "--frames", "1" + 400 * "0"), "frames: Input should be less"),
        (("run", "door", "--out", "x", "--set", "opn=1"), "did you mean 'open'"),
        (("run", "door", "--out", "x", "--set", "open"), "KEY=VALUE"),
        (("run", "door", "--out", "x", "--seconds", "soon"), "--seconds"),
        (("run", "door", "--out", "x", "--dt", "0"), "dt"),
        (("run", "door", "--out", "x", "--solver", "magic"), "piqp"),
        (("run", "door", "--out", "x", "--controller", "magic"), "independent"),
        (("compare", "dor", "--out", "x"), "did you mean 'door'"),
        (("run", "door", "--out", "x", "--targets", "none.csv"), "none.csv"),
        (("run", "door", "--out", "x", "--resume"), "no recording"),
        (("run", "door", "--out", "x", "--seed", "-3"), "seed"),
        (("export", "nowhere", "x.npz"), "no recording"),
        (("export", "nowhere", "x.gfi"), "did you mean '.gif'"),
        (("bench", "dor"), "door"),
        (("bench", "door", "--steps", "1"), "steps"),
        (("bench", "ring:n"), "KEY=VALUE"),
        (("run", "stand", "--out", "x", "--character", "gone.yaml"), "gone.yaml"),
        (("sidecar", "gone.xml"), "gone.xml"),
        (("dance",), "dance"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(arguments, words, tmp_path, monkeypatch, capfd):
    """In this process: a new one takes two seconds to begin, and does the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["interplay", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    said = capfd.readouterr().err
    assert end.value.code == 2
    assert words in said
    assert len(said.strip().splitlines()) <= 3


def test_bad_input_in_a_process_of_its_own(tmp_path):
    done = interplay("run", "dor", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'door'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_fails_ends_with_1(tmp_path):
    """A heavy box is too slippery to be lifted between two palms: its phase times out."""
    done = interplay("run", "box", "--out", tmp_path, "--dt", "0.02", "--set", "mass=15", "--set", "friction=0.3")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["failure"]
    assert not report["finished"]
    assert done.returncode == 1
    assert "failed" in done.stderr


def test_help_helps():
    runner = CliRunner()
    for command in (
        (),
        ("list",),
        ("run",),
        ("play",),
        ("check",),
        ("export",),
        ("sidecar",),
        ("compare",),
        ("bench",),
        ("trials",),
    ):
        long, short = (runner.invoke(app, [*command, option]) for option in ("--help", "-h"))
        assert long.exit_code == short.exit_code == 0
        assert len(long.output) > 150
        assert long.output == short.output


def test_the_version_is_told():
    done = interplay("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"interplay {ip.__version__}")


def test_a_run_needs_no_folder(tmp_path):
    done = interplay("run", "stand", "--seconds", "0.05", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "stand" / "report.json").is_file()


def test_sub_phases_are_grouped():
    walk = [f"walk: {what}" for what in ("begin", "lift left 1", "land left 1")]
    assert grouped(["bend", *walk, "lower", *walk[:2]]) == ["bend", "walk (3 phases)", "lower", *walk[:2]]
    both = ["ann: walk: lift, bob: wait", "ann: walk: land, bob: wait", "ann: rest, bob: wait"]
    assert grouped(both) == both


def test_bench_runs_whole_scripts(tmp_path):
    """Table 1 at the paper's step, all phases timed, jumps at phase changes and within."""
    done = interplay("bench", "door", "--problems", "0", "--solver", "active_set", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads((tmp_path / "bench.json").read_text())
    assert len(entry["phases"]) > 3
    assert len(entry["trace_ms"]) == entry["steps"] > 2000
    assert (entry["paper_qp"], entry["paper_eq"], entry["paper_ineq"]) == (116, 74, 93)
    assert entry["min_ms"] <= entry["median_ms"] <= entry["p99_ms"] <= entry["max_ms"]
    for jump in entry["smoothness"].values():
        assert 0 < jump["within"] < jump["at_changes"]
    report = (tmp_path / "bench.md").read_text()
    for word in ("Table 1", "116 / 116", "0.89 /", "smoothness", "(bench.png)", "(size.png)"):
        assert word in report
    assert Image.open(tmp_path / "size.png").size[0] > 500


def test_bench_writes_tables_and_figures(tmp_path):
    options = ("--steps", "50", "--problems", "20", "--solver", "active_set", "--solver", "daqp", "--out", tmp_path)
    done = interplay("bench", "stand", "ring:n=1", "ring:n=2", *options)
    assert done.returncode == 0, done.stderr
    entries = json.loads((tmp_path / "bench.json").read_text())
    assert [e["case"] for e in entries] == ["stand", "ring:n=1", "ring:n=2"]
    for entry in entries:
        assert entry["solvers"].keys() == {"active_set", "daqp"}
        assert entry["solvers"]["daqp"]["failures"] == 0
        assert entry["agreement"]["qacc"] < 1e-3
        assert entry["agreement"]["safeguards"] == 0
    for figure in ("bench.png", "scaling.png"):
        assert Image.open(tmp_path / figure).size[0] > 500
    assert "whole control step" in (tmp_path / "bench.md").read_text()


def test_sidecar_writes_a_first_sidecar_once(tmp_path):
    scene = ip.Scene(ground=False).add(ip.Humanoid(), "x")
    file = scene.save(tmp_path / "body.xml")
    done = interplay("sidecar", file)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "body.yaml").read_text()
    assert "# guess" in text
    assert "left_sole" in text
    again = interplay("sidecar", file)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert interplay("sidecar", file, "--force", "--root", "x/pelvis").returncode == 0
