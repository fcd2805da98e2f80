"""A hundred random problems that cannot be: each refused with a reason, or ended in bounded time with what fights named."""

import functools
import random

import numpy as np
import pytest

import interplay as ip

pytest.importorskip("casadi")

from interplay.script.composing import load_composition
from interplay.spacetime import actions, problem
from interplay.spacetime.gaits import guess, paced
from interplay.spacetime.rows import row_of
from interplay.spacetime.solving import solve
from interplay.spacetime.styles import style

SEEDS = range(1000, 1100)
ITERATIONS = 12
"""What is not refused is given so many iterations: that all end, and name what is violated, does not depend on how many."""


def bad(rng: random.Random) -> tuple[str, str]:
    """Return what is wrong, and a file."""
    kind = rng.choice(["speed", "reach", "far reach", "crossed", "hurried", "crowded", "step", "who", "word", "fight"])
    speed, steps = round(rng.uniform(0.9, 1.6), 2), rng.randint(2, 3)
    models, held = {"ann": "{humanoid: {}}"}, []
    if kind == "speed":
        speed = rng.choice([-1.0, 0.0, 9.0, 40.0, 1e6])
    if kind == "reach":  # over her head: refused, or, where it is nearer, not solved
        held = [f"{{reach: ann/right_palm, at: [0.4, {rng.uniform(-0.3, 0.3):.2f}, 2.3], when: end}}"]
    if kind == "far reach":
        held = [f"{{reach: ann/left_palm, at: [{rng.uniform(5, 50):.1f}, 0, 1.2], when: 2}}"]
    if kind == "crossed":
        held = ["{time: 1.0, of: ann, when: 1}", f"{{time: {rng.uniform(0.1, 0.9):.2f}, of: ann, when: 2}}"]
    if kind == "hurried":
        held = [f"{{time: {rng.choice([0.02, 30.0])}, of: ann, when: 2}}"]
    if kind == "crowded":
        models["bob"] = f"{{humanoid: {{}}, at: [{rng.uniform(-0.1, 0.1):.2f}, {rng.uniform(-0.1, 0.1):.2f}]}}"
    if kind == "step":
        held = [f"{{reach: ann/right_palm, at: [0.5, -0.3, 1.2], when: {steps + rng.randint(1, 9)}}}"]
    if kind == "who":
        held = ["{reach: " + rng.choice(["cleo/right_palm", "ann/right_plam", "ann"]) + ", at: [0.4, 0, 1], when: 1}"]
    if kind == "fight":  # one hand at two places at once
        held = [f"{{reach: ann/right_palm, at: [0.5, {y}, 1.2], when: 2}}" for y in (-0.6, 0.2)]
    word = rng.choice(["wakl", "hop", "steps"]) if kind == "word" else "walk"
    lines = ["models:", *(f"  {name}: {model}" for name, model in models.items())]
    lines += ["actions:", "  ann:", f"    - {{{word}: {speed}, steps: {steps}}}"]
    lines += ["hold:", *(f"  - {one}" for one in held)] if held else []
    return kind, "\n".join(lines) + "\n"


@pytest.fixture
def quick(monkeypatch):
    """Gaits that nobody solved, and a solver of little patience."""
    found: dict[str, object] = {}

    def half(self, kind, speed, leads="left"):
        if kind not in found:
            begin = guess(self.body, paced(self.body, kind, 1.2), 1.2)
            found[kind] = row_of(self.body, paced(self.body, kind, 1.2), begin, style(self.body))
        return found[kind] if leads == "left" else found[kind].mirrored(self.body)

    monkeypatch.setattr(actions.Gaits, "half", half)
    monkeypatch.setattr(problem, "solve", functools.partial(solve, patience=ITERATIONS))


def end_of(text: str, folder) -> str:
    """Return how a problem ends, in words."""
    path = folder / "bad.yaml"
    path.write_text(text)
    try:
        motion = load_composition(path)().compose()
    except ip.InputError as error:
        return f"refused: {error}"
    last = motion.solutions[-1]
    assert not last.solved
    assert last.worst
    assert last.iterations <= ITERATIONS + 1
    assert np.isfinite(motion.qpos).all()
    return f"{last.status}: {', '.join(last.worst)}"


@pytest.mark.slow
def test_a_hundred_bad_problems_end_with_a_reason(quick, tmp_path):
    ends = {}
    for seed in SEEDS:
        kind, text = bad(random.Random(seed))
        ends.setdefault(kind, []).append(end_of(text, tmp_path))
    assert sum(map(len, ends.values())) == len(SEEDS)
    for kind, said in ends.items():
        assert all(len(one) > 20 for one in said), (kind, said)
        if kind not in ("reach", "fight"):
            assert all(one.startswith("refused") for one in said), (kind, said)


@pytest.mark.parametrize("kind", ["speed", "far reach", "crossed", "hurried", "crowded", "step", "who", "word"])
def test_one_of_each_is_refused(quick, tmp_path, kind):
    text = next(text for seed in range(100) for found, text in [bad(random.Random(seed))] if found == kind)
    said = end_of(text, tmp_path)
    assert said.startswith("refused")
    assert "bad.yaml" in said or "expected" in said or "unknown" in said
