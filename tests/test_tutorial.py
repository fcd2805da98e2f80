"""The tutorial, followed word for word from an empty file."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interplay.cli import app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "tutorial.md").read_text()
PIECES = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
FIRST_PHASE = next(k for k, piece in enumerate(PIECES) if "\nphases:" in piece)


def cli(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.yaml"

    def write(pieces):
        path.write_text("".join(PIECES[:pieces]))
        return path

    return write


def test_what_check_says_of_the_empty_file_is_what_the_tutorial_shows(table):
    answer = cli("check", table(0))
    assert answer.exit_code == 2
    said = re.search(r"^    table\.yaml:1: (.*)$", TEXT, re.M).group(1)
    assert said in " ".join(answer.output.split())


@pytest.mark.parametrize("pieces", range(1, len(PIECES) + 1))
def test_every_piece_is_understood(table, pieces):
    answer = cli("check", table(pieces))
    if pieces > FIRST_PHASE:
        assert answer.exit_code == 0, answer.output
    else:  # nothing is wrong but that nothing happens yet
        assert answer.exit_code == 2
        assert "phases: is missing" in answer.output
        assert "1 problem" in answer.output


def test_the_pieces_are_the_example():
    assert "".join(PIECES) == (ROOT / "examples" / "carry_table.yaml").read_text()


def test_they_carry_the_table_through_the_doorway(table, tmp_path):
    answer = cli("run", table(len(PIECES)), "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    proof = report["certificate"]
    assert report["finished"]
    assert report["fallbacks"] == 0
    assert report["states_visited"][-1] == "follow"
    assert proof["contact_drift_mm"] < 1
    assert proof["penetration_mm"] < 1
    assert proof["eom_residual"] < 1e-6
    assert proof["torque_ratio"] <= 1 + 1e-9


def test_commands_and_names_that_the_tutorial_mentions_exist():
    for name in re.findall(r"^    interplay (\w+)", TEXT, re.M):
        assert cli(name, "--help").exit_code == 0
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / "docs" / link).exists(), link
