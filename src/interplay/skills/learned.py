"""What a skill has learned of the states from which it succeeds (faloutsos2001, section 4.2): evaluated here by numpy alone.

The file holds plain arrays. A support vector machine gives Σ wₖ K(vₖ, z) + b of a state z, each of its numbers less its mean and over
its spread; a nearest neighbour the label (±1) of the sample that is closest.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from interplay.errors import InputError
from interplay.skills.sensing import SHARED, Sensed

KINDS = ("linear", "poly", "rbf", "nearest")


def features(sensed: Sensed) -> tuple[list[str], np.ndarray]:
    """Return what is learned from, by name: the sensors; how she moves and where to, seen by her trunk; all joints and their speeds."""
    ahead, velocity = sensed.heading, sensed.velocity
    names = [*SHARED, "velocity ahead", "velocity to her left", "way ahead", "way to her left"]
    values = [sensed.number(name) for name in SHARED]
    values += [
        float(ahead @ velocity[:2]),
        float(ahead[0] * velocity[1] - ahead[1] * velocity[0]),
        *sensed.way.tolist(),
    ]
    names += ["turning about x", "turning about y", "turning about z"]
    values += sensed.turning.tolist()
    for joints, what in ((sensed.angles, ""), (sensed.speeds, " speed")):
        for joint in sorted(joints):
            names.append(joint + what)
            values.append(joints[joint])
    return names, np.array(values)


class Learned(NamedTuple):
    """A learned pre-condition."""

    kind: str
    names: tuple[str, ...]
    """Of the numbers that describe a state (d) …"""
    mean: np.ndarray
    """… their mean …"""
    spread: np.ndarray
    """… and their spread."""
    vectors: np.ndarray
    """Support vectors, or samples (n, d); of a linear machine its one normal."""
    weights: np.ndarray
    """Their weights, or labels (n,)."""
    intercept: float = 0.0
    gamma: float = 0.0
    degree: int = 0

    def decide(self, states: np.ndarray) -> np.ndarray:
        """Return the decisions (k,) for states (k, d): above 0, it would succeed."""
        z = (np.atleast_2d(states) - self.mean) / self.spread
        if self.kind == "linear":
            return z @ self.vectors[0] + self.intercept
        if self.kind == "poly":
            kernel = (self.gamma * (z @ self.vectors.T) + 1.0) ** self.degree
            return kernel @ self.weights + self.intercept
        squares = (z**2).sum(1)[:, None] + (self.vectors**2).sum(1) - 2.0 * (z @ self.vectors.T)
        if self.kind == "rbf":
            return np.exp(-self.gamma * np.maximum(squares, 0.0)) @ self.weights + self.intercept
        return self.weights[squares.argmin(1)]

    def score(self, sensed: Sensed) -> float:
        """Return the decision for what is sensed."""
        names, values = features(sensed)
        if tuple(names) != self.names:
            other = sorted(set(names) ^ set(self.names))
            raise InputError(
                f"learned pre-condition: expected a body with the joints that it was learned with; {other[0]!r} differs"
            )
        return float(self.decide(values)[0])

    def write(self, path: str | Path) -> None:
        """Write it as plain arrays (.npz)."""
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file, allow_pickle=False, **{key: np.array(value) for key, value in self._asdict().items()}
            )  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | Path) -> Learned:
        """Read it."""
        try:
            with np.load(path, allow_pickle=False) as found:
                given = {key: found[key] for key in cls._fields}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"learned {path}: expected what `interplay learn` has written: {error}") from error
        names, d = tuple(map(str, given["names"].tolist())), len(given["mean"])
        learned = cls(
            str(given["kind"]), names, given["mean"], given["spread"], given["vectors"], given["weights"],
            float(given["intercept"]), float(given["gamma"]), int(given["degree"]),
        )  # fmt: skip
        sizes = len(names) == d == len(learned.spread) == learned.vectors.shape[-1]
        numbers = (learned.mean, learned.spread, learned.vectors, learned.weights, np.array(learned.intercept))
        if learned.kind not in KINDS or not sizes or not all(np.isfinite(part).all() for part in numbers):
            raise InputError(
                f"learned {path}: expected finite numbers of one of {', '.join(KINDS)}, got {learned.kind!r}"
            )
        return learned
