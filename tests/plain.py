"""Checks of an exported run in plain MuJoCo: scene.xml and the .npz alone, nothing of Interplay."""

import mujoco
import numpy as np

RUNS = [
    ("stand", 0.005),
    ("box", 0.005),
    ("door", 0.005),
    ("valve", 0.005),
    ("lever", 0.005),
    ("ring", 0.005),
    ("stand", 0.033),
    ("box", 0.033),
    ("king", 1 / 30),
    ("funambulist", 0.005),
    ("sword", 0.010),
    ("acrobats", 0.010),
]
"""Scenarios and control steps [s] whose physics is checked."""


class Run:
    def __init__(self, folder):
        self.m = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
        self.m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.d = mujoco.MjData(self.m)
        with np.load(folder / "run.npz") as data:
            self.a = {k: data[k] for k in data.files}
        self.T = len(self.a["time"])
        self.sites = [[self.m.site(n).id if n != "world" else -1 for n in pair] for pair in self.a["contact_names"]]

    def at(self, t):
        if "body_mass" in self.a:
            self.m.body_mass[:], self.m.body_inertia[:] = self.a["body_mass"][t], self.a["body_inertia"][t]
            mujoco.mj_setConst(self.m, mujoco.MjData(self.m))
        self.d.qpos[:], self.d.qvel[:] = self.a["qpos"][t], self.a["qvel"][t]
        mujoco.mj_forward(self.m, self.d)

    def bodies(self, c):
        first, second = self.sites[c]
        return int(self.m.site_bodyid[first]), int(self.m.site_bodyid[second]) if second >= 0 else 0

    def contact_force(self, t, sides=(1, -1)):
        """Generalized force of the contacts: +w on the first body, −w on the second, at the first site's origin."""
        out = np.zeros(self.m.nv)
        for c in np.flatnonzero(self.a["contact_active"][t]):
            point, w = self.d.site_xpos[self.sites[c][0]].copy(), self.a["contact_wrench"][t, c]
            for body, sign in zip(self.bodies(c), sides, strict=True):
                if body:
                    mujoco.mj_applyFT(self.m, self.d, sign * w[:3], sign * w[3:], point, body, out)
        return out

    def eom_residual(self, t):
        m, d, a = self.m, self.d, self.a
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        terms = [
            M @ a["qacc"][t],
            d.qfrc_bias,
            -a["tau"][t],
            -d.qfrc_passive,
            -a["qfrc_applied"][t],
            -self.contact_force(t),
        ]
        return np.abs(sum(terms)).max() / max(np.abs(x).max() for x in terms)

    def third_law_residual(self, t):
        """What the run says its contacts did, against equal and opposite wrenches."""
        both = self.contact_force(t)
        return np.abs(self.a["qfrc_contact"][t] - both).max() / max(np.abs(both).max(), 1e-9)

    def linear_and_angular_momentum(self, qvel):
        """Momentum of each free tree about the world origin, by summing over bodies."""
        m, d = self.m, self.d
        d.qvel[:] = qvel
        mujoco.mj_comVel(m, d)
        out = np.zeros((m.ntree, 6))
        v = np.zeros(6)
        for b in range(1, m.nbody):
            tree = int(m.body_treeid[b])
            if tree < 0:
                continue
            mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_BODY, b, v, 0)
            R = d.ximat[b].reshape(3, 3)
            w = v[:3]
            p = m.body_mass[b] * v[3:]  # for mjOBJ_BODY MuJoCo gives the velocity of the inertial frame
            out[tree] += np.concatenate([p, R @ (m.body_inertia[b] * (R.T @ w)) + np.cross(d.xipos[b], p)])
        return out

    def momentum_rate(self, t, h=1e-6):
        """d/dt of each tree's momentum along the recorded (q, v, q̈), by central differences."""
        m, d, a = self.m, self.d, self.a
        sides = []
        for s in (h, -h):
            q = a["qpos"][t].copy()
            # Second-order motion: q ⊕ (s v + s²/2 q̈), v + s q̈.
            mujoco.mj_integratePos(m, q, a["qvel"][t] + 0.5 * s * a["qacc"][t], s)
            d.qpos[:] = q
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            sides.append(self.linear_and_angular_momentum(a["qvel"][t] + s * a["qacc"][t]))
        self.at(t)
        return (sides[0] - sides[1]) / (2 * h)

    def external(self, t):
        """Gravity and contact wrenches on each tree about the world origin; and the sum of the internal ones over the scene."""
        m, d = self.m, self.d
        out = np.zeros((m.ntree, 6))
        for b in range(1, m.nbody):
            tree = int(m.body_treeid[b])
            if tree >= 0:
                weight = m.body_mass[b] * m.opt.gravity
                out[tree] += np.concatenate([weight, np.cross(d.xipos[b], weight)])
        for c in np.flatnonzero(self.a["contact_active"][t]):
            point, w = d.site_xpos[self.sites[c][0]], self.a["contact_wrench"][t, c]
            at_origin = np.concatenate([w[:3], w[3:] + np.cross(point, w[:3])])
            for body, sign in zip(self.bodies(c), (1, -1), strict=True):
                tree = int(m.body_treeid[body])
                if tree >= 0:
                    out[tree] += sign * at_origin
        return out

    def free_trees(self):
        m = self.m
        return [
            t for t in range(m.ntree) if m.jnt_type[m.body_jntadr[m.tree_bodyadr[t]]] == int(mujoco.mjtJoint.mjJNT_FREE)
        ]

    def torque_limits(self):
        m = self.m
        out = np.full(m.nv, np.nan)
        for k in range(m.nu):
            out[m.jnt_dofadr[m.actuator_trnid[k, 0]]] = (
                m.actuator_ctrlrange[k, 1] if m.actuator_ctrllimited[k] else np.inf
            )
        return out

    def drift(self):
        """Largest displacement [m] of a contact's two sides against each other since it was made (corners of the first site), at every step."""
        m, d, a = self.m, self.d, self.a
        first = np.array([pair[0] for pair in self.sites], int)
        bodies = np.array([self.bodies(c)[1] for c in range(len(first))], int)
        signs = np.array([[1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]])
        corners = signs * np.concatenate([m.site_size[first, :2], np.zeros((len(first), 1))], axis=1)[:, None]
        made, known, worst = np.zeros((len(first), 4, 3)), np.zeros(len(first), bool), 0.0
        for t in range(self.T):
            active = a["contact_active"][t]
            d.qpos[:] = a["qpos"][t]
            mujoco.mj_kinematics(m, d)
            points = d.site_xpos[first][:, None] + corners @ d.site_xmat[first].reshape(-1, 3, 3).swapaxes(1, 2)
            local = (points - d.xpos[bodies][:, None]) @ d.xmat[bodies].reshape(-1, 3, 3)
            new = active & ~known
            made[new], known = local[new], active
            moved = np.linalg.norm(local - made, axis=2)[active]
            worst = max(worst, moved.max(initial=0.0))
        return worst


def machine(sim):
    """Return the machine of phases of a scenario, also of one in which a recovery may interrupt it."""
    return getattr(sim.behaviour, "inner", sim.behaviour)
