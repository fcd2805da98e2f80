"""Building blocks (Fig. 6 of vaillant2017): hold, shift the COM, reach, make and break contacts. Steps: ``motion/walk.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.errors import vector
from interplay.maths.rotations import quaternion_of
from interplay.motion.conditions import all_of, com_over, met, unloaded
from interplay.motion.machine import Phase
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.meet import Meet
from interplay.objectives.pose import Pose
from interplay.objectives.reference import MinimumJerk

if TYPE_CHECKING:
    from interplay.simulation import Simulation

Extra = Callable[["Simulation"], Sequence[Objective]]
"""Further objectives of a block, made on entry."""


def hold(name: str, seconds: float, *, balance: Sequence[str] = (), extra: Extra | None = None, **phase: Any) -> Phase:
    """Stay: each character's centre of mass is kept where it is."""
    return Phase(name, lambda sim: [*_stay(sim, balance), *(extra(sim) if extra else ())], seconds=seconds, **phase)


def shift_com(
    name: str,
    model: str,
    *surfaces: str,
    seconds: float = 1.2,
    offset: Sequence[float] = (0, 0, 0),
    balance: Sequence[str] = (),
    within: float = 0.03,
    extra: Extra | None = None,
    **phase: Any,
) -> Phase:
    """Move a character's centre of mass over the middle of some surfaces, at its present height plus ``offset`` [m]."""
    shift = vector("offset", offset, 3)

    def objectives(sim: Simulation) -> list[Objective]:
        com, _ = sim.com(model)
        middle = sim.middle(*surfaces)
        goal = np.array([middle[0], middle[1], com[2]]) + shift
        return [
            Com(model, reference=MinimumJerk(com, goal, sim.time, seconds)),
            *_stay(sim, balance),
            *(extra(sim) if extra else ()),
        ]

    arrived = com_over(model, *surfaces, within=within + float(np.linalg.norm(shift[:2])))
    return Phase(name, objectives, until=arrived, seconds=seconds, **phase)


def reach(
    name: str,
    surface: str,
    target: str | Sequence[float],
    *,
    seconds: float = 1.5,
    via: Sequence[float] | None = None,
    by: Sequence[float] | None = None,
    pointing: Sequence[float] | None = None,
    gap: float = 0.004,
    balance: Sequence[str] = (),
    weight: float = 100.0,
    extra: Extra | None = None,
    **phase: Any,
) -> Phase:
    """Bring a surface onto another one (aligned, ready for a contact), or its centre to a point; see :class:`Meet`."""

    def objectives(sim: Simulation) -> list[Objective]:
        return [
            Meet(surface, target, sim.terms, sim.time, seconds, via=via, by=by, pointing=pointing, weight=weight),
            *_stay(sim, balance),
            *(extra(sim) if extra else ()),
        ]

    until = met(surface, target, gap=gap) if isinstance(target, str) else None
    return Phase(name, objectives, until=until, seconds=seconds, **phase)


def add_contact(
    name: str,
    *pairs: tuple,
    seconds: float = 0.5,
    balance: Sequence[str] = (),
    extra: Extra | None = None,
    **phase: Any,
) -> Phase:
    """Make contacts where surfaces meet; they take up their load while the phase holds."""
    return Phase(
        name, lambda sim: [*_stay(sim, balance), *(extra(sim) if extra else ())], make=pairs, seconds=seconds, **phase
    )


def remove_contact(
    name: str,
    *surfaces: str,
    force: float = 20.0,
    balance: Sequence[str] = (),
    extra: Extra | None = None,
    **phase: Any,
) -> Phase:
    """Hold some surfaces where they are while the force of their contacts fades below ``force`` [N], then break them."""

    def objectives(sim: Simulation) -> list[Objective]:
        return [
            *(Pose(s, surface_pose(sim, s)) for s in surfaces),
            *_stay(sim, balance),
            *(extra(sim) if extra else ()),
        ]

    return Phase(name, objectives, release=surfaces, until=all_of(*(unloaded(s, force) for s in surfaces)), **phase)


def surface_pose(sim: Simulation, surface: str) -> np.ndarray:
    """Return the present pose (7,) of a surface."""
    site = sim.scene.site(surface)
    return np.concatenate([sim.terms.site_xpos[site], quaternion_of(sim.terms.site_xmat[site])])


def _stay(sim: Simulation, models: Sequence[str]) -> list[Objective]:
    """Return objectives that keep each model's centre of mass where it is now."""
    return [Com(model, reference=sim.com(model)[0]) for model in models]
