"""Ordeals: whatever happens to a scenario at random, in any world, and what watches it: energy, motors, the ground."""

import math

import mujoco
import numpy as np

import interplay as ip
from interplay.catalogue import registry, scenario
from interplay.worlds.simulated import SimulatedWorld

SURPLUS = 0.05
"""Part of the energy that was at hand or put in that may be missing an origin."""

DEEPEST = 0.1
"""How far below the ground [m] a body may be."""

SCENARIOS = sorted(registry())
DIRECT = [name for name in SCENARIOS if scenario(name).world is None]

_THROWN, _RUBBER = "thrown", 600.0
"""What is thrown, and its density [kg/m³]."""


class Watch:
    """Checks every step in plain MuJoCo: energy, motors, the ground.

    Springs of grips and of contacts are no source: what they give back they were given before.
    """

    def __init__(self, sim):
        self.sim, self.m, self.d = sim, sim.scene.model, mujoco.MjData(sim.scene.model)
        m = self.m
        solid = ((m.geom_contype > 0) | (m.geom_conaffinity > 0)) & (m.body_treeid[m.geom_bodyid] >= 0)
        self.shapes = np.flatnonzero(solid)
        self.ground = m.geom("ground").id
        self.limit = sim.controller.programs.limits.torque
        self.state, self.masses = sim.state, sim.live.masses.changes
        self.kinetic, self.height = self.last = self.energy(sim.state)
        self.given, self.gross = 0.0, 0.0
        self.surplus, self.lowest, self.fastest = -np.inf, np.inf, 0.0
        if isinstance(sim.world, SimulatedWorld):
            sim.world.keeps_substeps = True
        sim.observers.append(self)

    def way(self, before, outcome):
        """Return along what (nv,) held generalized forces acted: what turns fast is not where one turn would have put it."""
        way, substeps = np.zeros(self.m.nv), outcome.substeps
        if substeps is None:
            mujoco.mj_differentiatePos(self.m, way, 1.0, before.qpos, outcome.state.qpos)
            return way
        return self.m.opt.timestep * (substeps.qvel[1:].sum(axis=0) + outcome.state.qvel)

    def energy(self, state):
        self.d.qpos[:], self.d.qvel[:] = state.qpos, state.qvel
        mujoco.mj_fwdPosition(self.m, self.d)
        mujoco.mj_energyPos(self.m, self.d)
        M = np.zeros((self.m.nv, self.m.nv))
        mujoco.mj_fullM(self.m, self.d, M)
        m, d = self.m, self.d
        carried = float(
            (m.body_gravcomp * m.body_mass) @ (d.xipos @ m.opt.gravity)
        )  # what carries its own weight has none
        return 0.5 * float(state.qvel @ M @ state.qvel), float(d.energy[0]) + carried

    def __call__(self, before, outcome, _):
        masses = self.sim.live.masses.changes
        if self.masses != masses or before.qpos is not self.state.qpos or before.qvel is not self.state.qvel:
            # A mass that changes and a thing that is thrown bring their energy along.
            kinetic, height = self.energy(before)
            self.kinetic, self.height = self.kinetic + kinetic - self.last[0], self.height + height - self.last[1]
        after = outcome.state
        self.state, self.masses = after, masses
        work = (outcome.tau + before.applied) * self.way(before, outcome)
        self.given, self.gross = self.given + work.sum(), self.gross + np.abs(work).sum()
        kinetic, height = self.last = self.energy(after)
        there = self.kinetic + self.given + self.height - height
        size = max(self.kinetic + self.gross + max(self.height - height, 0.0), 1.0)
        self.surplus = max(self.surplus, (kinetic - there) / size)
        self.fastest = max(self.fastest, float(np.abs(after.qvel).max()))
        bounded = np.isfinite(self.limit)
        assert (np.abs(outcome.tau[bounded]) <= self.limit[bounded] * (1 + 1e-6) + 1e-6).all()
        self.measure()

    def measure(self):
        where, m, d = np.zeros(6), self.m, self.d
        low = d.geom_xpos[self.shapes, 2] < m.geom_rbound[self.shapes]  # the others are above the ground
        for shape in self.shapes[low]:
            gap = mujoco.mj_geomDistance(self.m, self.d, self.ground, shape, 0.5, where)
            self.lowest = min(self.lowest, gap)

    def check(self, fastest=100.0):
        assert self.surplus < SURPLUS
        assert self.lowest > -DEEPEST
        assert self.fastest < fastest


def steps(sim, seconds):
    for _ in range(round(seconds / sim.dt)):
        sim.step()


