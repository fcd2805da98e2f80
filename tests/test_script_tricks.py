"""What is well-formed and yet nonsense: each file gives a clear error with its line, soon; never a traceback or a hang."""

import time

import pytest

import interplay as ip
from interplay.catalogue import check, scenario
from interplay.errors import InputError
from interplay.script.reader import ScriptError

PLAIN = """\
models:
  alice: {humanoid: {}}
  box: {box: {}, at: [1, 1]}
contacts:
  - {touch: {alice/left_sole: ground, alice/right_sole: ground}}
phases:
  - {hold: wait, seconds: 0.1}
"""

SETS = PLAIN + "  - {phase: last, seconds: 0.1, objectives: [{use: s0}]}\nsets:\n"
COM = "{com: alice, by: 0, axes: z}"


def of_sets(count, uses):
    return SETS + "".join(f"  s{k}: [{uses(k)}]\n" for k in range(count)) + f"  s{count}: [{COM}]\n"


def posed(how):
    return PLAIN.replace("contacts:", f"pose:\n  - {how}\ncontacts:")


TRICKS = {
    "sets that double": (of_sets(40, lambda k: f"{{use: s{k + 1}}}, {{use: s{k + 1}}}"), "more than 1000 objectives"),
    "sets in sets in sets": (of_sets(60, lambda k: f"{{use: s{k + 1}}}"), "deep"),
    "a thousand sets": (of_sets(1000, lambda k: f"{{use: s{k + 1}}}"), "at most 200 items"),
    "sets that use all after them": (
        of_sets(24, lambda k: ", ".join(f"{{use: s{j}}}" for j in range(k + 1, 25))),
        "more than 1000 objectives",
    ),
    "sets in a circle": (SETS + "  s0: [{use: s1}]\n  s1: [{use: s0}]\n", "the set 's0' uses itself"),
    "a million steps": (PLAIN + "  - {walk: go, walkers: alice, steps: 1000000}\n", "a whole number in [1, 1000]"),
    "a box that walks": (PLAIN + "  - {walk: go, walkers: box, steps: 2}\n", "'box' cannot walk"),
    "a crowd": (
        PLAIN.replace("  box:", "".join(f"  b{k}: {{box: {{}}}}\n" for k in range(100)) + "  box:"),
        "at most 100 items",
    ),
    "far away": (PLAIN.replace("humanoid: {}", "humanoid: {}, at: [1e8, 0]"), "expected a place within 1000 m"),
    "heavy": ("gravity: 1e6\n" + PLAIN, "gravity: expected less than or equal to 100"),
    "an axis of zero length": (posed("{reach: {alice/left_palm: [0.3, 0, 1, 0, 0, 0]}}"), "expected a direction"),
    "a parameter of pydantic": ("parameters: {model_config: 1}\n" + PLAIN, "cannot be called 'model_config'"),
    "a parameter that is a method": ("parameters: {copy: 1}\n" + PLAIN, "cannot be called 'copy'"),
    "a model called now": (PLAIN.replace("  box:", "  now:"), "cannot be called 'now'"),
    "a look at itself": (PLAIN + "background: [{gaze: alice/head, at: alice/head}]\n", "part of the same body"),
    "a name too long for a file": (PLAIN.replace("humanoid: {}", f"character: {'x' * 400}"), "no such file"),
    "a base with such a name": (f"scenario: {'x' * 400}.yaml\n", "no such file"),
    "longer than it may last": (PLAIN.replace("0.1}", "30}"), "give it a longer timeout"),
    "a release of nothing": (
        PLAIN.replace("0.1}", "0.1, release: [alice/left_palm]}"),
        "the first step cannot be made",
    ),
}


@pytest.mark.parametrize(("text", "expected"), TRICKS.values(), ids=TRICKS.keys())
def test_nonsense_gets_an_error_with_its_line(tmp_path, text, expected):
    path = tmp_path / "play.yaml"
    path.write_text(text)
    begin = time.monotonic()
    found = [p for p in check(path) if not p.warning]
    assert time.monotonic() - begin < 20.0
    assert any(expected in p.message for p in found), found
    assert all(1 <= p.line <= text.count("\n") + 1 for p in found)
    if expected != "the first step cannot be made":
        with pytest.raises(ScriptError, match=r"^play\.yaml:[0-9]+: "):
            scenario(path)().simulation()
    else:
        assert found[0].line == 7


def test_a_message_is_one_plain_line(tmp_path):
    base, path = tmp_path / "base.yaml", tmp_path / "play.yaml"
    base.write_text("models: 3\nphases: 3\nspam: 1\n")
    path.write_text("scenario: base.yaml\n")
    with pytest.raises(ScriptError) as error:
        scenario(path)
    assert str(error.value).count("\n") == 0
    path.write_text(PLAIN.replace("wait", '"\\x1b[31m"').replace("alice/left_sole", '"alice/\\x1b[31m"'))
    (problem,) = [p for p in check(path) if not p.warning]
    assert problem.message.isprintable()


def test_a_weight_on_a_slider_stays_a_weight():
    sim = scenario("stand")().simulation()
    with pytest.raises(InputError, match="lower bound"):
        sim.live.weigh("alice/chest", ip.Control("w", "scalar", [1.0], [1e-9], [5.0], unit="kg"))
