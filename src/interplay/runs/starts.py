"""Starts: states from which skills are tried, drawn from a seed.

She is put down in a place (on her back, her belly, a side; standing) with noise n on it: of 0.5 n rad on her joints and 0.3 n rad on
each axis of her root (standard deviations); then she is dropped by a few centimetres, and comes to rest with loose joints. A draw
whose state the skill does not bid for is no start of it: another one is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.maths.rotations import products
from interplay.models.extent import geom_extent
from interplay.runs.bodies import Body
from interplay.runs.pool import Pool
from interplay.runs.rollouts import WHO, ground, skill_of
from interplay.skills.key_poses import Poses
from interplay.skills.repertoire.settle import Settle
from interplay.skills.sensing import Senses
from interplay.skills.skill import NOT

JOINTS, ROOT = 0.5, 0.3
"""Standard deviations of joints and of each axis of the root [rad], at noise 1."""
DROP = 0.03
"""How high above the ground the lowest of her is let go [m]."""
REST = 4.0
"""Longest time to come to rest [s]."""
DRAWS = 30
"""So many draws make a start, or there is none."""
_H = math.sqrt(0.5)
PLACES: dict[str, tuple[float, float, float, float]] = {
    "standing": (1.0, 0.0, 0.0, 0.0),
    "supine": (_H, 0.0, -_H, 0.0),
    "prone": (_H, 0.0, _H, 0.0),
    "left": (_H, -_H, 0.0, 0.0),
    "right": (_H, _H, 0.0, 0.0),
}
"""How she is put down: quaternions (w, x, y, z) of her root; lying on her left side, her right one is up."""


class Draw(NamedTuple):
    """What a start is drawn from."""

    body: Body
    skill: str | Poses
    places: tuple[str, ...]
    noise: float
    seed: int


class Start(NamedTuple):
    """A state that the skill bids for, and how many draws it took."""

    qpos: np.ndarray
    qvel: np.ndarray
    draws: int


def nominal(pool: Pool, body: Body, skill: str | Poses) -> dict[str, Start]:
    """Return the places from which a skill can begin, and her state there, undisturbed."""
    cases = [Draw(body, skill, (name,), 0.0, 0) for name in PLACES]
    found = dict(pool.done(once, cases))
    places = {name: start for k, name in enumerate(PLACES) if (start := found[k]) is not None}
    if not places:
        name = skill if isinstance(skill, str) else skill.name
        raise InputError(
            f"{name}: expected a skill that bids for {body.label} where she lies or stands ({', '.join(PLACES)}); it bids for none"
        )
    return places


def starts(
    pool: Pool, body: Body, skill: str | Poses, places: tuple[str, ...], noise: float, seeds: Sequence[int]
) -> list[Start]:
    """Return a start in one of the places for each seed."""
    cases = [Draw(body, skill, places, noise, seed) for seed in seeds]
    found = dict(pool.done(drawn, cases))
    return [found[k] for k in range(len(cases))]


def drawn(draw: Draw) -> Start:
    """Draw a start."""
    rng = np.random.default_rng([draw.seed, round(1e6 * draw.noise)])
    for count in range(1, DRAWS + 1):
        state = _put(draw, rng)
        if state is not None:
            return Start(*state, count)
    name = draw.skill if isinstance(draw.skill, str) else draw.skill.name
    raise InputError(
        f"{name}: expected a start at noise {draw.noise:g} from seed {draw.seed}, but it bids for none of {DRAWS} draws"
    )


def once(draw: Draw) -> Start | None:
    """Return the first draw, if the skill bids for it."""
    state = _put(draw, np.random.default_rng(draw.seed))
    return None if state is None else Start(*state, 1)


def _put(draw: Draw, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Put her down; return the state in which she is at rest, if the skill bids for it."""
    place, name = ground(draw.body), draw.places[int(rng.integers(len(draw.places)))]
    sim, m = place.sim, place.sim.scene.model
    q, limits = sim.scene.qpos.copy(), place.limits
    turn = rng.normal(0.0, 1.0, 3) * ROOT * draw.noise
    angle = float(np.linalg.norm(turn))
    axis = turn / max(angle, 1e-12)
    off = np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])
    q[3:7] = products(off[None], np.array(PLACES[name])[None])[0]
    q[limits.adr] += rng.normal(0.0, 1.0, len(limits.adr)) * JOINTS * draw.noise
    q[limits.adr] = np.clip(q[limits.adr], limits.low, limits.high)
    standing = name == "standing"
    q[2] += (0.0 if standing else DROP) - _lowest(m, q)
    sim = place.begin([Settle(WHO)], q, np.zeros(m.nv))
    while not standing and sim.time < REST:
        sim.step()
        if len(sim.behaviour.log) > 1:  # type: ignore[union-attr]  # it has come to rest, and begins to settle anew
            break
    q, v = sim.state.qpos.copy(), sim.state.qvel.copy()
    bid = skill_of(draw.skill).bid(Senses(sim, WHO).look(sim))
    return (q, v) if bid.value > NOT else None


def _lowest(m: mujoco.MjModel, q: np.ndarray) -> float:
    """Return the height of the lowest of her in a configuration [m]."""
    d = mujoco.MjData(m)
    d.qpos[:] = q
    mujoco.mj_kinematics(m, d)
    up = np.array([[0.0, 0.0, 1.0]])
    solid = [g for g in range(m.ngeom) if m.geom_bodyid[g] and (m.geom_contype[g] or m.geom_conaffinity[g])]
    return min(float(geom_extent(m, d, g, up)[0][0]) for g in solid)