def push(sim, rng):
    """Push any body with 10 to 2,000 N for 0.05 to 1 s."""
    way = rng.normal(size=3)
    force = 10.0 * 200.0 ** rng.uniform() * way / np.linalg.norm(way)
    sim.live.push(str(rng.choice(_movable(sim.scene.model))), force, float(rng.uniform(0.05, 1.0)))


def with_ball(chosen, mass):
    """Return a scenario with a ball [kg] that lies apart."""
    build, radius = chosen.build, (0.75 * mass / (math.pi * _RUBBER)) ** (1 / 3)
    chosen.build = lambda: build().add(ip.Ball(radius, mass), _THROWN, pos=(-6.0, 6.0))
    return chosen


def throw(sim, rng):
    """Throw the ball at any body with up to 20 m/s, from where nothing is in its way within 5 cm."""
    m, d = sim.scene.model, mujoco.MjData(sim.scene.model)
    ball = m.geom(f"{_THROWN}/hull").id
    others = [g for g in range(m.ngeom) if g != ball and (m.geom_contype[g] or m.geom_conaffinity[g])]
    goal = sim.terms.xipos[sim.scene.body(str(rng.choice(_movable(m))))]
    root = int(m.jnt_qposadr[m.body_jntadr[sim.scene.body(_THROWN)]])
    d.qpos[:] = sim.state.qpos
    apart, near = -1.0, np.zeros(6)
    while apart < 0.05:
        way = rng.normal(size=3) * (1, 1, 0.5)
        way /= np.linalg.norm(way)
        place = goal - rng.uniform(0.5, 2.0) * way
        d.qpos[root : root + 3] = place
        mujoco.mj_kinematics(m, d)
        apart = min(mujoco.mj_geomDistance(m, d, ball, other, 0.1, near) for other in others)
    sim.live.throw(_THROWN, place, rng.uniform(1.0, 20.0) * way)


def _movable(m):
    return [m.body(b).name for b in range(1, m.nbody) if m.body_treeid[b] >= 0]


def ordeal(seed):
    """Let something happen to a scenario at random: a push, a contact broken, a mass changed, a control thrown about."""
    rng = np.random.default_rng(seed)
    name, dt = DIRECT[seed % len(DIRECT)], (0.005, 0.01, 0.02)[seed // len(DIRECT) % 3]
    sim = scenario(name)().simulation(dt)
    m = sim.scene.model
    watch = Watch(sim)
    steps(sim, rng.uniform(0.0, 2.5))
    deeds = rng.choice(["push", "break", "mass", "target"], size=rng.integers(1, 4), replace=False)
    if "push" in deeds or "target" not in deeds:
        push(sim, rng)
    if "break" in deeds and len(sim.contacts):
        broken = sim.contacts.items[rng.integers(len(sim.contacts))]
        sim.contacts.remove(broken.first.name, broken.second.name)
    if "mass" in deeds:
        body = str(rng.choice([b for b in _movable(m) if m.body(b).mass[0] > 0]))
        sim.live.set_mass(body, float(m.body(body).mass[0] * 10.0 ** rng.uniform(-0.7, 0.7)))
    if "target" in deeds and sim.live.controls:
        control = sim.live.controls[str(rng.choice(list(sim.live.controls)))]
        sim.live.set(control.name, control.value + rng.normal(size=control.size))
    try:
        sim.run(1.2)
    except ip.FallError:
        steps(sim, 0.3)
    except ip.InterplayError as error:
        if sim.behaviour is None or str(error) != sim.behaviour.failure:  # a phase that cannot end says so
            raise
    watch.check(np.inf)  # a light thing pushed hard is fast
    return bool(sim.fallen)


def simulated_ordeal(seed):
    """Push or hit someone or something of any scenario in the simulated world; return what watched it."""
    rng = np.random.default_rng(seed)
    name = SCENARIOS[seed % len(SCENARIOS)]
    dt = (scenario(name).dt, 0.005, 0.01, 0.02)[seed // len(SCENARIOS) % 4]
    mass = 0.2 * 100.0 ** rng.uniform()
    sim = with_ball(scenario(name)(), mass).simulation(dt, world="simulated", seed=seed)
    sim.on_fall = "continue"
    steps(sim, 0.2)  # pads stand half a millimetre in the ground at first: springs that give back what nobody put in
    watch = Watch(sim)
    steps(sim, rng.uniform(0.0, 2.5))
    deeds = ((push,), (throw,), (push, throw))[rng.integers(3)]
    for deed in deeds:
        deed(sim, rng)
    steps(sim, 1.5)
    return watch
