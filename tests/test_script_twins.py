"""Box, Door and King as files give the same motion as their Python twins, over their whole scripts."""

import numpy as np
import pytest

from interplay.catalogue import scenario
from interplay.runs.run import finished


@pytest.mark.parametrize(("name", "dt"), [("box", 0.015), ("door", 0.01), ("king", None)])
def test_the_file_moves_as_its_twin(name, dt):
    twins = [scenario(name)(), scenario(f"{name}.yaml")()]
    assert twins[0].dt == twins[1].dt
    sims = [twin.simulation(dt) for twin in twins]
    assert sims[0].live.controls.keys() == sims[1].live.controls.keys()
    apart = 0.0
    while not finished(sims[0], twins[0]) and sims[0].time < twins[0].timeout:
        for sim in sims:
            sim.step()
            assert sim.behaviour is not None
            assert sim.behaviour.failure is None
        apart = max(apart, float(np.abs(sims[0].state.qpos - sims[1].state.qpos).max()))
    assert finished(sims[1], twins[1])
    assert sims[0].behaviour.visited == sims[1].behaviour.visited  # type: ignore[union-attr]
    assert apart <= 1e-6


@pytest.mark.parametrize("name", ["box", "door", "king"])
def test_controls_of_twins_are_the_same(name):
    first, second = (scenario(n)().simulation().live.controls for n in (name, f"{name}.yaml"))
    for key, control in first.items():
        twin = second[key]
        assert (control.kind, control.unit, control.help, control.max_speed) == (
            twin.kind,
            twin.unit,
            twin.help,
            twin.max_speed,
        )
        for attribute in ("value", "low", "high"):
            assert np.allclose(getattr(control, attribute), getattr(twin, attribute), atol=1e-12)
