"""Push two bodies (Appendix B of vaillant2017): why one program over both bodies succeeds where two programs fail.

A cart with a limited thruster pushes a load without any up a slope. Four ways to find the thrust, on the same bodies:
``integrated``, one program over both, with their contact; ``independent``, a program for the cart alone, which knows nothing of
the load's weight; ``kinematic``, the load's motion first, without forces, and the cart follows it as well as it can; and
``enforced``, the contact is kept at any price. A run simulates the first, and draws all four.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_SIZE, _HOLD = 0.3, 1.5
"""Edge of the blocks [m]; how long the goal is held [s]."""

_UNLIMITED = 1e5
"""A thruster that nothing limits [N]."""


class Outcome(NamedTuple):
    """One strategy over time: position of the load and gap before it [m], thrust [N]."""

    name: str
    time: np.ndarray
    load: np.ndarray
    gap: np.ndarray
    thrust: np.ndarray


class PushTwoBodies(base.Scenario):
    """A cart with a thruster, a load without one."""

    name: ClassVar[str] = "push_two_bodies"
    summary: ClassVar[str] = (
        "a thruster pushes a passive load up a slope; four strategies, of which only the integrated one succeeds"
    )
    longest_dt: ClassVar[float] = 0.15
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.6, 0, 0.3), distance=3.2, azimuth=90, elevation=-12)
    hold_interactive: ClassVar[float] = _HOLD

    class Parameters(base.Parameters):
        """Bodies, slope and task."""

        cart: float = Field(20.0, ge=1, le=500, description="mass of the cart [kg]")
        load: float = Field(30.0, ge=1, le=500, description="mass of the load [kg]")
        limit: float = Field(120.0, ge=10, le=1e4, description="largest thrust [N]; must carry both up the slope")
        slope: float = Field(0.12, ge=0, le=0.5, description="slope of the rail [rad]")
        distance: float = Field(1.0, ge=0.1, le=3, description="how far the load is to be pushed [m]")
        seconds: float = Field(0.9, ge=0.3, le=10, description="time the load's motion is planned for [s]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the load before the cart."""
        return self._scene(self.p.limit)

    def _scene(self, limit: float, load: bool = True) -> ip.Scene:
        tilt = (math.cos(self.p.slope / 2), 0.0, -math.sin(self.p.slope / 2), 0.0)
        along = np.array([math.cos(self.p.slope), 0.0, math.sin(self.p.slope)])
        scene = ip.Scene().add(
            ip.Slider(_SIZE, self.p.cart, limit, (0.25, 0.45, 0.70, 1)), "cart", (0, 0, 0.05), quat=tilt
        )
        if load:
            place = _SIZE * along + [0, 0, 0.05]
            scene.add(ip.Slider(_SIZE, self.p.load, None, (0.80, 0.55, 0.25, 1)), "load", place.tolist(), quat=tilt)
        return scene

    def _plan(self, begin: float = 0.0) -> ip.MinimumJerk:
        """Return where the load should be."""
        return ip.MinimumJerk(0.0, self.p.distance, begin, self.p.seconds)

    def start(self, sim: ip.Simulation) -> None:
        """One program: the cart touches the load, and the load has the objective."""
        sim.contacts.add("cart/front", "load/back")
        goal = sim.live.add_control(
            ip.Control("load", "scalar", [self.p.distance], [0.0], [4.0], max_speed=0.5, help="position of the load")
        )

        def push(reference: Any) -> list[ip.Objective]:
            return [ip.JointAngle("load/slide", reference, weight=100.0, max_speed=5.0)]

        arrived = ip.conditions.joint_at("load/slide", self.p.distance, 0.01)
        sim.behaviour = ip.Machine(
            [
                ip.Phase("push", lambda sim: push(self._plan(sim.time)), seconds=self.p.seconds, until=arrived),
                ip.Phase("hold", push(goal), interactive=True, timeout=None),
            ]
        )

    # -- the four strategies -------------------------------------------------------------------------------------------

    def strategies(self, seconds: float = 4.0, dt: float = 0.005) -> list[Outcome]:
        """Return what the four strategies lead to."""
        return [
            self.integrated(seconds, dt),
            self.independent(seconds, dt),
            self.kinematic(seconds, dt),
            self.enforced(seconds, dt),
        ]

    def integrated(self, seconds: float, dt: float) -> Outcome:
        """One program over both bodies: it knows both weights and the limit."""
        return _direct("integrated", self._pushing(self.p.limit, 20.0, dt), seconds)

    def enforced(self, seconds: float, dt: float) -> Outcome:
        """The contact and the planned motion are enforced; the thrust is whatever that takes."""
        return _direct("enforced", self._pushing(_UNLIMITED, 200.0, dt), seconds)

    def _pushing(self, limit: float, stiffness: float, dt: float) -> ip.Simulation:
        sim = ip.Simulation(self._scene(limit), dt)
        if limit == _UNLIMITED:  # kept whatever happens: hitched
            sim.contacts.add("cart/front_hitch", "load/back_hitch", grip_force=_UNLIMITED)
        else:
            sim.contacts.add("cart/front", "load/back")
        sim.objectives += [ip.JointAngle("load/slide", self._plan(), weight=100.0, stiffness=stiffness, max_speed=50.0)]
        return sim

    def _cart_alone(self, dt: float) -> ip.Simulation:
        """The program of the cart alone, which should be where the plan has the load."""
        sim = ip.Simulation(self._scene(self.p.limit, load=False), dt)
        sim.objectives += [ip.JointAngle("cart/slide", self._plan(), weight=100.0, max_speed=5.0)]
        return sim

    def kinematic(self, seconds: float, dt: float) -> Outcome:
        """The load moves as planned, without forces; the program of the cart follows it within its limit."""
        sim, plan, rows = self._cart_alone(dt), self._plan(), []
        for _ in range(round(seconds / dt)):
            time, cart = sim.time, float(sim.state.qpos[0])
            load = float(plan.at(time).value[0])
            rows.append((time, load, load - cart, float(sim.step().tau[0])))
        return Outcome("kinematic", *np.array(rows).T)

    def independent(self, seconds: float, dt: float) -> Outcome:
        """The program of the cart alone finds the thrust; MuJoCo simulates cart, load and their contact under it."""
        control = self._cart_alone(dt)
        m = self._scene(self.p.limit).model
        m.opt.timestep = dt / 10
        d, rows = mujoco.MjData(m), []
        state = control.state
        for k in range(round(seconds / dt)):
            now = state.with_(time=k * dt, qpos=d.qpos[:1].copy(), qvel=d.qvel[:1].copy())
            thrust = float(control.controller.solve(now, control.demands).tau[0])
            rows.append((k * dt, d.qpos[1], d.qpos[1] - d.qpos[0], thrust))
            d.qfrc_applied[0] = thrust
            mujoco.mj_step(m, d, nstep=10)
        return Outcome("independent", *np.array(rows).T)

    def figures(self, out: Path) -> None:
        """Draw the four strategies: position of the load, gap, thrust against its limit."""
        outcomes = self.strategies(self.p.seconds + 3.1)
        draw(outcomes, self, out / "strategies.png")
        (out / "strategies.json").write_text(json.dumps(self.summary_of(outcomes), indent=2) + "\n")

    def summary_of(self, outcomes: list[Outcome]) -> dict[str, dict[str, float]]:
        """Return the final error of the load [m], the largest gap [m] and the largest thrust over its limit of each strategy.

        The load of the kinematic strategy is where the plan has it: no force brings it there.
        """
        return {
            o.name: {
                "final_error_m": float(abs(o.load[-1] - self.p.distance)),
                "largest_gap_m": float(o.gap.max()),
                "thrust_over_limit": float(np.abs(o.thrust).max() / self.p.limit),
            }
            for o in outcomes
        }


