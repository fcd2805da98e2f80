"""Scenario files: what can be said, what is refused and how, what is written back."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import interplay as ip
from interplay.catalogue import FILES, check, registry, scenario
from interplay.cli import app
from interplay.io.recording import Recording
from interplay.objectives.base import Gains
from interplay.runs.run import finished, run
from interplay.script.entries import FAMILIES
from interplay.script.reader import DEEPEST, LARGEST, MOST_NODES, ScriptError
from interplay.script.schema import json_schema
from interplay.script.writer import edited
from interplay.stage import messages
from interplay.stage.performer import Performer, playbill

ROOT = Path(__file__).parent.parent

STAND = """\
title: she stands and points
parameters:
  height: {default: 1.7, min: 1.4, max: 2.0, unit: m, help: her height}
  up: 0.1
models:
  alice: {humanoid: {height: $height, sex: female}, facing: 90 deg}
contacts:
  - {touch: {alice/left_sole: ground, alice/right_sole: ground}, friction: 1}
controls:
  hand: {point: alice/right_palm, by: [0, 0, $up], range: [[-0.2, -0.2, -0.2], [0.2, 0.2, 0.2]], help: her hand}
background:
  - {posture: alice, weight: 0.2}
  - {com: alice, to: {middle: [alice/left_sole, alice/right_sole]}, axes: xy, weight: 60}  # over her feet
phases:
  - hold: wait
    seconds: 0.1
    balance: alice
  - phase: follow
    objectives: [{point: alice/right_palm, follow: hand, weight: 20}]
    interactive: true
    timeout: null
"""


@pytest.fixture
def write(tmp_path):
    def of(text, name="play.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return of


def problems(path):
    return [(p.line, p.message) for p in check(path) if not p.warning]


def with_phase(objectives, head=""):
    before = STAND[: STAND.index("phases:")]
    return f"{head}{before}phases:\n  - phase: try\n    seconds: 0.1\n    objectives:\n{objectives}"


# -- what can be said --------------------------------------------------------------------------------------------------


def test_a_file_is_a_scenario(write):
    found = scenario(write(STAND))
    assert (found.name, found.summary) == ("play.yaml", "she stands and points")
    assert found.Parameters.model_fields["height"].description == "her height [m]"
    sim = found({"height": "1.6", "up": 0.05}).simulation()
    assert sim.scene.placed("alice").height == 1.6  # type: ignore[attr-defined]
    facing = sim.terms.xmat[sim.scene.body("alice/pelvis")].reshape(3, 3)[:, 0]
    assert np.allclose(facing, [0, 1, 0], atol=1e-9)
    palm = sim.terms.site_xpos[sim.scene.site("alice/right_palm")]
    assert np.allclose(sim.live.controls["hand"].value, palm + [0, 0, 0.05])
    sim.run(0.3)
    assert sim.behaviour is not None
    assert sim.behaviour.visited == ["wait", "follow"]
    with pytest.raises(ip.InputError, match="less than or equal to 2"):
        found({"height": 3})


OBJECTIVES = [
    "{point: [alice/left_hand, alice/right_palm], by: [0, 0, 0.1], seconds: 1, stiffness: 40, max_speed: 2}",
    "{point: alice/head, to: [0, 0, 1.6]}",
    "{point: alice/head, to: now, name: her head}",
    "{orientation: alice/chest, to: {of: alice/chest, turn: [0, 0, 30 deg]}, seconds: 1}",
    "{pose: alice/right_palm, to: {of: alice/right_palm, by: [0, 0, 0.1]}, seconds: 1, arch: [0.05, 0, 0]}",
    "{com: alice, by: -0.05, axes: z, seconds: 1}",
    "{com: alice, to: [0, 0.02], axes: xy}",
    "{com_over: alice, on: [alice/left_sole, alice/right_sole]}",
    "{com_over: alice, on: [alice/left_sole, alice/right_sole], to: middle, near: 0.02, name: over}",
    "{com_over: alice, on: [alice/left_sole], to: stable, axes: y, name: stable}",
    "{balance: alice, on: [alice/left_sole, alice/right_sole], margin: 0.01}",
    "{posture: alice, values: now, weights: {left_knee_flexion: 2}}",
    "{posture: alice, values: {left_knee_flexion: 20 deg}}",
    "{posture: alice, values: {left_elbow_flexion: 1}, seconds: 0.5}",
    "{track: alice, clip: wave, begin: 0.2, loop: true, hands: 0, stiffnesses: {elbow: 2}}",
    "{loose: alice, parts: [shoulder, elbow], stiffness: 10}",
    "{momentum: alice, to: [0, 0, 1]}",
    "{joint: alice/left_elbow_flexion, by: 0.2, seconds: 1}",
    "{gaze: alice/head, at: alice/right_palm, axis: [1, 0, -0.2]}",
    "{gaze: alice/head, at: [2, 2, 1]}",
    "{force: alice/left_sole, to: [0, 0, 300]}",
    "{meet: {alice/right_palm: [0.3, 0.3, 1.1]}, seconds: 1, turn_weight: 0}",
    "{relative: alice/right_hand, base: alice/chest, to: now}",
    "{line_balance: alice, on: [alice/left_sole, alice/right_sole], weight: 0}",
]


def test_every_kind_of_objective_can_be_said(write):
    kinds = {next(iter(yaml.safe_load(text))) for text in OBJECTIVES} | {"use"}
    assert kinds == set(FAMILIES["objective"])
    path = write(with_phase("".join(f"      - {text}\n" for text in OBJECTIVES)))
    assert problems(path) == []
    sim = scenario(path)().simulation()
    sim.run(0.05)
    assert sim.behaviour is not None
    assert "her head" in [o.label for o in sim.behaviour.objectives]


def test_every_model_can_be_placed(write):
    names = [name for name in FAMILIES["model"] if name not in ("humanoid", "character")]
    text = "models:\n  alice: {humanoid: }\n"
    text += "".join(f"  {name}: {{{name}: {{}}, at: [{3 * k + 3}, 0]}}\n" for k, name in enumerate(names))
    path = write(text + "background: [{posture: alice}]\nphases: [{hold: wait, seconds: 0.1, balance: alice}]\n")
    scene = scenario(path)().build()
    assert set(scene.names) == {"alice", *names}
    classes = {type(scene.placed(name)) for name in scene.names}
    assert classes == {getattr(ip, name.title().replace("_", "")) for name in (*names, "humanoid")}


def test_blocks_and_a_walk_can_be_said(write):
    text = (
        STAND[: STAND.index("phases:")]
        + """\
