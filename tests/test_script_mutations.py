"""Three hundred broken scenario files: each gives an error with its file and line, or runs; never anything else."""

import random
import re

import pytest

from interplay.catalogue import FILES, check, scenario
from interplay.errors import InterplayError
from interplay.script.reader import ScriptError

PLACED = re.compile(r"^mutant\.yaml:[1-9][0-9]*: .+")
NUMBER = re.compile(r"(?<=[ \[])-?[0-9]+(\.[0-9]+)?(?=[,\]}\s])")
WORD = re.compile(r"[A-Za-z_/]{3,}")
VALUES = [
    "-3",
    "1e12",
    ".nan",
    ".inf",
    "1e999",
    "-0",
    "yes",
    "null",
    "[]",
    "{}",
    "text",
    "9" * 60,
    "$mass",
    "$no",
    "45 deg",
]


def one(rng, pattern, text):
    found = list(pattern.finditer(text))
    return rng.choice(found)


def delete_line(rng, lines):
    lines.pop(rng.randrange(len(lines)))


def typo(rng, lines):
    text = "\n".join(lines)
    m = one(rng, WORD, text)
    word = list(m[0])
    k = rng.randrange(len(word) - 1)
    word[k], word[k + 1] = word[k + 1], word[k]
    lines[:] = (text[: m.start()] + "".join(word) + rng.choice(["", "x"]) + text[m.end() :]).split("\n")


def number(rng, lines):
    text = "\n".join(lines)
    m = one(rng, NUMBER, text)
    lines[:] = (text[: m.start()] + rng.choice(VALUES) + text[m.end() :]).split("\n")


def word(rng, lines):
    text = "\n".join(lines)
    a, b = one(rng, WORD, text), one(rng, WORD, text)
    lines[:] = (text[: a.start()] + rng.choice([b[0], "7", "null", "[a, b]", ""]) + text[a.end() :]).split("\n")


def swap(rng, lines):
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def repeat(rng, lines):
    k = rng.randrange(len(lines))
    lines.insert(k, lines[k])


def truncate(rng, lines):
    text = "\n".join(lines)
    lines[:] = text[: rng.randrange(len(text) // 9, len(text))].split("\n")


def indent(rng, lines):
    k = rng.randrange(len(lines))
    lines[k] = rng.choice([" ", "   ", "\t"]) + lines[k] if rng.random() < 0.6 else lines[k][2:]


def stray(rng, lines):
    k = rng.randrange(len(lines))
    at = rng.randrange(len(lines[k]) + 1)
    lines[k] = lines[k][:at] + rng.choice(list("{}[]:,&*!|>%@`#'\"-\0\x07é")) + lines[k][at:]


def tag(rng, lines):
    k = rng.choice([k for k, line in enumerate(lines) if ": " in line])
    what = rng.choice(
        ["!!python/object/apply:os.system ['true']", "!!binary aGk=", "&a 3", "*a", "!x 1", "{<<: {a: 1}}"]
    )
    lines[k] = lines[k].split(": ")[0] + ": " + what


def bomb(rng, lines):
    lines.insert(
        0, rng.choice(["x: " + "[" * 60 + "]" * 60, "x: [" + "0, " * 30000 + "]", "a: &a [1]", "--- 3\n--- 4"])
    )


MUTATIONS = [
    delete_line,
    typo,
    typo,
    typo,
    number,
    number,
    number,
    word,
    word,
    swap,
    repeat,
    truncate,
    indent,
    stray,
    tag,
    bomb,
]


def mutants(name, count):
    text = (FILES / name).read_text()
    for seed in range(count):
        rng = random.Random(f"{name} {seed}")
        lines = text.split("\n")
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            rng.choice(MUTATIONS)(rng, lines)
        yield "\n".join(lines)


def attempt(path):
    """Return the simulation of a file, or the error that it gives."""
    try:
        return scenario(path)().simulation(), None
    except ScriptError as error:
        return None, error


def steps(sim):
    """Return whether a simulation makes a few steps."""
    try:
        for _ in range(3):
            sim.step()
        return True
    except InterplayError:
        return False


@pytest.mark.parametrize("name", ["box.yaml", "door.yaml", "king.yaml"])
def test_every_mutant_is_an_error_with_its_line_or_runs(name, tmp_path):
    path, ran, refused = tmp_path / "mutant.yaml", 0, 0
    for k, text in enumerate(mutants(name, 100)):
        path.write_text(text)
        sim, error = attempt(path)
        if error is None:
            ran += 1
            assert steps(sim) or any(not p.warning for p in check(path)), f"mutant {k} fails, and check does not say so"
            continue
        refused += 1
        assert all(PLACED.match(line) for line in str(error).splitlines()), f"mutant {k}: {error}"
        assert error.problems
        assert all(1 <= p.line <= text.count("\n") + 1 for p in error.problems)
        if k % 10 == 0:
            assert {(p.line, p.message) for p in check(path)} >= {(p.line, p.message) for p in error.problems}
    assert refused > 40
    assert ran >= 5
