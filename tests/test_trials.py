"""Trials: many seeds of a scenario, who stands, and in which words those fell who did not."""

import csv
import json

import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay.catalogue import scenario
from interplay.cli import app
from interplay.runs.trials import Trial, read_seeds, trials


def test_who_stands_and_who_falls(tmp_path):
    """On a deck that is tipped hard, joint PD falls, as the simulation itself says; at rest it stands."""
    told = []
    found = trials(
        "platform",
        tmp_path,
        seeds="3:5",
        seconds=2.5,
        parameters={"strength": 3},
        controller="servos",
        workers=1,
        progress=lambda *now: told.append(now),
    )
    assert [trial.seed for trial in found] == [3, 4]
    assert [now[:2] for now in told] == [(1, 2), (2, 2)]
    for trial in found:
        sim = scenario("platform")({"strength": 3}).simulation(seed=trial.seed, controller="servos")
        with pytest.raises(ip.FallError) as fall:
            sim.run(2.5)
        assert trial == Trial(trial.seed, False, sim.time, str(fall.value), trial.steps)
    kept = json.loads((tmp_path / "trials.json").read_text())
    assert (kept["scenario"], kept["controller"], kept["parameters"]["strength"]) == ("platform", "servos", 3)
    assert (kept["stand"], kept["of"], kept["seconds"]) == (0, 2, 2.5)
    assert [Trial(**row) for row in kept["trials"]] == found
    with (tmp_path / "trials.csv").open(newline="") as file:
        assert [row["fell"] for row in csv.DictReader(file)] == [trial.fell for trial in found]
    [at_rest] = trials("platform", tmp_path, seeds="3", seconds=1, parameters={"strength": 0}, workers=1)
    assert at_rest == Trial(3, True, 1.0, "", 0)


def test_whoever_has_sunk_does_not_stand(tmp_path, monkeypatch):
    """A centre of mass that ends too low is no standing, whatever contacts say."""
    monkeypatch.setattr("interplay.runs.trials.LOWEST", 1.5)
    [trial] = trials("stand", tmp_path, seeds="0", seconds=0.1, workers=1)
    assert not trial.stands
    assert "centre of mass of alice is below 1.5 of its height" in trial.fell


def test_a_run_that_an_error_ends_does_not_stand(tmp_path, monkeypatch):
    def fails(self):
        raise ip.InterplayError("no way on")

    monkeypatch.setattr(ip.Simulation, "step", fails)
    [trial] = trials("stand", tmp_path, seeds="0", seconds=0.1, workers=1)
    assert (trial.stands, trial.fell) == (False, "no way on")


def test_seeds_are_read():
    assert read_seeds("1000:1003") == [1000, 1001, 1002]
    assert read_seeds("7") == [7]
    assert read_seeds([5, 2, 5]) == [5, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "platfrom"}, "platform"),
        ({"seeds": "5:5"}, "at least one"),
        ({"seeds": "1-9"}, "expected FIRST:END"),
        ({"seeds": "-2:3"}, "seed"),
        ({"controller": "servo"}, "servos"),
        ({"world": "simulate"}, "simulated"),
        ({"parameters": {"strenght": 1}}, "strength"),
        ({"seconds": 0}, "seconds"),
        ({"workers": 0}, "workers"),
    ],
)
def test_what_cannot_be_tried_is_told(changes, words, tmp_path):
    with pytest.raises(ip.InputError, match=words):
        trials(**{"name": "platform", "out": tmp_path / "out", "workers": 1, **changes})
    assert not list(tmp_path.rglob("trials.*"))


def test_the_command_prints_a_line_for_each_seed(tmp_path):
    done = CliRunner().invoke(
        app,
        ["trials", "platform", "--seeds", "0:2", "--seconds", "0.2", "--workers", "1", "--out", str(tmp_path)],
    )
    assert done.exit_code == 0, done.output
    assert "seed 0: stands\nseed 1: stands\n2 of 2 stand after 0.2 s (100 %)" in done.stdout
    assert len(json.loads((tmp_path / "trials.json").read_text())["trials"]) == 2