def _direct(name: str, sim: ip.Simulation, seconds: float) -> Outcome:
    """Run a program over both bodies; its accelerations are integrated."""
    rows = []
    for _ in range(round(seconds / sim.dt)):
        time, (cart, load) = sim.time, sim.state.qpos[:2]
        rows.append((time, load, load - cart, float(sim.step().tau[0])))
    return Outcome(name, *np.array(rows).T)


_TITLES = {
    "integrated": "1. one integrated QP",
    "independent": "2. independent QP of the cart",
    "kinematic": "3. kinematic load, then the cart",
    "enforced": "4. contact enforced",
}


def draw(outcomes: list[Outcome], scenario: PushTwoBodies, path: Path) -> None:
    """Write the picture of the four strategies."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    p, plan = scenario.p, scenario._plan()
    figure, axes = plt.subplots(3, 4, figsize=(13, 6.5), sharex=True, sharey="row", constrained_layout=True)
    for column, o in zip(axes.T, outcomes, strict=True):
        wanted = [float(plan.at(t).value[0]) for t in o.time]
        column[0].plot(o.time, wanted, "--", color="0.6", label="planned")
        column[0].plot(o.time, o.load, color="#c98a2b", label="load")
        column[0].plot(o.time, o.load - o.gap, color="#3b6ea5", label="cart")
        column[0].set_title(_TITLES[o.name], fontsize=11)
        column[1].plot(o.time, 100 * o.gap, color="#555555")
        column[2].plot(o.time, o.thrust, color="#3b6ea5")
        column[2].axhline(p.limit, color="#c0504d", lw=1, ls="--")
        error = abs(o.load[-1] - p.distance)
        end = "no force on the load" if o.name == "kinematic" else f"ends {100 * error:.1f} cm off"
        peak = np.abs(o.thrust).max() / p.limit
        column[0].text(0.97, 0.05, end, transform=column[0].transAxes, ha="right")
        column[1].text(0.97, 0.85, f"gap up to {100 * o.gap.max():.1f} cm", transform=column[1].transAxes, ha="right")
        column[2].text(0.97, 0.85, f"peak {100 * peak:.0f} % of the limit", transform=column[2].transAxes, ha="right")
        column[2].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("position [m]")
    axes[1, 0].set_ylabel("gap [cm]")
    axes[2, 0].set_ylabel("thrust [N]")
    axes[0, 0].legend(frameon=False, loc="center right")
    figure.savefig(path, dpi=90)
    plt.close(figure)