phases:
  - {shift: lean, com: alice, over: alice/left_sole, seconds: 1, by: [0, 0, -0.02], within: 0.05, next: go}
  - reach: up
    surface: alice/right_palm
    onto: [0.3, 0.3, 1.2]
    via: [0.3, 0.2, 1.0]
  - walk: go
    walkers: {alice: {first: right}}
    steps: 2
    gait: {stride: 0.2, style: static}
    objectives: [{orientation: alice/head, weight: 1}]
    next: rest
  - {remove_contact: lift, surfaces: alice/left_sole}
  - {hold: rest, seconds: 0.2}
"""
    )
    path = write(text)
    assert problems(path) == []
    machine = scenario(path)().simulation().behaviour
    assert machine is not None
    assert machine.phases["lean"].next == "go: begin"
    last = [p for p in machine.phases.values() if p.name.startswith("go: ")][-1]
    assert last.next == "rest"
    assert machine.phases["up"].origin == f"play.yaml:{text[: text.index('reach: up')].count(chr(10)) + 1}"


def test_a_mass_slider_and_a_late_character(write):
    text = STAND.replace(
        "controls:\n",
        "late: {alice: 0.1}\ncontrols:\n  load: {slider: 3, low: 1, high: 6, unit: kg, max_speed: 6, weighs: bar/left_weight}\n",
    )
    text = text.replace("contacts:", "  bar: {barbell: {}, at: [2, 0, 1]}\ncontacts:")
    sim = scenario(write(text))().simulation()
    sim.live.set("load", 5)
    sim.run(0.5)
    assert sim.scene.model.body("bar/left_weight").mass[0] > 3.1


def test_a_slider_drives_a_platform(write):
    text = STAND.replace(
        "controls:\n",
        "controls:\n  tilt: {slider: 0, low: -0.2, high: 0.2, unit: rad, drives: platform/pitch}\n",
    )
    text = text.replace("contacts:", "  platform: {moving_platform: {travel: [0, 0, 0]}, at: [3, 0]}\ncontacts:")
    sim = scenario(write(text))().simulation()
    sim.live.set("tilt", 0.1)
    sim.run(0.6)
    assert sim.state.qpos[sim.scene.model.joint("platform/pitch").qposadr[0]] == pytest.approx(0.1, abs=1e-3)


# -- what is refused, and how ------------------------------------------------------------------------------------------

WRONG = [
    ("{piont: alice/head}", "did you mean 'point'?"),
    ("{point: alice/haed}", "did you mean 'alice/head'?"),
    ("{point: alice/head, wieght: 3}", "did you mean 'weight'?"),
    ("{point: alice/head, weight: -3}", "greater than or equal to 0"),
    ("{point: alice/head, weight: .nan}", "expected a number"),
    ("{point: alice/head, weight: 1e400}", "finite"),
    ("{point: alice/head, follow: hnad}", "did you mean 'hand'?"),
    ("{orientation: alice/head, follow: hand}", "expected 4 numbers"),
    ("{point: alice/head, to: [1, 2]}", "expected x, y, z"),
    ("{point: ground, to: [1, 2, 3]}", "cannot move"),
    ("{joint: alice/left_knee, to: 1}", "did you mean 'alice/left_knee_flexion'?"),
    ("{joint: alice/free, to: 1}", "not a hinge"),
    ("{com: alise}", "did you mean 'alice'?"),
    ("{com: alice, axes: q}", "pattern"),
    ("{use: balance}", "unknown set"),
    ("{pose: alice/head, along: x}", "walk"),
    ("{meet: {alice/left_plam: ground}, seconds: 1}", "did you mean 'alice/left_palm'?"),
    ("{meet: {alice/left_palm: ground}}", "seconds: is missing"),
    ("{point: alice/head, to: $heigth}", "did you mean 'height'?"),
    ("7", "expected one kind of objective"),
]


@pytest.mark.parametrize(("objective", "message"), WRONG)
def test_a_wrong_objective_is_named_with_its_line(write, objective, message):
    text = with_phase(f"      - {objective}\n")
    found = problems(write(text))
    line = text.count("\n")
    assert len(found) == 1
    assert found[0][0] == line
    assert message in found[0][1]


def test_all_problems_are_told_at_once(write):
    text = with_phase("".join(f"      - {objective}\n" for objective, _ in WRONG))
    text = text.replace("sex: female", "sxe: female").replace(
        "alice/right_sole: ground}, friction", "alice/right_soul: ground}, friction"
    )
    found = problems(write(text))
    first = text[: text.index("      - {piont")].count("\n") + 1
    assert {line for line, _ in found} >= {6, 8, *range(first, first + len(WRONG))}


def test_what_cannot_be_made_is_named(write):
    text = STAND.replace("  - {touch:", "  - [alice/left_palm, ground]\n  - {touch:")
    ((line, message),) = problems(write(text))
    assert line == 8
    assert "face each other" in message
    text = STAND.replace("    seconds: 0.1\n", "    seconds: 0.1\n    next: folow\n")
    assert "did you mean 'follow'?" in problems(write(text))[0][1]
    text = STAND.replace("phase: follow", "phase: wait")
    assert problems(write(text)) == [(18, "there is a phase 'wait' already")]
    text = STAND.replace("follow: hand, ", "")
    assert [(p.line, p.warning) for p in check(write(text))] == [(10, True)]


def test_what_fails_while_running_names_phase_and_line(write):
    text = STAND.replace("  - phase: follow\n", "  - phase: follow\n    make: [[alice/left_palm, ground]]\n")
    sim = scenario(write(text))().simulation()
    with pytest.raises(ip.ContactError, match=r"phase 'follow' \(play\.yaml:18\)"):
        sim.run(1.0)


DANGERS = {
    "a bomb of aliases": "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "a bomb of brackets": "a: " + "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2) + "\n",
    "too many entries": "a: [" + "1, " * (MOST_NODES + 1) + "]\n",
    "too large": "# " + "x" * LARGEST + "\n",
    "code": "a: !!python/object/apply:os.system ['true']\n",
    "a merge key": "a: {<<: {b: 1}}\n",
    "a key twice": "title: a\ntitle: b\n",
    "two documents": "title: a\n---\ntitle: b\n",
    "a control character": "title: \x01\n",
    "no mapping": "- 1\n",
    "nothing": "",
    "half a list": "models: [\n",
    "a tab": "models:\n\ta: 1\n",
}


@pytest.mark.parametrize("text", DANGERS.values(), ids=DANGERS.keys())
def test_dangers_are_refused_with_a_line(write, text):
    path = write(text)
    assert check(path)
    with pytest.raises(ScriptError, match=r"^play\.yaml:[0-9]+: "):
        scenario(path)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../robot.yaml", "a/../../robot.yaml", "link.yaml", "no.yaml", "~/x.yaml"]
)
def test_files_outside_the_folder_are_not_read(write, tmp_path, name):
    (tmp_path / "robot.yaml").write_text("model: robot.xml\nroot: torso\n")
    path = write(STAND.replace("humanoid: {height: $height, sex: female}", f"character: {name}"), "play/play.yaml")
    (tmp_path / "play" / "link.yaml").symlink_to(tmp_path / "robot.yaml")
    found = [m for line, m in problems(path) if line == 6]
    assert len(found) == 1
    assert "folder" in found[0]
    assert "torso" not in found[0]
    based = write(f"scenario: {name if name.endswith('.yaml') else '../x.yaml'}\n", "play/based.yaml")
    assert problems(based)[0][0] == 1


@pytest.mark.parametrize(
    ("model", "xml"),
    [
        ("../body.xml", ""),
        ("/etc/hostname", ""),
        ("body.xml", '<mujoco><include file="../secret.xml"/></mujoco>'),
        ("body.xml", '<mujoco><asset><mesh name="m" file="/etc/hostname"/></asset></mujoco>'),
        ("body.xml", '<mujoco><compiler meshdir="../.."/></mujoco>'),
        (
            "body.xml",
            '<robot name="r"><link name="a"><visual><geometry><mesh filename="file:///etc/hostname"/>'
            "</geometry></visual></link></robot>",
        ),
        ("link.xml", ""),
        ("python:///etc/hostname", ""),
        ("python://../hostname", ""),
        ("body.xml", '<mujoco><asset><texture name="t" type="cube" fileright="/etc/hostname"/></asset></mujoco>'),
        ("body.xml", '<mujoco><asset><mesh name="m" file="link.stl"/></asset></mujoco>'),
        (
            "body.xml",
            '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://FOLDER/secret.stl"/>'
            "</geometry></visual></link></robot>",
        ),
    ],
)
def test_nor_files_that_a_sidecar_names(write, tmp_path, model, xml):
    write(f"model: {model}\nroot: torso\n", "play/robot.yaml")
    write(xml.replace("FOLDER", tmp_path.name), "play/body.xml")
    write("<mujoco/>", "body.xml")
    secret = write("solid", "secret.stl")
    (tmp_path / "play" / "link.stl").symlink_to(secret)
    (tmp_path / "play" / "link.xml").symlink_to(tmp_path / "body.xml")
    path = write(STAND.replace("humanoid: {height: $height, sex: female}", "character: robot.yaml"), "play/play.yaml")
    (message,) = [m for line, m in problems(path) if line == 6]
    assert "below" in message or "leads out" in message


# -- files that change other scenarios ---------------------------------------------------------------------------------


def test_a_file_changes_a_built_in_scenario(write):
    path = write("scenario: stand\nparameters: {height: 1.6}\nadjust:\n  - {objective: Posture alice, weight: 0.7}\n")
    chosen = scenario(path)()
    assert chosen.p.model_dump()["height"] == 1.6
    assert scenario(path)({"height": 1.8}).p.model_dump()["height"] == 1.8
    sim = chosen.simulation()
    assert {o.label: o.weight for o in sim.objectives}["Posture alice"] == 0.7
    assert problems(path) == []
    assert problems(write("scenario: stnd\n"))[0][1].startswith("unknown scenario 'stnd'; did you mean 'stand'?")
    assert problems(write("scenario: stand\nparameters:\n  hieght: 1.6\n"))[0][0] == 3
    assert "based on itself" in str(problems(write("scenario: play.yaml\n")))


def test_edited_gains_are_written_and_read_back(write):
    gains = {("Posture alice", None): Gains(weight=0.7, stiffness=30.0), ("Com alice", None): Gains()}
    chosen = scenario("stand")({"height": 1.6})
    text = edited(chosen, gains)
    assert text == (
        'scenario: stand\nparameters: {height: 1.6}\nadjust:\n  - {objective: "Posture alice", weight: 0.7, stiffness: 30.0}\n'
    )
    again = scenario(write(text, "mine.yaml"))()
    assert edited(again, gains) == text
    taller = edited(scenario(write(STAND))({"height": 1.8}), gains)
    assert taller.startswith("scenario: play.yaml\nparameters: {height: 1.8}\nadjust:")
    higher = scenario(write(taller, "taller.yaml"))()
    assert higher.p.model_dump()["height"] == 1.8
    heavier = "scenario: taller.yaml\nadjust: [{objective: Posture alice, weight: 0.9}]\n"
    third = scenario(write(heavier, "third.yaml"))().simulation()
    found = {o.label: o for o in third.objectives}["Posture alice"]
    assert (found.weight, found.stiffness) == (0.9, 30.0)
    own = edited(scenario(write(STAND))(), gains)
    assert own.startswith(STAND)
    path = write(own.replace("adjust:", "# mine\nadjust:") + "# the end\n")
    found = {o.label: o for o in scenario(path)().simulation().objectives}["Posture alice"]
    assert (found.weight, found.stiffness) == (0.7, 30.0)
    last = edited(scenario(path)(), {("Posture alice", "wait"): Gains(weight=0.1)})
    assert last.count("adjust:") == 1
    assert "# over her feet" in last
    assert last.endswith('# mine\nadjust:\n  - {objective: "Posture alice", phase: "wait", weight: 0.1}\n# the end\n')
    assert scenario(write(last))
    one = edited(chosen, {("Com alice xyz", "rise"): Gains(weight=5.0)})
    assert one.endswith('adjust:\n  - {objective: "Com alice xyz", phase: "rise", weight: 5.0}\n')
    assert scenario(write(one))().simulation().live.adjustments.gains == {("Com alice xyz", "rise"): Gains(weight=5.0)}


# -- running, recording, editors ---------------------------------------------------------------------------------------


def test_a_file_is_run_recorded_and_resumed(write, tmp_path):
    path, out = write(STAND), tmp_path / "out"
    run(str(path), out, seconds=0.2, parameters={"height": 1.6})
    recording = Recording(out)
    assert recording.header["scenario"] == "play.yaml"
    assert recording.header["sources"] == [STAND]
    report = run(str(path), out, seconds=0.4, resume=True)
    assert (report["steps"], report["parameters"]["height"]) == (80, 1.6)
    path.write_text(STAND.replace("weight: 20", "weight: 21"))
    with pytest.raises(ip.InputError, match="has changed"):
        run(str(path), out, seconds=0.6, resume=True)
    path.unlink()
    assert Recording(out).steps == 80


def test_every_field_of_the_json_schema_is_described():
    schema = json.loads(json.dumps(json_schema()))
    for name, part in schema["$defs"].items():
        for key, field in part.get("properties", {}).items():
            assert field.get("description"), f"{name}.{key}"
    objectives = schema["$defs"]["objective"]["oneOf"]
    assert len(objectives) == len(FAMILIES["objective"])


def test_shipped_files_have_no_problems_and_hide_no_built_in():
    for path in FILES.glob("*.yaml"):
        assert check(path) == []
        assert path.name not in registry()


def test_the_guide_says_what_works(write):
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "scenario-files.md").read_text(), re.S)
    assert check(write(blocks[0])) == []
    guide = (ROOT / "docs" / "scenario-files.md").read_text().split("## Objectives")[1]
    table = re.findall(r"^\| `(\w+)` \| `(\{.*?\})`", guide, re.M)
    assert {kind for kind, _ in table} == set(FAMILIES["objective"])
    assert all(kind in yaml.safe_load(example) for kind, example in table)


def test_two_people_carry_a_table_through_a_doorway():
    path = ROOT / "examples" / "carry_table.yaml"
    assert check(path) == []
    chosen = scenario(path)()
    sim = chosen.simulation(0.02)
    while not finished(sim, chosen):
        sim.step()
        assert sim.behaviour is not None
        assert sim.behaviour.failure is None
        assert not sim.outcome.conflicts  # type: ignore[union-attr]
    place = sim.terms.xpos[sim.scene.body("table")]
    assert np.allclose(place, [0, 3.9, 0.72], atol=0.02)


def test_the_command_line(write):
    path = write(STAND.replace("alice/left_sole: ground", "alice/left_soul: ground"))
    call = [sys.executable, "-m", "interplay", "check", str(path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"{path}:8: unknown surface 'alice/left_soul'; did you mean 'alice/left_sole'?" in done.stdout
    assert "Traceback" not in done.stderr
    call = CliRunner().invoke
    assert call(app, ["check", str(write(STAND))]).exit_code == 0
    assert json.loads(call(app, ["check", "--json-schema"]).output)["$defs"]["File"]
    assert isinstance(call(app, ["check", str(path.with_name("no.yaml"))]).exception, ip.InputError)


def test_the_stage_saves_what_was_edited(write):
    said = []
    performer = Performer(playbill(write(STAND)), said.append, lambda frame: None)
    for command in (
        messages.Open("play.yaml"),
        messages.Adjust("Posture alice", weight=0.9),
        messages.Save(3, "scenario"),
    ):
        performer.obey(command)
    saved = said[-1]
    assert (saved.client, saved.name) == (3, "play-edited.yaml")
    assert saved.content.decode() == STAND + '\nadjust:\n  - {objective: "Posture alice", weight: 0.9}\n'
