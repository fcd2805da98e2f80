"""Reach weights (figures 3 and 4 of abe2007): the more a far reach counts, the farther she leans, until she falls.

Nothing but weights decides between reaching and not falling: no step, no guard against it. With ``pinned`` contacts her plans take her
feet for glued to the ground, and she reaches as if they were.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

WEIGHTS = (0.01, 0.05, 0.15, 0.5, 1.5, 5.0, 15.0)
"""Weights that are drawn: those of figure 3, and on to the fall."""
_BALANCE = 1.0
"""Weight of balance, beside which a reach is weighed."""
_SETTLED = 5.0
"""Seconds after which she leans as far as she will."""
_PALM = "alice/right_palm"


class Lean(NamedTuple):
    """What came of a weight.

    How far her centre of mass was before the middle of her feet, and her hand from what it reached for, at the end [m]; when she fell
    [s], if she did.
    """

    weight: float
    lean: float
    left: float
    fell: float | None


class ReachWeights(base.Scenario):
    """How much a reach counts."""

    name: ClassVar[str] = "reach_weights"
    summary: ClassVar[str] = (
        "she reaches for something too far away, by a weight that may outweigh her balance; or as if glued to the ground"
    )
    dt: ClassVar[float] = 0.01
    longest_dt: ClassVar[float] = 0.033
    world: ClassVar[str | None] = "simulated"
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.25, 0, 0.85), distance=3.2, azimuth=110, elevation=-8)

    class Parameters(base.Parameters):
        """The reach."""

        weight: float = Field(1.5, ge=0, le=1e3, description="weight of the reach; balance has 1")
        pinned: bool = Field(False, description="plans take her feet for glued to the ground")
        ahead: float = Field(1.1, ge=0.2, le=2.0, description="how far before her she reaches [m]")
        height: float = Field(1.1, ge=0.3, le=2.0, description="how high she reaches [m]")
        seconds: float = Field(6.0, ge=1, le=600, description="how long she reaches [s]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her."""
        return self.add_character(ip.Scene(), "alice", ip.Humanoid(1.74, 68, "female"))

    def start(self, sim: ip.Simulation) -> None:
        """Let her stand, and reach for what the user moves."""
        soles = ("alice/left_sole", "alice/right_sole")
        for sole in soles:
            sim.contacts.add(sole, ip.GROUND, pinned=self.p.pinned)
        goal = sim.live.add_control(
            ip.Control(
                "target",
                "point",
                [self.p.ahead, -0.2, self.p.height],
                [-0.5, -1.5, 0.2],
                [2.0, 1.5, 2.2],
                help="what her right hand reaches for",
            )
        )
        sim.objectives += [
            ip.Posture("alice", weight=0.003),
            ip.AngularMomentum("alice", weight=0.0005),
            *(ip.Orientation(body, weight=0.003) for body in base.parts(sim, "alice", "pelvis", "chest")),
            ip.ComOver("alice", over=soles, reference=(0.0, 0.0), weight=_BALANCE, near=0.02, stiffness=40.0),
            ip.ComOver("alice", over=soles, axes="z", weight=0.1),
        ]
        reach = [ip.Point(_PALM, goal, weight=self.p.weight, max_speed=0.6, name="reach")]
        sim.behaviour = ip.Machine([ip.Phase("reach", reach, seconds=self.p.seconds, timeout=None)])

    # -- how far she leans ---------------------------------------------------------------------------------------------

    def lean(self, weight: float, pinned: bool = False) -> Lean:
        """Return what comes of a weight."""
        played = ReachWeights(self.p.model_dump() | {"weight": weight, "pinned": pinned}, self.character)
        sim = played.simulation()
        sim.on_fall = "continue"
        while sim.time < _SETTLED and not sim.fallen:
            sim.step()
        ahead = sim.com("alice")[0] - sim.middle("alice/left_sole", "alice/right_sole")
        left = sim.terms.site_xpos[sim.scene.site(_PALM)] - sim.live.controls["target"].value
        fell = sim.time if sim.fallen else None
        return Lean(weight, float(ahead[0]), float(np.linalg.norm(left)), fell)

    def figures(self, out: Path) -> None:
        """Draw how far she leans for each weight, up to the fall."""
        found = [self.lean(weight) for weight in WEIGHTS]
        draw(found, out / "leans.png")
        (out / "leans.json").write_text(json.dumps([lean._asdict() for lean in found], indent=2) + "\n")


def draw(found: list[Lean], path: Path) -> None:
    """Write the picture: leans and what is left to reach over weights, those with which she fell marked."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    stood, fallen = ([lean for lean in found if (lean.fell is not None) is fell] for fell in (False, True))
    figure, axes = plt.subplots(figsize=(7, 4), constrained_layout=True)
    weights = [lean.weight for lean in stood]
    axes.semilogx(
        weights, [100 * lean.lean for lean in stood], "o-", color="#3b6ea5", label="lean of her centre of mass"
    )
    axes.semilogx(
        weights, [100 * lean.left for lean in stood], "s-", color="#c98a2b", label="hand from what it reaches for"
    )
    for lean in fallen:
        axes.axvline(lean.weight, color="#c0504d", ls="--", lw=1)
        axes.text(lean.weight, axes.get_ylim()[1], f" falls at {lean.fell:.1f} s", rotation=90, va="top", ha="right")
    axes.set_xlabel(f"weight of the reach (balance: {_BALANCE:g})")
    axes.set_ylabel("[cm]")
    axes.legend(frameon=False, loc="upper center")
    figure.savefig(path, dpi=90)
    plt.close(figure)
