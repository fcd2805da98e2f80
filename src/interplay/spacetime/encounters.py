"""Words of encounters as laws, once it is known who does what: who passes whom by, tackles whom, dodges whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from interplay.errors import InputError, number, pick
from interplay.spacetime.clearing import ArmsClear, LegsClear
from interplay.spacetime.composing import Score
from interplay.spacetime.laws import OnTop
from interplay.spacetime.looking import look
from interplay.spacetime.meeting import meet
from interplay.spacetime.passing import passing
from interplay.spacetime.problem import Law
from interplay.spacetime.tackling import Dodge, Tackle, strides

EYES = {"tackler": 0.3, "target": 0.05}
"""What it costs to look away from the other (`looking.py`)."""
FARTHEST = 1.5
"""How far a tackler's steps may end from where hers do [m]: nobody dives farther."""


def passes(scores: Mapping[str, Score], one: str, other: str, margin: float) -> Sequence[Law]:
    """Return that two keep so far from each other [m], whoever gives way."""
    _two(scores, one, other)
    return [meet(passing(one, other, margin)), ArmsClear(one), ArmsClear(other)]


def tackles(scores: Mapping[str, Score], he: str, she: str, speed: float) -> Sequence[Law]:
    """Return that one meets another's chest with his at the end, at a speed [m/s]."""
    ends = [_end(score) for score in _two(scores, he, she)]
    if (far := float(np.linalg.norm(ends[0][:2] - ends[1][:2]))) > FARTHEST:
        raise InputError(
            f"{he} tackles {she}: his steps end {far:.1f} m from where hers do; expected {FARTHEST:g} m at most: "
            "place him where his way meets hers"
        )
    return [meet(Tackle(he, she, speed), look(he, she, EYES["tackler"])), ArmsClear(he), LegsClear(he)]


def dodges(scores: Mapping[str, Score], she: str, he: str, margin: float) -> Sequence[Law]:
    """Return that one is out of a tackler's bounding sphere at the end, by a margin [m], and ends about as in a stride."""
    hers, _ = _two(scores, she, he)
    return [meet(Dodge(she, he, margin), look(she, he, EYES["target"])), ArmsClear(she), *strides(she, _end(hers))]


def raised(scores: Mapping[str, Score], who: str, when: str | int, height: float) -> Sequence[Law]:
    """Return that the feet which land then do so at a height [m]."""
    score = score_of(who, scores)
    hips = float(score.doing.body.coordinates(score.doing.body.scene.qpos)[2])
    number(f"{who}: height of what she steps on", height, 0.0, hips, "m")
    return [OnTop(who, score.when(when).phase, float(height))]


def score_of(who: str, scores: Mapping[str, Score]) -> Score:
    """Return the score of somebody who acts."""
    return pick("character that acts", who, dict(scores))


def _two(scores: Mapping[str, Score], one: str, other: str) -> tuple[Score, Score]:
    if one == other:
        raise InputError(f"{one} meets {other}: expected two characters")
    return score_of(one, scores), score_of(other, scores)


def _end(score: Score) -> np.ndarray:
    """Return the coordinates in which a row would end alone."""
    if score.doing.end is None:
        raise InputError(f"{score.doing.body.name}: expected an action that lasts")
    return score.doing.end[0]
